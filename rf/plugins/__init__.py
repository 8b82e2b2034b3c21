"""Frequencies of ours in other people's libraries, one to a file, each an extra of its own.

``gpytorch``, ``botorch``.
"""
