"""The whitelist of sympy expressions, and the text of those that pass it."""

from __future__ import annotations

import sympy
from sympy.printing.str import StrPrinter

from spectra.errors import FormulaError
from spectra.formula.functions import is_supported
from spectra.formula.reader.wording import short, unknown_function

__all__ = ["audited", "printed"]

_MAX_NODES = 5000


def printed(expr: sympy.Basic) -> str:
    """The text of a sympy expression of the language, which is read like any other text."""
    if not isinstance(expr, sympy.Expr):
        raise FormulaError(
            f"{short(expr)} is a {type(expr).__name__}, not an expression with a value; "
            "inside Piecewise it would be a condition"
        )
    for count, node in enumerate(sympy.preorder_traversal(expr)):
        if count > _MAX_NODES:
            raise FormulaError("the expression is too large; write a shorter one")
        if not (node.is_Atom or isinstance(node, sympy.Tuple) or is_supported(node)):
            name = node.func.__name__
            raise FormulaError(f"cannot accept {short(node)!r}: {unknown_function(name, name)}")
    printer = StrPrinter()
    # At double precision by the shortest decimal, as for a parameter; beyond it by its digits.
    printer._print_Float = lambda f: repr(float(f)) if f._prec == 53 else str(f)
    return " ".join(str(printer.doprint(expr)).split())


def audited(expr: sympy.Expr) -> sympy.Expr:
    """Check the whole expression: sympy may have rewritten it into something else."""
    for node in sympy.preorder_traversal(expr):
        if not (isinstance(node, sympy.Tuple) or is_supported(node)):
            raise FormulaError(
                f"sympy reads the formula as {short(expr)}, where {short(node)!r} is not a real "
                "function of the formula language; write that part in another way"
            )
        if node.is_Pow and not node.free_symbols and node.is_real is False:
            raise FormulaError(f"sympy reads {short(node)!r} into it, which is complex")
    return expr
