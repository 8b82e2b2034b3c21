r"""The series route: kernels whose Mellin transform is a product of Gamma functions.

On the half-line: powers of z times exp(-c z^p), (A + B z^p)^(-alpha), K_nu(c z), erfc(c z), waves
that fall exponentially, and sums of them; their densities are pFq and Meijer functions, computed
from their Mellin transform (:mod:`.mellin_sums.mellin_component`).  Pieces on a ball are those of
look-up.
"""

from __future__ import annotations

import sympy

from spectra.density.ball.compact import BallComponent
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.closed_pairs.summands import summands
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.density.gamma_sums.gamma_component import mellin_component
from spectra.density.gamma_sums.gamma_product import GammaProduct, gamma_product
from spectra.density.lookup import known_part
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel

__all__ = ["series"]

# Kernels of scales further apart than this have bumps apart, which one set of lines serves badly.
_LARGEST_RATIO = 8


def series(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density by the series of Gamma products, or None where a summand is none.

    In a sum with summands of the catalogue those keep their closed forms.

    Parameters
    ----------
    kernel : Kernel
    dim : int
        Dimension d >= 1.

    Raises
    ------
    NoRouteError
        Where the transform of a summand is known and is not a measure.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> density = series(radial("exp(-z**(3/2))"), 1)
    >>> round(float(density.radial([1.0])[0]), 12)
    0.404076319216
    >>> series(radial("exp(-z**2)*cos(z)"), 1) is None
    True
    """
    components: list[Component] = []
    atoms: list[Atom] = []
    if not any(p.support != sympy.oo or _is_mine(p.expr) for p in kernel.pieces):
        return None
    for piece in kernel.pieces:
        if piece.support == sympy.oo:
            found = _on_half_line(piece.expr, dim)
            if found is None:
                return None
            components += found[0]
            atoms += found[1]
        else:
            form = ball_form(piece.expr, piece.support)
            if form is None:
                return None
            components.append(BallComponent.of(form, dim))
    return SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "series")


def _is_mine(expr: sympy.Expr) -> bool:
    """Whether at least one summand has a Gamma product."""
    return any(gamma_product(term) is not None for term in summands(expr) if term.has(Z))


def _on_half_line(expr: sympy.Expr, dim: int) -> tuple[list[Component], list[Atom]] | None:
    products = gamma_products(expr)
    components: list[Component] = []
    atoms: list[Atom] = []
    if products is None:
        known, atoms, rest = known_part(expr, dim)
        components.extend(known)
        products = gamma_products(rest) if known or atoms else None
    if products is None:
        return None
    for group in _by_scale(products):
        component = mellin_component(group, dim)
        if component is None:
            return None
        components.append(component)
    return components, atoms


def gamma_products(expr: sympy.Expr) -> list[GammaProduct] | None:
    """The Mellin transforms of the summands of a formula in Z, None where one is not in the table.

    Examples
    --------
    >>> len(gamma_products((1 + Z) * sympy.exp(-Z)))
    2
    """
    found = []
    for term in summands(expr):
        product = gamma_product(term) if term.has(Z) else None
        if product is None:
            return None
        found.append(product)
    return found


def _by_scale(products: list[GammaProduct]) -> list[list[GammaProduct]]:
    """Groups of like scale: what cancels must be added before it is computed."""
    groups: list[list[GammaProduct]] = []
    for product in sorted(products, key=lambda p: float(abs(p.scale))):
        least = groups[-1][0] if groups else None
        if least is not None and float(abs(product.scale / least.scale)) <= _LARGEST_RATIO:
            groups[-1].append(product)
        else:
            groups.append([product])
    return groups
