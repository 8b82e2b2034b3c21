"""Formulas: from text to exact expressions (``parsing``), and from expressions to numbers
(``evaluate``), without ever running what a user typed.
"""
