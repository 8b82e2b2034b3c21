"""The command ``spectra explore``: a local web page that shows what is known about a kernel.

``question.py`` reads the form, ``answers.py`` computes the answers, ``server.py`` serves the page.
"""
