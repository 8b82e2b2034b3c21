"""The command ``spectra explore``: a page on this machine that shows what is known of a kernel.

Read in this order: ``question.py`` is what the page asks, ``answers.py`` and ``columns.py`` answer,
``panel.py`` is an answer, ``pictures.py`` draws, ``workers.py`` keeps a process for each tab,
``server.py`` is the page.
"""
