"""Spectral densities of families of kernels, as formulas in w and the parameters."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import sympy

from spectra.density import lookup_formula, spectral_density
from spectra.errors import FormulaError, NoRouteError, ParameterError
from spectra.kernels.catalogue import Family
from spectra.symbolic.route import compare_formula
from spectra.symbolic.sympy_process import ask_sympy

__all__ = ["family_density"]

# A formula is compared with numbers at so many random values of the parameters, which are between
# the default divided and multiplied by _SPREAD, with three digits.
_CHECKS, _SPREAD = 3, 1.5
# Seconds for one task of sympy, which rarely succeeds with symbols.
_LIMIT = 10.0


@lru_cache(maxsize=64)
def family_density(family: Family, dim: int) -> sympy.Expr:
    """The density mu(w) on R^dim of a family; see :meth:`spectra.kernels.catalogue.Family.density`.

    Closed pairs come first, then sums of Gamma products, then sympy in its own process.
    """
    if family.profile is None:
        raise NoRouteError(f"{family} has no formula in z and its parameters. Fix some of them.")
    expr, support = family.profile
    reasons = []
    found = lookup_formula(expr, support, dim)
    tasks = () if found is not None else ("cosine", "hankel") if dim % 2 else ("hankel",)
    candidates = [] if found is None else [found]
    end = None if support == sympy.oo else support
    for task in tasks:
        answer, reason = ask_sympy(task, expr, dim=dim, support=end, limit=_LIMIT)
        candidates += [] if answer is None else [answer]
        reasons.append(f"{task}: {reason}")
    for formula in candidates:
        try:
            for values in _random_values(family, dim):
                numbers = {family.symbols[name]: value for name, value in values.items()}
                compare_formula(formula.subs(numbers), spectral_density(family(**values), dim))
            return formula
        except FormulaError as error:
            reasons.append(f"{formula} was rejected: {error}")
    raise NoRouteError(
        f"No formula is known for the spectral density of {family} in dimension {dim} "
        f"({'; '.join(reasons) or 'no method applies'}). Fix parameters: "
        "spectral_density(family(...), dim)."
    )


def _random_values(family: Family, dim: int) -> list[dict[str, sympy.Rational]]:
    rng = np.random.default_rng(0)
    try:
        bounds = family.bounds(dim)
    except ParameterError:  # not positive definite: the density has both signs
        bounds = family.bounds()
    found = []
    for _ in range(_CHECKS):
        values = {}
        for name, (low, high) in bounds.items():
            value = float(family.defaults[name]) * _SPREAD ** rng.uniform(-1, 1)
            if not low < value < high:
                value = rng.uniform(low, min(high, low + 1.0))
            values[name] = sympy.Rational(f"{value:.3g}")
        found.append(values)
    return found
