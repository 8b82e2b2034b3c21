"""Kernels of the inner product t = <x, y> of rows of any length."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
import sympy
from numpy.typing import ArrayLike

from spectra.base.limits import staged
from spectra.base.numbers import FloatArray, real_array
from spectra.errors import FormulaError
from spectra.formula.evaluate import numpy_function
from spectra.formula.parameters import exact_length
from spectra.formula.parsing import T, parse_formula
from spectra.kernels.base_kernel import BaseKernel, finite_number
from spectra.kernels.metrics import INNER_PRODUCT, Metric

__all__ = ["DotProductKernel", "dot_product"]

_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh)
# Inner products at which a new formula is evaluated, to refuse complex values.
_CHECKED = np.linspace(-1.0, 1.0, 21)


@final
@dataclass(frozen=True, repr=False)
class DotProductKernel(BaseKernel):
    """A kernel f(t), t = <x, y>, of rows of any length; make one with :func:`dot_product`.

    Sums, differences and products with numbers and other such kernels are such kernels.  It has no
    spectral measure, because it is not a function of x - y.

    Attributes
    ----------
    expr : sympy expression
        The formula in t.
    label : str
        The text that made the kernel, or its name in the catalogue; printed if it is not empty.
    """

    expr: sympy.Expr
    label: str = field(default="", compare=False)
    terms = ()

    @property
    def formula(self) -> str:
        return f"{self.expr} at t = <x, y>"

    @property
    def metric(self) -> Metric:
        """The inner product."""
        return INNER_PRODUCT

    @cached_property
    def _function(self) -> Any:
        return numpy_function(self.expr, T)

    def __getstate__(self) -> dict[str, Any]:
        return {"expr": self.expr, "label": self.label}  # compiled functions cannot be pickled

    def __call__(self, t: ArrayLike) -> FloatArray:
        """Values f(t) at inner products; an array of the shape of t."""
        return np.asarray(self._function(real_array(t, "t")))

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return self(X @ Y.T)

    @property
    def is_entire(self) -> bool:
        """Whether f is a polynomial or a power series that converges for every t."""
        return all(
            node.is_Symbol or node.is_number or node.is_Add or node.is_Mul or node.func in _ENTIRE
            or (node.is_Pow and node.exp.is_Integer and node.exp.is_positive)
            for node in sympy.preorder_traversal(self.expr) if node.has(T)
        )  # fmt: skip

    def rescale(self, length: float | sympy.Expr) -> DotProductKernel:
        """The kernel of rows divided by one length."""
        return DotProductKernel(self.expr.subs(T, T / exact_length(length) ** 2))

    def __add__(self, other: Any) -> DotProductKernel:
        operand = self._operand(other)
        return NotImplemented if operand is None else DotProductKernel(self.expr + operand)

    def __mul__(self, other: Any) -> DotProductKernel:
        operand = self._operand(other)
        return NotImplemented if operand is None else DotProductKernel(self.expr * operand)

    def _operand(self, other: Any) -> sympy.Expr | None:
        if isinstance(other, DotProductKernel):
            return other.expr
        return None if (number := finite_number(other)) is None else sympy.sympify(number)


@staged("making a kernel", advice="simplify the formula")
def dot_product(formula: str | sympy.Expr, **parameters: Any) -> DotProductKernel:
    """Make a kernel of the inner product t = <x, y> of rows of any length.

    For rows of length 1, :func:`zonal` has more methods.

    Parameters
    ----------
    formula : str or sympy expression
        A formula in ``t``, such as ``"(1 + t)**3"``, ``"exp(t/s**2)"`` or ``"tanh(a*t + b)"``.
    **parameters : numbers
        A value for every other symbol of the formula.

    Raises
    ------
    FormulaError
        If the text is not a valid formula, or has no real value for an inner product in [-1, 1].

    Examples
    --------
    >>> kernel = dot_product("(c + t)**2", c=1)
    >>> kernel.gram([[1.0, 2.0]], [[3.0, 0.5], [0.0, -1.0]])
    array([[25.,  1.]])
    """
    expr = parse_formula(formula, variable="t", parameters=parameters)
    label = formula if isinstance(formula, str) and not parameters else ""
    kernel = DotProductKernel(expr, label)
    bad = ~np.isfinite(kernel(_CHECKED))
    if np.any(bad):
        raise FormulaError(
            f"The formula {expr} has no finite real value at t = {_CHECKED[bad][0]:.6g}. A kernel "
            "of the inner product is real for all inner products of rows: correct the formula, or "
            "use zonal(...) for rows of length 1."
        )
    return kernel
