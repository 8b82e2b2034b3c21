"""How features are sampled, and what is known of their error before anything is drawn.

A scheme leads from the table of a kernel to a feature map.  There is one implementation for each
kind of table: :mod:`rf.schemes.choice` (radial and shifted kernels), :mod:`rf.schemes.grouped`,
:mod:`rf.schemes.l1` and :mod:`rf.schemes.complex`.  :func:`rf.schemes.choice.scheme_for` chooses
the coupling and the number of frequencies of each part.  Features without a table, designed for
the data, have schemes as well (:mod:`rf.dot_product`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.polynomial.chebyshev import chebinterpolate, chebval

from rf.inputs.rows import graded_distances, typical_differences, typical_distances
from rf.sampling.frequencies import (
    COUPLINGS,
    Frequencies,
    Radii,
    draw_frequencies,
    pooled_frequencies,
)
from rf.schemes.feature_map import FeatureMap, FourierMap
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from rf.variance.allocation import CouplingScore
    from rf.variance.variance import PartModel, VarianceModel

__all__ = [
    "RANKED_PAIRS",
    "SIZED_PAIRS",
    "STATED_PAIRS",
    "DesignedScheme",
    "RadialScheme",
    "Scheme",
    "TableScheme",
    "check_within",
    "model_at",
    "relative_error",
]

# Random pairs of rows whose differences stand for all pairs: to choose a coupling, and to state the
# error, which is then known to about five percent.
RANKED_PAIRS = 48
STATED_PAIRS = 384
# The same for the mean square of the kernel, which a few near pairs may dominate.
SIZED_PAIRS = 4096
# Models of the variance kept in memory: a grid search over the number of columns fits the same
# kernel to the same rows.
_RECENT = 16
# Degrees of a polynomial for variances at many distances, and what its last coefficients may be,
# relative to the largest variance.
_DEGREES, _RESOLVED = (128, 256), 1e-5


class Scheme(ABC):
    """How features are sampled.

    ``table``: the distributions that frequencies are drawn from; ``method``: "radial", "shifted" or
    "weighted"; "jordan" or "polar"; "grouped"; "l1"; or the name of a method of
    :mod:`rf.dot_product`; ``coupling``: none if there are no frequencies; ``counts``: frequencies
    of each part of the table; ``compared``: what was compared, best first.
    """

    table: Any
    coupling: Any
    counts: tuple[int, ...]
    compared: Any

    @property
    @abstractmethod
    def method(self) -> str:
        """How the features are made."""

    @abstractmethod
    def draw(self, n_columns: int, rng: np.random.Generator) -> FeatureMap:
        """Draw the features: at most ``n_columns`` columns."""

    @abstractmethod
    def variance(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Exact variance of the estimate at distances, or at differences of shape (n, d).

        Returns ``value``, ``error``: the error is a bound of the numerical error of the value.
        """

    @abstractmethod
    def expected_error(self, extra_variance: float = 0.0) -> float:
        """Expected relative error of the kernel matrix of the rows; nan if it is not known."""

    @abstractmethod
    def explain(self) -> str:
        """What was chosen and why, in plain text."""

    def radial_table(self, what: str) -> SpectralTable:
        """The radial table for which ``what`` is known."""
        table: SpectralTable | None = self.table
        if table is not None and table.is_radial:
            return table
        raise ParameterError(
            f"{what} is known for radial kernels that are drawn from a table, and these features "
            f"were made by the method {self.method!r}. Compare variance(...), if it is known, with "
            "eps**2."
        )


class DesignedScheme(Scheme):
    """Features that come from no table: their error is known on the data alone."""

    table = None
    coupling = None
    counts = ()
    compared: Any = ()

    def variance(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        raise ParameterError(
            "The variance at a distance is known for features that are drawn from a table, and "
            f"these were designed for the data ({self.method}). Their expected error on the data "
            "is expected_error_, and explain() shows how they were chosen."
        )


@dataclass(frozen=True, eq=False)
class TableScheme(Scheme):
    """Frequencies of the parts of a table: a coupling, and how many of each part.

    ``table``, ``coupling``, ``counts``, ``compared``: as in :class:`Scheme`; ``rows``: a sample of
    the rows, which stands for all; ``n_rows``: number of rows; ``pooled``: whether each frequency
    belongs to a part that is drawn by mass, because there are more parts than frequencies;
    ``counts`` is then the number of frequencies alone; ``note``: where the table comes from, and
    ``kernel``: what it approximates, if it is not the table of the kernel.
    """

    table: Any
    counts: tuple[int, ...] = ()
    coupling: str = "iid"
    radii: Radii = "iid"
    rows: Any = None
    n_rows: int = 1
    compared: tuple[CouplingScore, ...] = ()
    pooled: bool = False
    note: str = ""
    kernel: Any = None

    # --- what an implementation provides ----------------------------------------------------

    @abstractmethod
    def model(self, points: FloatArray, *, approximate: bool = False) -> PartModel:
        """The variance at points, as a function of the frequencies of each part."""

    @abstractmethod
    def _frequencies(self, rng: np.random.Generator) -> Frequencies:
        """Draw ``counts`` frequencies of the parts."""

    @property
    def default_coupling(self) -> str:
        """The coupling if "auto" has no rows to compare couplings on."""
        return "orthogonal"

    @property
    def is_signed(self) -> bool:
        """Whether the signs of parts are in the signature, not in the left columns."""
        return True

    @property
    def is_exact_at_zero(self) -> bool:
        """Whether K(x, x) is estimated without variance."""
        return not self.pooled

    def check_coupling(self, coupling: str) -> None:
        """Refuse a coupling that this kind of table does not have."""

    def offered(self, n: int) -> tuple[str, ...]:
        """The couplings that "auto" compares for n frequencies."""
        from rf.variance.allocation import candidates

        return candidates(1, n)

    # --- what all have ----------------------------------------------------------------------

    def frequencies(self, rng: np.random.Generator) -> Frequencies:
        """Draw the frequencies."""
        if self.pooled:
            return pooled_frequencies(self.table, sum(self.counts), rng)
        return self._frequencies(rng)

    def draw(self, n_columns: int, rng: np.random.Generator) -> FeatureMap:
        return self.map_of(self.frequencies(rng), n_columns, rng)

    def map_of(
        self, frequencies: Frequencies, n_columns: int, rng: np.random.Generator
    ) -> FeatureMap:
        """The columns of frequencies, two for each."""
        columns = min(n_columns, 2 * len(frequencies))
        return FourierMap.of(frequencies, columns, rng, signed=self.is_signed)

    def checked(self, points: FloatArray) -> FloatArray:
        """Differences D = x - y as an array of shape (n, d)."""
        D = np.atleast_2d(points)
        if not np.all(np.isfinite(D)):
            raise ParameterError(
                "The variance was asked for at a difference that is not finite: "
                f"{D[~np.isfinite(D)][0]}. A difference of two rows has finite coordinates."
            )
        if D.ndim != 2 or D.shape[1] != self.table.dim:
            raise ParameterError(
                f"The variance of {self.table.formula} was asked for at an array of shape "
                f"{points.shape}. It depends on the difference D = x - y and not on its length "
                f"alone: give an array of shape (n, {self.table.dim})."
            )
        return D

    def variance(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.variance_of(self.model(self.checked(points)))

    def variance_of(self, model: PartModel) -> tuple[FloatArray, FloatArray]:
        """The variance at the points of a model."""
        if self.pooled:
            value = model.pooled_variance(sum(self.counts))
            return value, np.zeros_like(value)
        return model.variance(self.counts, coupling=self.coupling, radii=self.radii)

    def typical_model(self, pairs: int) -> PartModel:
        """The approximate variance at random pairs of rows."""
        return self.model(typical_differences(self.rows, pairs), approximate=True)

    def mean_square_kernel(self) -> float:
        """Mean of the squared kernel of the table over pairs of different rows."""
        return float(np.mean(self.typical_model(SIZED_PAIRS).kernel ** 2))

    def expected_error(self, extra_variance: float = 0.0) -> float:
        if self.rows is None:
            return float("nan")
        typical = self.typical_model(STATED_PAIRS)
        square = self.variance_of(typical)[0] + self.square_bias(typical) + extra_variance
        alone = self.model(np.zeros((1, self.table.dim)), approximate=True)
        own = float(np.max(self.square_bias(alone))) + extra_variance
        if not self.is_exact_at_zero:
            own += float(self.variance_of(alone)[0][0])
        diagonal = own, float(self.table.k_zero)
        return relative_error(square, self.mean_square_kernel(), diagonal, self.n_rows)

    def square_bias(self, model: PartModel) -> FloatArray | float:
        """Squared difference of the kernel and the mean of the estimate, at most, at a model."""
        return self.bias**2

    @property
    def bias(self) -> float:
        """Bound of the difference between the kernel and the mean of the estimate."""
        return float(self.table.bias)

    def explain(self) -> str:
        masses = ", ".join(f"{float(p.mass):.4g}" for p in self.table.parts)
        how = (
            f"Drawn from the table of its measure ({self.method}) with coupling {self.coupling!r}: "
            f"{self.counts} frequencies for parts of mass {masses}."
        )
        how = f"{self.note}\n{how}" if self.note else how
        if self.compared:
            # A variance that is zero up to rounding can come out below it.
            compared = (
                f"{p.coupling} {p.counts} {max(p.variance, 0.0) ** 0.5:.3g}" for p in self.compared
            )
            how += "\nPredicted root mean square error: " + ", ".join(compared) + "."
        return how


def relative_error(
    square_error: FloatArray, mean_square: float, diagonal: tuple[float, float], n_rows: int
) -> float:
    """Root of the expected squared error of a matrix of n_rows over its squared norm.

    ``square_error``: expected squared errors at pairs that stand for all pairs of different rows;
    ``mean_square``: mean of the squared kernel over such pairs; ``diagonal``: squared error and
    kernel of a row with itself, which is one part in n_rows.
    """
    share = 1.0 / n_rows
    error = (1.0 - share) * float(np.mean(square_error)) + share * diagonal[0]
    size = (1.0 - share) * mean_square + share * diagonal[1] ** 2
    # A variance that is zero up to rounding can come out below it.
    return float(np.sqrt(max(error, 0.0) / size)) if size > 0.0 else float("nan")


def check_within(coupling: str, of: str) -> None:
    """Refuse a coupling across parts for what is drawn part by part."""
    allowed = [name for name, c in COUPLINGS.items() if not c.across_parts]
    if coupling not in allowed:
        raise ParameterError(
            f"coupling={coupling!r} was asked for {of}, which takes couplings within each part: "
            f"{', '.join(allowed)}, or 'auto'."
        )


@final
@dataclass(frozen=True, eq=False)
class RadialScheme(TableScheme):
    """Frequencies of a radial table, or of a table of shifted parts.

    The frequencies of a shifted part have its radial distribution, and weights of their own.  If
    all parts have one shift r the weights are constant, and everything is that of the radial
    kernel k of K(D) = k(D + r).
    """

    table: SpectralTable

    @property
    def method(self) -> str:
        """ "radial"; "shifted" if K(D) = k(D + r); else "weighted"."""
        if self.table.is_radial:
            return "radial"
        return "weighted" if self.table.one_shift() is None else "shifted"

    @property
    def is_signed(self) -> bool:
        return self.table.is_radial

    @property
    def is_exact_at_zero(self) -> bool:
        return self.table.is_radial and not self.pooled

    def check_coupling(self, coupling: str) -> None:
        if self.method == "weighted":
            check_within(coupling, f"{self.table.formula}, a sum of several shifted kernels")

    def offered(self, n: int) -> tuple[str, ...]:
        from rf.variance.allocation import candidates

        return candidates(1 if self.method == "weighted" else len(self.table.parts), n)

    def _frequencies(self, rng: np.random.Generator) -> Frequencies:
        return draw_frequencies(
            self.table, self.counts, coupling=self.coupling, radii=self.radii, random_state=rng
        )

    def checked(self, points: FloatArray) -> FloatArray:
        return points if self.table.is_radial else super().checked(points)

    def variance(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not self.table.is_radial:
            return super().variance(points)
        value, error = _interpolated(super().variance, points.ravel())
        return value.reshape(points.shape), error.reshape(points.shape)

    def model(self, points: FloatArray, *, approximate: bool = False) -> VarianceModel:
        """At distances, or at differences of shape (n, d) if parts are shifted."""
        if self.table.is_radial and points.ndim == 2:
            points = np.linalg.norm(points, axis=1)
        return model_at(self.table, points, approximate=approximate)

    def typical_model(self, pairs: int) -> PartModel:
        """At quantiles of |D|, or of |D + r| for one shift; else at random differences."""
        single = self.table.one_shift()
        if single is None:
            return super().typical_model(pairs)
        radial, shift = single
        return _model_at(radial, typical_distances(self.rows, shift).tobytes())

    def square_bias(self, model: PartModel) -> FloatArray | float:
        if self.kernel is None or not isinstance(z := getattr(model, "z", None), np.ndarray):
            return super().square_bias(model)
        return np.asarray((self.kernel(z) - self.table.expected_kernel(z)) ** 2)

    def mean_square_kernel(self) -> float:
        single = self.table.one_shift()
        if single is None:
            return super().mean_square_kernel()
        radial, shift = single
        z, shares = graded_distances(self.rows, shift)
        return float(shares @ model_at(radial, z, approximate=True).kernel ** 2)


def _interpolated(
    variance: Callable[[FloatArray], tuple[FloatArray, FloatArray]], z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The variance at many distances from a polynomial in z^(1/4), in which tails are smooth.

    If no degree resolves it, it is computed at each distance.
    """
    top, errors = float(z.max(initial=0.0)), [0.0]

    def at_place(y: FloatArray) -> FloatArray:
        value, error = variance(top * (0.5 + 0.5 * y) ** 4)
        errors.append(float(error.max()))
        return value

    for degree in _DEGREES:
        if 2 * degree > z.size or not (np.all(z >= 0.0) and 0.0 < top < np.inf):
            break
        series = chebinterpolate(at_place, degree)  # type: ignore[type-var]
        missing = float(np.abs(series[-4:]).sum())
        if missing <= _RESOLVED * float(np.abs(series).max()):
            found = chebval(2.0 * (z / top) ** 0.25 - 1.0, series)
            return np.maximum(found, 0.0), np.full(z.shape, max(errors) + missing)
    return variance(z)


def model_at(
    table: SpectralTable, points: FloatArray, *, approximate: bool = False
) -> VarianceModel:
    """The variance at distances, or at differences of shape (n, d) if parts are shifted."""
    from rf.variance.variance import VarianceModel

    if table.is_radial:
        return VarianceModel(table, points, approximate)
    single = table.one_shift()
    if single is None:
        from rf.variance.weighted_variance import WeightedModel

        return WeightedModel.of(table, points, approximate=approximate)
    radial, shift = single
    return VarianceModel(radial, np.linalg.norm(points + shift, axis=-1), approximate)


@lru_cache(maxsize=_RECENT)
def _model_at(table: SpectralTable, distances: bytes) -> VarianceModel:
    """The approximate model, whose integrals serve every fit on the same rows."""
    return model_at(table, np.frombuffer(distances), approximate=True)
