"""The density of a formula on a ball as a component.

It is stored on panels up to ``tail.start``.  Beyond, it is the sum of the terms from the expansions
at the edge z = R and at the origin, which is compared with the power series at a few radii.
"""

from __future__ import annotations

from spectra.density.ball.ascending_series import ascending_series, build_panels
from spectra.density.ball.ball_form import BallForm
from spectra.density.ball.edge import build_tail
from spectra.density.log_panels import PanelDensity

__all__ = ["ball_component"]


def ball_component(form: BallForm, dim: int) -> PanelDensity:
    """The density on R^dim of a formula on a ball.

    Examples
    --------
    >>> import numpy as np, sympy
    >>> from spectra.formula.parsing import Z
    >>> from spectra.density.ball.read_ball_form import read_ball_form
    >>> component = ball_component(read_ball_form(1 - Z, sympy.Integer(1)), 1)
    >>> sign, log = component.signed_log(np.array([2.0]))
    >>> bool(abs(np.exp(log[0]) - (1 - np.cos(2.0)) / (2 * np.pi)) < 1e-15)
    True
    """
    values = ascending_series(form, dim)
    tail = build_tail(form, dim, values)
    beginning, panels = build_panels(form, dim, values, tail.start)
    return PanelDensity(
        panels=panels,
        total=float(form.value_at_zero),
        origin_exponent=float(beginning.exponents[0]),
        bulk=(panels.bulk()[0], tail.start),
        decay=min(tail.exponent, tail.background_exponent),
        beginning=beginning,
        ending=tail,
        tail=tail,
    )
