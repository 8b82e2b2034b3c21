"""Formulas of a spectrum: where they are not smooth, and their exponents at 0 and at infinity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import sympy

from spectra.errors import ParameterError
from spectra.formula.expansions.exact_numbers import ExpansionError, MoreTermsNeeded
from spectra.formula.expansions.expand import expand_at
from spectra.formula.reader.parsing import Z, parse_formula
from spectra.kernels.kernel import radial
from spectra.singularities import analyse
from spectra.spectral_input.component import FormulaSpectrum

__all__ = ["ReadFormula", "read_formula"]

_VARIABLES = ("k", "w", "f")
# Powers kept in an expansion, tried in turn until the leading term does not cancel.
_WINDOWS = (3, 8, 20)


@final
@dataclass(frozen=True)
class ReadFormula:
    """A formula in Z, the radii at which it is not smooth, and where it ends."""

    function: FormulaSpectrum
    label: str
    breaks: tuple[float, ...]
    end: float
    ends: tuple[sympy.Expr, sympy.Expr]  # the formulas next to 0 and up to infinity

    def exponent(self, side: int) -> float | None:
        """The exponent of S at 0 (side 0) or infinity (side 1); None if it is not known.

        Infinite if S falls or grows faster than every power.
        """
        point = sympy.oo if side else sympy.Integer(0)
        for window in _WINDOWS:
            try:
                parts = expand_at(self.ends[side], point, 1, window).parts
            except MoreTermsNeeded:
                continue
            except ExpansionError:
                return None
            if any(phase.growth == 0 and phase.terms for phase, _ in parts):
                raise ParameterError(
                    f"S(k) = {self.label} oscillates up to {('k = 0', 'infinity')[side]}, and its "
                    "panels would not end: give a band=(low, high), or damp it by a factor such as "
                    "exp(-(k/q)**2)."
                )
            found = [  # powers of t = k, or of 1/k at infinity; a part that grows has -inf
                float("-inf") if phase.growth > 0 else float(order[0])
                for phase, series in parts
                if phase.growth >= 0
                for order, _ in series.terms[:1]
            ]
            if found or all(phase.growth < 0 for phase, _ in parts):
                power = min(found, default=float("inf"))
                return -power if side else power
        return None


def read_formula(
    formula: str | sympy.Expr, parameters: Mapping[str, Any], given_breaks: bool
) -> ReadFormula:
    """Read a formula in k, w or f; ``given_breaks``: whether the user states its breaks."""
    names = set(re.findall(r"[^\W\d]\w*", formula)) if isinstance(formula, str) else {
        symbol.name for symbol in formula.free_symbols
    }  # fmt: skip
    variables = [name for name in _VARIABLES if name in names - set(parameters)]
    if len(variables) > 1:
        raise ParameterError(
            f"The spectrum {formula} has the names {' and '.join(variables)}: write it in one of "
            "k, w and f, and give the others values."
        )
    variable = variables[0] if variables else "k"
    expr = parse_formula(formula, variable=variable, parameters=parameters)
    expr = expr.subs(sympy.Symbol(variable, nonnegative=True), Z)
    kernel = radial(expr)
    local = analyse(kernel)
    if not kernel.pieces or not (local.exprs or given_breaks):
        raise ParameterError(
            f"The spectrum {formula} is 0."
            if not kernel.pieces
            else f"The radii at which the spectrum {formula} is not smooth are not known. State "
            "them with breaks=[...], and give a band=(low, high)."
        )
    for radius, point in local.radii:
        if any(term.exponent < 1 and term.exponent != 0 for term in point.singularities):
            raise ParameterError(
                f"The spectrum {formula} has an infinite value or slope at k = {radius}, where it "
                "cannot be resolved: smooth it, or leave the radius out by a band=(low, high)."
            )
    found = tuple(float(r) for r, point in local.radii if point.singularities or point.gaps)
    exprs = local.exprs or (expr, expr)
    end = float(local.radii[-1][0]) if exprs[-1] == 0 and local.radii else float("inf")
    return ReadFormula(FormulaSpectrum(expr), str(formula), found, end, (exprs[0], exprs[-1]))
