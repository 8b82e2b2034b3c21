"""Kernels of the great-circle distance, as zonal kernels, and every kernel as one of the angle."""

from __future__ import annotations

from typing import Any

import sympy

from spectra.errors import ParameterError
from spectra.formula.callables import Opaque
from spectra.formula.parameters import exact_length
from spectra.formula.parsing import U, Z
from spectra.formula.pieces import merge_pieces, zonal_forms
from spectra.kernels.catalogue.named import catalogue
from spectra.kernels.catalogue.reading import as_kernel, kernel_from_text, parse_name
from spectra.kernels.kernel import Kernel, radial

__all__ = ["function_of_angle", "great_circle", "to_angle"]

_HALF_CHORD = sympy.asin(Z / 2)  # half the angle between unit vectors of the distance z
_ANGLE = sympy.Symbol("theta", nonnegative=True)


def great_circle(
    kernel: str | Any, *, length: Any = 1, radius: Any = 1, support: Any = None, **parameters: Any
) -> Kernel:
    r"""Make a kernel of the great-circle distance of points on a sphere.

    .. math:: k(x, y) = f(z), \qquad z = R\,\arccos\langle x, y\rangle / \ell

    for unit vectors x and y (:func:`rf.unit_vectors`).  Many f that are positive definite on R^3
    are not so here: ``existence(k, 3).on_sphere()`` decides.

    Parameters
    ----------
    kernel : str, Kernel or Family
        The function f: a formula in ``z``, a name of the catalogue, or a radial kernel.
    length, radius : number
        The length and R in the same unit; R = 6371 for kilometres on the Earth.
    support, **parameters :
        As for :func:`radial`; for a name, its parameters.

    Examples
    --------
    >>> from spectra import existence
    >>> k = great_circle("exp(-z)", length=500, radius=6371)
    >>> k.gram([[1.0, 0.0, 0.0]], [[0.6, 0.8, 0.0]]).round(9)
    array([[7.388e-06]])
    >>> existence(great_circle("exp(-z**2)"), 3).on_sphere().positive_definite
    False
    """
    unit = exact_length(length) / exact_length(radius)
    if isinstance(kernel, str):
        if parse_name(kernel)[0] in catalogue:
            kernel = kernel_from_text(kernel, support=support, parameters=parameters)
        else:
            end = sympy.pi / unit if support is None else support
            kernel = radial(kernel, support=end, **parameters)
    elif parameters or support is not None:
        raise ParameterError("Parameters and support belong to text: give them to the kernel.")
    profile = as_kernel(kernel, "great_circle").rescale(unit)
    if kernel.zonal is not None or any(p.expr.has(Opaque) for p in profile.pieces):
        raise ParameterError(
            f"great_circle takes a formula of the distance z, and got {kernel}. Write one, such as "
            "great_circle('exp(-z)', length=0.3); zonal(...) takes formulas in u = <x, y>."
        )
    pieces, terms = [], []
    for piece in profile.pieces:
        half_sine = sympy.sqrt((1 - U) / 2)
        of_u = piece.expr.subs(sympy.sin(Z / 2), half_sine).subs(Z, sympy.acos(U))
        of_u, of_chord = zonal_forms(of_u)
        whole = bool(piece.support >= sympy.pi)
        inside = sympy.cos(piece.support) <= U
        terms.append(of_u if whole else sympy.Piecewise((of_u, inside), (0, True)))
        end = sympy.Integer(2) if whole else 2 * sympy.sin(piece.support / 2)
        pieces.append((end, of_chord))
    return Kernel(merge_pieces(pieces), sympy.Add(*terms))


def function_of_angle(kernel: Kernel) -> Kernel:
    """The kernel on the unit sphere as a function of the angle z in [0, pi].

    Examples
    --------
    >>> print(function_of_angle(great_circle("exp(-z)")))
    [exp(-z) on z <= pi]
    """

    return Kernel(
        merge_pieces(
            (sympy.pi if p.support >= 2 else 2 * sympy.asin(p.support / 2), to_angle(p.expr))
            for p in kernel.pieces
        )
    )


def to_angle(expr: sympy.Expr) -> sympy.Expr:
    """A formula in the distance z of unit vectors as a formula in their angle z."""
    of_angle = expr.xreplace({_HALF_CHORD: _ANGLE / 2})
    return of_angle.subs(Z, 2 * sympy.sin(_ANGLE / 2)).subs(_ANGLE, Z)
