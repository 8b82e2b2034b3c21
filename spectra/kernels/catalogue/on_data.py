"""The entries of symmetric kernels without a table in many columns: features are made for data."""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy

from spectra.kernels.catalogue.entry import (
    Family,
    Parameter,
    parameter_symbol,
    positive_parameter,
)
from spectra.kernels.composite import CompositeKernel
from spectra.kernels.dot_product import DotProductKernel, dot_product
from spectra.kernels.kernel import l1

__all__ = ["ON_DATA"]


def _truncated_l1(tau: sympy.Expr) -> CompositeKernel:
    return l1("Max(tau - z, 0)", tau=tau)


def _of_inner_product(
    formula: str, gamma: sympy.Expr, coef0: sympy.Expr, degree: sympy.Expr | None = None
) -> DotProductKernel:
    more = {} if degree is None else {"n": degree}
    return dot_product(formula, g=gamma, c=coef0, **more)


def _is_natural() -> Any:
    x = parameter_symbol("degree")
    return sympy.Eq(x, sympy.floor(x)) & (x > 0)


_GAMMA = positive_parameter("gamma", 1, "factor of the inner product")
_COEF0 = Parameter("coef0", sympy.Integer(0), True, "constant that is added")

#: The named kernels whose features are made for the data.
ON_DATA: tuple[Family, ...] = (
    Family(
        id="tl1",
        title="Truncated l1 distance, z = |x - y|_1; tau of 0.7 d is usual for columns in [0, 1]",
        formula="Max(tau - z, 0)",
        finite=sympy.true,
        positive_definite=None,
        reference="Huang et al., IEEE Trans. Neural Netw. Learn. Syst. 29 (2018) 2025",
        parameters=(positive_parameter("tau", 1, "l1 distance beyond which the kernel is zero"),),
        build=_truncated_l1,
    ),
    Family(
        id="sigmoid",
        title="SVC's sigmoid kernel, t = <x, y>; indefinite",
        formula="tanh(gamma*t + coef0)",
        finite=None,
        positive_definite=None,
        reference="Lin and Lin, A study on sigmoid kernels for SVM (2003)",
        parameters=(_GAMMA, _COEF0),
        build=partial(_of_inner_product, "tanh(g*t + c)"),
    ),
    Family(
        id="polynomial",
        aliases=("poly",),
        title="SVC's polynomial kernel, t = <x, y>; of a positive integer degree",
        formula="(gamma*t + coef0)**degree",
        finite=None,
        positive_definite=None,
        reference="Boser, Guyon and Vapnik, COLT 1992",
        parameters=(
            _GAMMA,
            _COEF0,
            Parameter("degree", sympy.Integer(3), _is_natural(), "a positive integer"),
        ),
        build=partial(_of_inner_product, "(g*t + c)**n"),
    ),
)
