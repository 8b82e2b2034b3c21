"""The look-up route: kernels that are sums of families with a known transform pair."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from spectra.density import Atom, Component, SpectralDensity
from spectra.errors import NoRouteError
from spectra.kernel import Kernel
from spectra.transform.on_balls.compact import compact_components, compact_formula
from spectra.transform.smooth_pairs.damped_wave import DampedWave
from spectra.transform.smooth_pairs.gaussian import Gaussian
from spectra.transform.smooth_pairs.matern import Matern
from spectra.transform.smooth_pairs.plane_wave_mean import PlaneWaveMean
from spectra.transform.smooth_pairs.rational_quadratic import RationalQuadratic
from spectra.transform.summands import Recognised, claimed, recognised, summands

__all__ = ["known_part", "lookup", "unknown_summand"]


def lookup(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density of a kernel whose summands all have a known pair, else None.

    Parameters
    ----------
    kernel : Kernel
        Any kernel; pieces of finite support go to :mod:`.compact`.
    dim : int
        Dimension d >= 1.

    Returns
    -------
    SpectralDensity or None
        None where a summand is in no family; :func:`unknown_summand` names it.

    Raises
    ------
    NoRouteError
        Where the transform is known and is not a measure: a plane-wave mean of fewer than d
        dimensions, such as cos(z) for d = 2.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> density = lookup(radial("exp(-z**2/2) - 0.3*exp(-z)"), 3)
    >>> [type(c).__name__ for c in density.components]
    ['Gaussian', 'Matern']
    """
    components: list[Component] = []
    atoms: list[Atom] = []
    formulas: list[sympy.Expr | None] = []
    for piece in kernel.pieces:
        if piece.support != sympy.oo:
            compact = compact_components(piece.expr, piece.support, dim)
            if compact is None:
                return None
            components.extend(compact)
            formulas.append(compact_formula(piece.expr, piece.support, dim))
            continue
        found = recognised(piece.expr)
        if found is None:
            return None
        smooth = list(_smooth_components(found, kernel, dim))
        components.extend(smooth)
        formulas.extend(c.formula() for c in smooth)
        atoms.extend(_atoms(found, dim))
    known = [f for f in formulas if f is not None]
    expr = sympy.Add(*known) if len(known) == len(formulas) else None
    return SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "lookup", expr)


def known_part(
    expr: sympy.Expr, kernel: Kernel, dim: int
) -> tuple[list[Component], list[Atom], sympy.Expr]:
    """Components and atoms of the summands that a family knows, and the rest of the formula.

    A formula without such a summand is returned as it was written: multiplying it out could
    divide it into parts that are unbounded one by one.  So is one of which a summand is a wave
    that has no measure alone: (1 - exp(-exp(-z^2))) J_0(z) falls fast, and J_0(z) does not.

    Parameters
    ----------
    expr : sympy expression
        A formula in Z on the whole half-line.
    kernel : Kernel
        The kernel that it is a piece of, for messages.
    dim : int
        Dimension d >= 1.

    Raises
    ------
    NoRouteError
        As :func:`lookup` does.
    """
    known, rest = Recognised(), []
    for term in summands(expr):
        if not claimed(term, known):
            rest.append(term)
    if rest and any(m < dim and value != 0 for (m, _), value in known.waves.items()):
        return [], [], expr
    if rest and known.constant != 0:
        # The limit of what is left may be minus that, and no atom is there: 1 - sqrt(z/(1 + z)).
        rest.append(known.constant)
        known.constant = sympy.Integer(0)
    smooth = list(_smooth_components(known, kernel, dim))
    atoms = list(_atoms(known, dim))
    if not smooth and not atoms:
        return [], [], expr if rest else sympy.Integer(0)
    return list(smooth), atoms, sympy.Add(*rest)


def unknown_summand(kernel: Kernel, dim: int) -> str | None:
    """The first summand of a kernel that is in no family, as text; None where all are known."""
    for piece in kernel.pieces:
        if piece.support != sympy.oo:
            if compact_components(piece.expr, piece.support, dim) is None:
                return f"{piece.expr} on z <= {piece.support}"
            continue
        for term in summands(piece.expr):
            if not claimed(term, Recognised()):
                return str(term)
    return None


def _smooth_components(
    found: Recognised, kernel: Kernel, dim: int
) -> Iterator[Gaussian | Matern | DampedWave | RationalQuadratic | PlaneWaveMean]:
    for rate, powers in found.gaussians.items():
        present = {j: c for j, c in powers.items() if c != 0}
        if present:
            coefficients = tuple(present.get(j, sympy.Integer(0)) for j in range(max(present) + 1))
            yield Gaussian(dim, rate, coefficients)
    for (nu, rate), value in found.materns.items():
        if value != 0:
            yield Matern(dim, nu, rate, value)
    for (nu, rate), value in found.damped.items():
        if value != 0:
            yield DampedWave(dim, nu, rate, value)
    for (alpha, length2), value in found.quadratics.items():
        if value != 0:
            yield RationalQuadratic(dim, alpha, sympy.sqrt(length2), value)
    for (m, radius), value in found.waves.items():
        if value == 0 or m == dim:
            continue
        if m < dim:
            raise NoRouteError(
                f"The kernel {kernel} contains {value} times the mean of a plane wave over a "
                f"sphere of R^{m}, of frequency {radius}. In dimension {dim} > {m} its transform "
                "is not a measure but a derivative of one, so there is no spectral density to "
                f"give. Use dim <= {m}, or a finite measure made to order on the range of your "
                "data (design)."
            )
        yield PlaneWaveMean(dim, m, radius, value)


def _atoms(found: Recognised, dim: int) -> Iterator[Atom]:
    if found.constant != 0:
        yield _atom(sympy.Integer(0), found.constant)
    for (m, radius), value in found.waves.items():
        if m == dim and value != 0:
            yield _atom(radius, value)


def _atom(radius: sympy.Expr, mass: sympy.Expr) -> Atom:
    value = float(mass)
    return Atom(float(radius), value, error=abs(value) * 2.0**-52)
