"""The command ``spectra explore``: a page on this machine that shows what is known of a kernel.

Read in this order: ``question.py`` is what the page asks, ``answers.py`` answers, by the kind of
the kernel: ``radial_answers.py``, ``grouped_answers.py``, ``l1_answers.py``, with ``estimates.py``
and ``columns.py`` on what features estimate; ``panel.py`` is an answer, ``pictures.py`` draws,
``workers.py`` keeps a process for each tab, ``server.py`` is the page.

Read in this order: ``question`` (what is asked), ``answers/answer`` (who answers:
``answers/radial``, ``answers/grouped``, ``answers/l1``), ``panel`` and ``pictures`` (how),
``columns`` and ``estimates`` (errors of features), ``server`` and ``workers`` (the page, and a
process for each tab).
"""
