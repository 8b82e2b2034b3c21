r"""Densities of callables on a support: series through their values, transformed exactly.

A callable with breaks :math:`b_1 < \dots < b_n = R` is written as a sum of functions on balls, from
the outside inwards: a series that follows it between the last two breaks, and is smooth from
z = 0 to R, leaves a rest that is zero beyond :math:`b_{n-1}`, to which the same is done.

.. math:: k(z) = \sum_i P_i(z)\,[z \le b_i]

What such a series is below its range is of no account, since the rest makes up for it.  So two
sums through the same values have unlike summands, and the error is what the sums differ by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import sympy

from spectra.base.numbers import FloatArray
from spectra.density.ball.compact import BallComponent
from spectra.density.ball.numeric.numeric_ball import NumericBall
from spectra.density.callables.fit import Surrogate, fit_surrogate, found_exponent
from spectra.density.components import Component
from spectra.errors import AccuracyError, NoRouteError

__all__ = ["Break", "series_components"]

#: A radius at which a callable is not smooth, or ends, and the exponent of what ends there; None
#: where that is to be read off the values.
Break = tuple[sympy.Expr, sympy.Expr | None]
Values = Callable[[FloatArray], FloatArray]

# The second sum has so many terms more in each series.
_MORE = 5
# Half the difference of two fits is the error of either; neighbouring zeros hide it.
_SAFETY = 4.0
# They are compared from a hundredth of the bulk to where rounding in place of a power that is
# absent at 0 is all there is of both.
_FIRST, _LAST, _GRID = 1e-2, 1e16, 420
_NEIGHBOURS = 6
# A component is refused where its values keep no digit even at their best.
_LEAST_DIGITS = 1e-3


def series_components(
    name: str, values: Values, breaks: Sequence[Break], origin: sympy.Expr, dim: int
) -> list[Component]:
    """The transform of a callable, one component for each break, the support last.

    Parameters
    ----------
    name : str
        For messages.
    values : callable
        Values at distances z.
    breaks : sequence of Break
        Ascending; the last one is the support.
    origin : sympy expression
        The least power of z at 0 that is no even integer; ``oo`` for a smooth function of z^2.
    dim : int
        Dimension d >= 1.

    Raises
    ------
    NoRouteError
        Where the powers at 0 are neither integers nor halves, or an exponent is not seen.
    AccuracyError
        Where no series passes through the values, or they leave no digit of the density.
    """
    power = sympy.Integer(2)
    if origin is not sympy.oo:
        if not (origin.is_Rational and origin.q <= 2):
            raise NoRouteError(
                f"The callable {name} starts like z^({origin}), and values are followed in powers "
                "of z and of its root only. Write it as a formula."
            )
        power = sympy.Rational(1, origin.q)
    first, miss = _balls(name, values, breaks, power, dim, more=0)
    second, _ = _balls(name, values, breaks, power, dim, more=_MORE)
    doubt = _difference(first, second, miss)
    return [replace(ball, doubt=doubt) for ball in first]


def _balls(
    name: str,
    values: Values,
    breaks: Sequence[Break],
    power: sympy.Rational,
    dim: int,
    *,
    more: int,
) -> tuple[list[BallComponent], float]:
    """The balls from the inside outwards, and how far all series miss the values."""
    balls: list[BallComponent] = []
    size = float(np.abs(values(float(breaks[-1][0]) * np.linspace(0.01, 0.99, 99))).max())
    rest, missed = values, 0.0
    for i in range(len(breaks) - 1, -1, -1):
        end, edge = breaks[i]
        radius = float(end)
        if edge is None:
            edge = found_exponent(rest, name, radius, size)
        # Only the innermost series meets z = 0: the others are smooth there.
        inner = float(breaks[i - 1][0]) / radius if i else 0.0
        fit = fit_surrogate(
            _on_unit_ball(rest, radius),
            edge,
            sympy.Integer(2) if i else power,
            more=more,
            low=inner,
            size=size,
        )
        missed = max(missed, fit.miss)
        form = NumericBall(fit, end, edge=edge, origin_root=int(fit.power.q))
        balls.insert(0, BallComponent.of(form, dim))
        rest = _without(rest, fit, radius)
    return balls, missed


def _on_unit_ball(rest: Values, radius: float) -> Values:
    return lambda x: rest(radius * x)


def _without(rest: Values, fit: Surrogate, radius: float) -> Values:
    return lambda z: rest(z) - fit.in_doubles(z / radius)


def _difference(
    first: Sequence[BallComponent], second: Sequence[BallComponent], miss: float
) -> tuple[FloatArray, FloatArray]:
    """Logarithms of radii, and what two sums differ by there, relative to all envelopes."""
    low, high = min(b.bulk[0] for b in first), max(b.bulk[1] for b in first)
    w = np.geomspace(_FIRST * low, _LAST * high, _GRID)
    # Beside the grid points of the logarithm the phase is anywhere.
    w = np.sort(np.concatenate([w, w * 1.003, w * 1.011]))
    envelope = np.logaddexp.reduce([b.log_envelope(w) for b in first], axis=0)
    difference = np.zeros_like(w)
    for sign, balls in ((1.0, first), (-1.0, second)):
        for ball in balls:
            own, log = ball.signed_log(w)
            difference += sign * own * np.exp(log - envelope)
    padded = np.pad(np.abs(difference), 3 * _NEIGHBOURS, mode="edge")
    window = np.lib.stride_tricks.sliding_window_view(padded, 6 * _NEIGHBOURS + 1)
    differs = _SAFETY * window.max(axis=1) + miss
    if not differs.min() < _LEAST_DIGITS:
        raise AccuracyError(
            "The values of a callable in double precision leave no digit of its density in "
            f"dimension {first[0].dim}: two series through them differ by {differs.min():.1e} of "
            "it at best. Write the kernel as a formula."
        )
    return np.log(w), differs
