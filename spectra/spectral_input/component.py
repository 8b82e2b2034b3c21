r"""A given spectrum S as a component of a density: rho(w) = exp(log_factor) w^power S(unit w)."""

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

__all__ = ["FormulaSpectrum", "GivenComponent", "convention_of"]

# Rounding errors of S relative to its largest value nearby, where terms may cancel, as in 1 - k; and
# those of exp(L - peak) for a logarithm L, relative to S.
_ROUNDING, _ROUNDING_OF_LOG = 16.0 * EPS, 4.0 * EPS


def convention_of(kind: str, dim: int, cycles: bool) -> tuple[float, float, float]:
    """The numbers (log_factor, power, unit) of a kind of spectrum."""
    log_turn, unit = float(np.log(2.0 * np.pi)), 1.0 / (2.0 * np.pi) if cycles else 1.0
    log_area = float(log_sphere_area(dim))
    factors = {
        "density": (log_area - cycles * dim * log_turn, dim - 1.0),
        "power": (log_area - dim * log_turn, dim - 1.0),
        "shell": (-cycles * log_turn, 0.0),
        "log": (0.0, -1.0),
    }
    if kind not in factors or not isinstance(cycles, bool):
        raise ParameterError(
            f"kind = {kind!r}, cycles = {cycles!r}: the kind says what is integrated to give the "
            "variance: 'density' (S dw over R^d), 'power' (S dk/(2 pi)^d over R^d), 'shell' (S dk "
            "over k > 0; one-sided frequency spectra, too), or 'log' (S dk/k over k > 0). cycles "
            "is True for frequencies in cycles, such as Hz, else False."
        )
    return *factors[kind], unit


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
class GivenComponent(Component):
    """rho(w) by values of S in a range of radii; beyond, rho ~ w^slope or 0.

    ``slopes``: exponents of rho below and above the range; inf and -inf if rho is 0 there.
    """

    function: Callable[[FloatArray], FloatArray]
    dim: int
    convention: tuple[float, float, float]
    range: tuple[float, float]
    slopes: tuple[float, float] = (np.inf, -np.inf)
    is_log: bool = False  # the function returns log S
    floor: float = 1e-30  # absolute error, as a share of the peak; an underflow is far below it
    log_peak: float = -np.inf  # of w |rho(w)|
    largest: tuple[FloatArray, FloatArray] = (np.zeros(1), np.zeros(1))  # log w, log |rho| near it
    total: float = 0.0
    origin_exponent: float = 0.0
    bulk: tuple[float, float] = (1.0, 1.0)
    decay: float = np.inf
    breaks: tuple[tuple[float, float], ...] = ()
    has_one_sign: bool = False
    knots: tuple[float, ...] = ()

    def evaluate(self, w: FloatArray) -> Evaluation:
        log_factor, power, unit = self.convention
        t, inside = np.log(w), np.clip(w, *self.range)
        beyond = w != inside
        with np.errstate(all="ignore"):
            values = np.broadcast_to(real_array(self.function(unit * inside), "S"), w.shape)
            sign, log = (1.0, values) if self.is_log else (np.sign(values), np.log(np.abs(values)))
            log = log + log_factor + power * np.log(inside)
            slope = np.where(w < inside, *self.slopes)
            steps = np.where(np.isinf(slope), -np.inf, slope * (t - np.log(inside)))
            log[beyond] += steps[beyond]
            floor = np.log(self.floor) + self.log_peak - t
            floor = np.where(np.isneginf(log) & beyond, -np.inf, floor)
            size = np.maximum(log, floor)
            scale = np.where(np.isneginf(size), 0.0, size)
            share = np.exp(log - scale)
            distance = np.abs(np.where(share > 0.0, log + t - self.log_peak, 0.0))
            nearby = np.exp(np.minimum(np.interp(t, *self.largest) - scale, 99.0))
            error = np.exp(floor - scale) + _ROUNDING_OF_LOG * distance * share
            error += _ROUNDING * np.where(beyond, share, nearby)
        return np.broadcast_to(sign, t.shape), log, size, np.minimum(error, 1.0)
