r"""Spectral components of kernels on the half-line whose Mellin transform is a Gamma product.

In the middle the density is a series on panels of log w, made once from sums on vertical lines
(:mod:`.mellin_lines`); towards the origin and infinity it is the sum over poles, which is exact
there.  Every radius costs the same, in every dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from spectra.base.numbers import FloatArray
from spectra.density.gamma_sums.gamma_product import GammaProduct
from spectra.density.gamma_sums.poles import Pole, RadialMellin
from spectra.density.gamma_sums.vertical_lines import Line, best_of, lines_of
from spectra.density.panels.log_panels import Panelled, fit_panels

__all__ = ["mellin_component"]

# The sum on a line is left out where it is below exp(-40) = 4e-18 of the leading power.
_NEGLIGIBLE = 40.0
_FIRST_WIDTH = 1.0
# Below its turning point the density grows like w^d: no panel holds more of it than exp(this).
_GROWTH = 32.0
# A component that knows less than this of its mass is left to other routes (chosen).
_MOST_LOST, _LOOKS = 1e-9, 64


def mellin_component(products: Sequence[GammaProduct], dim: int) -> Panelled | None:
    """The component of a sum of Gamma products, or None where this method does not apply.

    It does not where the Mellin transform falls too slowly along its lines (kernels of compact
    support, kernels that oscillate much faster than they fall), where the sum is not bounded at
    zero, or where a logarithm leads at infinity.

    Examples
    --------
    >>> import sympy
    >>> from spectra.formula.reader.parsing import Z
    >>> from spectra.density.gamma_sums.gamma_product import gamma_product
    >>> component = mellin_component([gamma_product(sympy.exp(-Z))], 1)
    >>> sign, log = component.signed_log(np.array([1.0]))
    >>> bool(abs(np.exp(log[0]) * np.pi - 1) < 1e-14)      # 2 / (pi (1 + w^2)) at w = 1
    True
    """
    for product in products:
        # Bounded at zero, and with limit zero at infinity: another limit would be an atom.
        left, right = product.strip
        if left > 0 or right <= 0 or not product.decay.is_positive:
            return None
    mellin = RadialMellin(products, dim)
    first, last = mellin.strip
    if first >= 1 or (last is not None and (last <= 1 or last <= first)):
        return None
    lines = lines_of(mellin)
    if not lines:
        return None
    below = _leading(lines[0], -1)
    above = _leading(lines[-1], 1) if last is not None else ()
    if not below or (last is not None and not above):
        return None
    if above and len(above[0].coefficients) > 1:
        return None
    start = -_reach(lines[0], below[0])
    stop = _reach(lines[-1], above[0]) if above else _crossing(*lines[-2:])
    count = max(int((stop - start) / min(_FIRST_WIDTH, _GROWTH / dim)), 4)
    panels = fit_panels(partial(_sample, lines), np.linspace(start, stop, count + 1))
    component = Panelled(
        panels=panels,
        total=mellin.total(),
        origin_exponent=-float(below[0].place),
        bulk=panels.bulk(),
        decay=float(above[0].place) if above else np.inf,
        beginning=lines[0],
        ending=lines[-1],
    )
    return component if _share_lost(component) <= _MOST_LOST else None


def _share_lost(component: Panelled) -> float:
    """The error of the mass in the bulk, relative to the absolute mass there."""
    w = np.geomspace(*component.bulk, _LOOKS)
    envelope = component.log_envelope(w) + np.log(w)
    mass = np.exp(component.signed_log(w)[1] + np.log(w) - envelope.max())
    wrong = np.exp(envelope - envelope.max()) * component.relative_error(w)
    return float(wrong.sum() / mass.sum())


def _leading(line: Line, side: int) -> tuple[Pole, ...]:
    """The poles that a line has passed, the leading one first."""
    return tuple(sorted(line.poles, key=lambda p: side * p.place))


def _reach(line: Line, pole: Pole) -> float:
    """The distance |x| from which on the leading power is all that counts beside the line."""
    size = pole.log_scale + float(np.log(np.max(np.abs(pole.coefficients))))
    gap = abs(line.place - float(pole.place))
    return (line.log_size - size + _NEGLIGIBLE) / gap


def _crossing(one: Line, other: Line) -> float:
    return float((other.log_size - one.log_size) / (other.place - one.place))


def _sample(
    lines: tuple[Line, ...], centre: float, offsets: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """w rho on a panel, as :func:`fit_panels` takes it."""
    x = float(np.log(centre)) + offsets
    bounds = np.min([line.log_bound(x) for line in lines], axis=0) + x
    log = float(bounds.max())
    values, noise = np.empty_like(x), np.empty_like(x)
    chosen = best_of(lines, x)
    for i in np.unique(chosen):
        at = chosen == i
        values[at] = lines[i].values(x[at], log - x[at])
        noise[at] = np.exp(lines[i].log_error(x[at]) + x[at] - log)
    return values, noise, log
