r"""A given spectrum S as the component :math:`\rho(w)` of a spectral density."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import sympy

from spectra.base.accuracy import EPS
from spectra.base.numbers import FloatArray, real_array
from spectra.base.special.bessel import log_sphere_area
from spectra.density.components import Component, Evaluation
from spectra.errors import ParameterError
from spectra.formula.evaluation.evaluate import numpy_function
from spectra.formula.reader.parsing import Z

__all__ = ["CallableSpectrum", "Convention", "FormulaSpectrum", "GivenComponent"]

# Rounding errors of S relative to its largest value nearby, where terms may cancel, as in 1 - k; and
# those of exp(L - peak) for a logarithm L, relative to S.
_ROUNDING, _ROUNDING_OF_LOG = 16.0 * EPS, 4.0 * EPS

_LOG_TWO_PI = float(np.log(2.0 * np.pi))


@final
@dataclass(frozen=True)
class Convention:
    """What is integrated to give the variance: ``kind``, and whether frequencies are in cycles.

    Then rho(w) = exp(log_factor) w^power S(unit w).
    """

    kind: str
    dim: int
    cycles: bool

    def __post_init__(self) -> None:
        if self.kind not in ("density", "power", "shell", "log"):
            raise ParameterError(
                f"kind = {self.kind!r}: say what is integrated to give the variance: 'density' "
                "(S dw over R^d), 'power' (S dk/(2 pi)^d over R^d), 'shell' (S dk over k > 0; also "
                "for a one-sided frequency spectrum), or 'log' (S dk/k over k > 0)."
            )
        if not isinstance(self.cycles, bool):
            raise ParameterError(f"cycles = {self.cycles!r} must be True or False.")

    @property
    def power(self) -> float:
        return {"shell": 0.0, "log": -1.0}.get(self.kind, self.dim - 1.0)

    @property
    def log_factor(self) -> float:
        if self.kind in ("shell", "log"):
            return -_LOG_TWO_PI if self.cycles and self.kind == "shell" else 0.0
        # A density of cycles f = w/(2 pi) has df = dw/(2 pi)^d.
        divided = self.cycles or self.kind == "power"
        return float(log_sphere_area(self.dim)) - (self.dim * _LOG_TWO_PI if divided else 0.0)

    @property
    def unit(self) -> float:
        return 1.0 / (2.0 * np.pi) if self.cycles else 1.0


@final
@dataclass(frozen=True, eq=False)
class FormulaSpectrum:
    """The values of a formula in Z, accurate relative to the largest value in each octave."""

    expr: sympy.Expr

    @cached_property
    def _function(self) -> Callable[[FloatArray], FloatArray]:
        return numpy_function(self.expr, Z, relative=True)

    def __call__(self, k: FloatArray) -> FloatArray:
        return self._function(k)

    def __getstate__(self) -> dict[str, Any]:  # compiled functions cannot be pickled
        return {"expr": self.expr}


@final
@dataclass(frozen=True, eq=False)
class CallableSpectrum:
    """The values of a Python function of an array, or of a number."""

    function: Callable[..., Any]

    def __call__(self, k: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            values = self.function(k) if self._is_vectorized else list(map(self.function, k.flat))
        return real_array(values, f"The values of {self.name}").reshape(k.shape)

    @property
    def name(self) -> str:
        name = str(getattr(self.function, "__name__", ""))
        return name if name.isidentifier() else "S(k)"

    @cached_property
    def _is_vectorized(self) -> bool:
        points = np.array([0.4, 1.0, 1.7])
        try:
            with np.errstate(all="ignore"):
                return bool(np.shape(self.function(points)) == points.shape)
        except (TypeError, ValueError):  # a function of one number, such as math.exp
            return False


@final
@dataclass(frozen=True, eq=False)
class GivenComponent(Component):
    r"""rho(w) by values of S at radii w in ``range``; beyond, rho ~ w^slope or 0.

    ``slopes``: exponents of rho below and above the range; inf and -inf if rho is 0 there.
    """

    function: Callable[[FloatArray], FloatArray]
    convention: Convention
    range: tuple[float, float]
    slopes: tuple[float, float] = (np.inf, -np.inf)
    is_log: bool = False  # the function returns log S
    floor: float = 1e-30  # absolute error, as a share of the peak of w rho(w)
    log_peak: float = -np.inf  # of w |rho(w)|
    largest: tuple[FloatArray, FloatArray] = (np.zeros(1), np.zeros(1))  # log w, log |S| near it
    total: float = 0.0
    origin_exponent: float = 0.0
    bulk: tuple[float, float] = (1.0, 1.0)
    decay: float = np.inf
    breaks: tuple[tuple[float, float], ...] = ()
    has_one_sign: bool = False
    knots: tuple[float, ...] = ()

    def evaluate(self, w: FloatArray) -> Evaluation:
        t, inside = np.log(w), np.clip(w, *self.range)
        values = self.function(inside * self.convention.unit)
        with np.errstate(divide="ignore"):
            sign, log = (1.0, values) if self.is_log else (np.sign(values), np.log(np.abs(values)))
        log = log + self.convention.log_factor + self.convention.power * np.log(inside)
        beyond = w != inside
        slope = np.where(w < inside, *self.slopes)[beyond]
        with np.errstate(invalid="ignore"):
            steps = slope * (t - np.log(inside))[beyond]
        log[beyond] += np.where(np.isinf(slope), -np.inf, steps)
        # An underflow, which looks like a jump, is far below the floor.
        log_floor = np.log(self.floor)
        floor = np.where(np.isneginf(log) & beyond, -np.inf, self.log_peak - t + log_floor)
        near = np.interp(t, *self.largest) + self.convention.log_factor + self.convention.power * t
        size = np.maximum(log, floor)
        unit = np.where(np.isneginf(size), 0.0, size)
        share = np.exp(log - unit)
        distance = np.abs(np.where(share > 0.0, log + t - self.log_peak, 0.0))
        error = _ROUNDING_OF_LOG * distance * share + np.exp(floor - unit)
        error += _ROUNDING * np.where(beyond, share, np.exp(np.minimum(near - unit, 99.0)))
        return np.broadcast_to(sign, t.shape), log, size, np.minimum(error, 1.0)
