"""The public kernel class, and how kernels are made from formulas and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import sympy
from numpy.typing import ArrayLike

from spectra.base.limits import staged
from spectra.base.numbers import FloatArray
from spectra.errors import FormulaError, ParameterError
from spectra.formula.callables import opaque_function, stated_facts
from spectra.formula.one_sided_limits import refuse_jump_at_zero
from spectra.formula.pieces import Piece, in_distance
from spectra.formula.reader.parameters import exact_parameter
from spectra.formula.reader.parsing import Z, parse_formula
from spectra.kernels.algebra import Algebra
from spectra.kernels.asymmetric import AsymmetricKernel, shifted, tilted
from spectra.kernels.grouped import GroupedKernel, on_columns, with_lengths
from spectra.kernels.radial_kernel import RadialKernel

__all__ = ["Algebra", "Kernel", "Piece", "radial", "zonal"]

_PROBES_PER_PIECE = 61


@dataclass(frozen=True, repr=False)
class Kernel(RadialKernel):
    """A stationary radial kernel k(z), z = |x - y|; make one with :func:`radial` or :func:`zonal`.

    Kernels are immutable, hashable, picklable and compare by their formulas.  They add, subtract
    and multiply with one another and with real numbers.

    Attributes
    ----------
    pieces : tuple of Piece
        Sorted by support; none of them is zero.
    zonal : sympy expression or None
        The formula in u = <x, y> where the kernel lives on the unit sphere.
    label : str
        How to print it where it was named: the text it came from, or its name in the catalogue.

    Examples
    --------
    >>> k = radial("exp(-z**2/2)") - radial("exp(-z**2/200)")
    >>> k([0.0, 1.0])
    array([ 0.        , -0.38848182])
    """

    @overload
    def rescale(self, length: float | sympy.Expr) -> Kernel: ...

    @overload
    def rescale(self, length: Sequence[float] | FloatArray) -> GroupedKernel: ...

    def rescale(
        self, length: float | sympy.Expr | Sequence[float] | FloatArray
    ) -> Kernel | GroupedKernel:
        """The kernel k(z / length), which is radial even where k was zonal.

        With a length for each column of the data it is k(|(x - y) / length|), whose verdict and
        table are those of k: the rows are divided.

        Examples
        --------
        >>> k = radial("exp(-z)")
        >>> k.rescale(2)([2.0]) == k([1.0])
        array([ True])
        >>> k.rescale([1.0, 20.0])([3.0, 80.0]) == k(5.0)
        np.True_
        """
        if not isinstance(length, sympy.Basic) and np.ndim(length):
            return with_lengths(self, length)
        return super().rescale(length)

    def on(self, columns: int | Sequence[int]) -> GroupedKernel:
        """The kernel of the distance in some columns alone, counted from 0.

        Such kernels add and multiply with one another, and with numbers.

        Examples
        --------
        >>> space, time = radial("exp(-z**2/2)"), radial("exp(-z)")
        >>> print(space.on([0, 1]) * time.rescale(7).on(2))
        (exp(-z**2/2)).on([0, 1])*(exp(-z/7)).on([2])
        """
        return on_columns(self, columns)

    def shift(self, offset: float | ArrayLike) -> AsymmetricKernel:
        """The asymmetric kernel D -> k(D + offset), D = x - y.

        ``offset`` has one number for each column of the data, or is one number for all of them.
        """
        return shifted(self, offset)

    def tilt(self, beta: float | ArrayLike) -> AsymmetricKernel:
        """The asymmetric kernel D -> k(D) exp(beta.D): ``existence`` says whether it has a measure.

        ``beta`` has one number for each column of the data, or is one number for all of them.
        """
        return tilted(self, beta)


@staged("making a kernel", advice="write its formula shorter, or give a callable")
def radial(
    formula: str | sympy.Expr | Callable[..., Any],
    *,
    support: float | sympy.Expr | None = None,
    **parameters: Any,
) -> Kernel:
    """Make a kernel from a formula in z = |x - y|, or a callable of z, zero beyond ``support``.

    Parameters
    ----------
    formula : str, sympy expression or callable
        A formula in ``z``.  Text is read through a whitelist and never evaluated.  A callable
        takes distances (one, or an array) and shows nothing of itself, so that its facts are
        stated by keywords instead of parameters; see ``docs/callables.md``.
    support : number, optional
        Radius beyond which the kernel is zero; by default there is none.
    **parameters : numbers
        A value for every other symbol of the formula.  For a callable: ``edge`` (k behaves like
        (support - z)**edge at its support), ``breaks`` (the radii inside where it is not smooth,
        with exponents in a mapping; ``()`` for none), ``origin`` ("smooth" for a smooth function of
        z**2, or the least power of z that is no even integer) and ``decay`` ("gaussian",
        "exponential" or the power of 1/z, where there is no support).

    Raises
    ------
    FormulaError
        If the text is not a formula, or is not real on 0 < z <= support.
    ParameterError
        If a parameter or the support is not a real number in its range.

    Examples
    --------
    >>> radial("(1 - z**2/a**2)**p", support=2, a=2, p=2)([0.0, 1.0, 3.0])
    array([1.    , 0.5625, 0.    ])
    >>> k = radial(lambda z: (1 - z)**3, support=1, edge=3, breaks=(), origin=1)
    >>> (2 * k.rescale(2))([0.0, 1.0])
    array([2.  , 0.25])
    """
    is_callable = callable(formula) and not isinstance(formula, type | Kernel | sympy.Basic)
    radius = sympy.oo if support is None else exact_parameter("support", support)
    expr = None if is_callable else parse_formula(formula, variable="z", parameters=parameters)
    if not radius.is_extended_positive:
        raise ParameterError(
            f"The support of a kernel is a radius and must be positive, and {support} is not."
        )
    if expr is None:
        assert callable(formula)
        expr = opaque_function(formula, **stated_facts(radius, parameters))(Z)
    label = formula if isinstance(formula, str) and not parameters and support is None else ""
    return _checked_real(Kernel._assembled([(radius, expr)], label=label))


@staged("making a kernel", advice="write its formula shorter")
def zonal(formula: str | sympy.Expr, **parameters: float | sympy.Expr) -> Kernel:
    """Make a kernel on the unit sphere from a formula in u = <x, y>.

    As a radial kernel it is taken at z^2 = 2 - 2u for z <= 2 and zero beyond z = 2.

    Parameters
    ----------
    formula : str or sympy expression
        A formula in ``u``, real on -1 <= u <= 1.
    **parameters : numbers
        A value for every other symbol of the formula.

    Examples
    --------
    >>> zonal("(1 + u)/2")([0.0, 2.0])
    array([1., 0.])
    """
    expr = parse_formula(formula, variable="u", parameters=parameters)
    label = formula if isinstance(formula, str) and not parameters else ""
    pieces = [(sympy.Integer(2), in_distance(expr))]
    return _checked_real(Kernel._assembled(pieces, zonal=expr, label=label))


def _checked_real(kernel: Kernel) -> Kernel:
    for i, (support, _) in enumerate(kernel._functions):
        if np.isinf(support):
            probes = np.geomspace(1e-3, 1e3, _PROBES_PER_PIECE)
        else:
            probes = support * np.linspace(0.0, 1.0, _PROBES_PER_PIECE)[1:]
        bad = np.isnan(kernel._values(i, probes))
        if np.any(bad):
            raise FormulaError(
                f"The formula {kernel.pieces[i].expr} has no real value at z = "
                f"{probes[bad][0]:.6g}. A kernel must be real on its whole domain: restrict it "
                "with support=..., or mend the formula."
            )
    for piece in kernel.pieces:
        refuse_jump_at_zero(piece.expr)
    return kernel
