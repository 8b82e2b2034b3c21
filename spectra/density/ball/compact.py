r"""Kernels of compact support in closed form: polynomials in z, Bochner-Riesz, arc-cosine, NTK.

A piece k(z) on z <= R, a sum of powers of z times 1, (1 - z/R)^p, (1 - z^2/R^2)^p or arcsin(z/R),
becomes one component.  Below ``start`` it is the ascending series, stored on panels; beyond, the
expansion at the edge z = R plus the one at the origin, compared with the series where they meet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spectra.base.numbers import FloatArray
from spectra.base.precision import working
from spectra.density.ball.ascending_series import AscendingSeries, build_panels
from spectra.density.ball.ball_form import BallForm
from spectra.density.ball.edge import build_tail
from spectra.density.ball.numeric.numeric_ball import RadialForm
from spectra.density.components import OscillatingTail
from spectra.density.panels.panelled_density import Panelled

__all__ = ["BallComponent"]

# The bulk starts where the envelope reaches this share of its value at R w = n, the turning point
# of J_n: further out the density of a kernel of infinite mass grows without end.
_BULK_SHARE = 1e-6
_BULK_GRID = 400
# A moment of so many zero bits is zero: it is rational, or rational plus rational times pi.  Those
# from quadrature cost more, and are no such numbers.
_MOMENT_BITS, _QUADRATURE_BITS = 512, 256


@dataclass(frozen=True, eq=False, kw_only=True)
class BallComponent(Panelled):
    """The radial density of a formula on a ball, from the origin to infinity.

    Attributes
    ----------
    form : RadialForm
        The formula on the unit ball.
    dim : int
    tail : OscillatingTail
        ``frequency`` is the radius R of the ball; the background comes from odd powers of z.
    doubt : (ndarray, ndarray) or None
        Logarithms of radii and what else the density errs by there, relative to its envelope.
    """

    form: RadialForm
    dim: int
    doubt: tuple[FloatArray, FloatArray] | None = None

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error relative to the envelope."""
        found = super().relative_error(w)
        return found if self.doubt is None else found + np.interp(np.log(w), *self.doubt)

    @classmethod
    def of(cls, form: RadialForm, dim: int) -> BallComponent:
        """Panels up to the radius from which the expansions at the ends serve.

        Raises
        ------
        AccuracyError
            Where the expansion at the edge could not be matched to the series.

        Examples
        --------
        >>> import sympy
        >>> from spectra.formula.reader.parsing import Z
        >>> from spectra.density.ball.read_ball_form import ball_form
        >>> component = BallComponent.of(ball_form(1 - Z, sympy.Integer(1)), 1)
        >>> sign, log = component.signed_log(np.array([2.0]))
        >>> bool(abs(np.exp(log[0]) - (1 - np.cos(2.0)) / (2 * np.pi)) < 1e-15)
        True
        """
        series = AscendingSeries(form, dim)
        beyond = build_tail(series)
        found = cls(
            form=form,
            dim=dim,
            panels=build_panels(series, beyond.order, beyond.start),
            total=float(form.value_at_zero),
            origin_exponent=float(dim - 1 + 2 * _vanishing_moments(form, dim)),
            bulk=(beyond.start, beyond.start),
            decay=min(-beyond.amplitude_power, beyond.background_power),
            tail=OscillatingTail(
                start=beyond.start,
                frequency=beyond.radius[0],
                exponent=-beyond.amplitude_power,
                amplitude=beyond.amplitude,
                background=beyond.background,
                background_exponent=beyond.background_power,
            ),
            ending=beyond,
        )
        w = beyond.start * np.arange(1, _BULK_GRID) / _BULK_GRID
        log = found.log_envelope(w)
        turning = log[np.searchsorted(w, beyond.order / beyond.radius[0])]
        first = int(np.argmax(log >= turning + np.log(_BULK_SHARE)))
        return replace(found, bulk=(float(w[first]), beyond.start))


def _vanishing_moments(form: RadialForm, dim: int) -> int:
    """How many of the integrals of x^(d-1+2n) times the formula vanish, to hundreds of bits."""
    with working(_MOMENT_BITS if isinstance(form, BallForm) else _QUADRATURE_BITS):
        return next(n for n, value in enumerate(form.moments(dim)) if not value.contains(0))
