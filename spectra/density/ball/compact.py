"""The radial density of a formula on a ball, as a component.

Up to ``tail.start`` the density is held on panels; beyond, it is the expansion at the edge z = R
plus the one at the origin, compared with values where they meet.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spectra.density.ball.ascending_series import ascending_series, build_panels
from spectra.density.ball.ball_form import BallForm
from spectra.density.ball.edge import build_tail
from spectra.density.panels.log_panels import Panelled

__all__ = ["ball_component"]

# The bulk starts where the envelope reaches this share of its value at R w = n, the turning point
# of J_n: further out the density of a kernel of infinite mass grows without end.
_BULK_SHARE = 1e-6
_BULK_GRID = 400


def ball_component(form: BallForm, dim: int) -> Panelled:
    """The density of a formula, on panels up to where both expansions are accurate.

    Examples
    --------
    >>> import sympy
    >>> from spectra.formula.reader.parsing import Z
    >>> from spectra.density.ball.read_ball_form import ball_form
    >>> component = ball_component(ball_form(1 - Z, sympy.Integer(1)), 1)
    >>> sign, log = component.signed_log(np.array([2.0]))
    >>> bool(abs(np.exp(log[0]) - (1 - np.cos(2.0)) / (2 * np.pi)) < 1e-15)
    True
    """
    values = ascending_series(form, dim)
    tail = build_tail(form, dim, values)
    beginning, panels = build_panels(form, dim, values, tail.start)
    found = Panelled(
        panels=panels,
        total=float(form.value_at_zero),
        origin_exponent=float(beginning.exponents[0]),
        bulk=(tail.start, tail.start),
        decay=min(tail.exponent, tail.background_exponent),
        beginning=beginning,
        ending=tail,
        tail=tail,
    )
    w = tail.start * np.arange(1, _BULK_GRID) / _BULK_GRID
    log = found.log_envelope(w)
    turning = log[np.searchsorted(w, tail.order / tail.frequency)]
    first = int(np.argmax(log >= turning + np.log(_BULK_SHARE)))
    return replace(found, bulk=(float(w[first]), tail.start))
