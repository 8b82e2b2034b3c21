"""How frequencies are drawn from a table: the coupling, and their number for each part.

A table is that of a radial or shifted kernel, of groups of columns (:mod:`rf.schemes.grouped`) or
of the l1 distance (:mod:`rf.schemes.l1`).  :func:`scheme_for` chooses the coupling and the numbers
by the exact variance (:mod:`rf.variance`) over the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from numpy.polynomial.chebyshev import chebinterpolate, chebval

from rf.inputs.rows import graded_distances, sample_of_rows, typical_differences, typical_distances
from rf.sampling.frequencies import (
    COUPLINGS,
    Allocation,
    FeatureMap,
    FourierMap,
    Frequencies,
    Radii,
    draw_frequencies,
    pooled_frequencies,
)
from rf.schemes.scheme import Scheme
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from rf.inputs.tables import Layout
    from rf.variance.allocation import CouplingScore
    from rf.variance.variance import PartModel

__all__ = [
    "PAIRS_FOR_COUPLING",
    "PAIRS_FOR_ERROR",
    "PAIRS_FOR_NORM",
    "SamplingOptions",
    "TableScheme",
    "model_at",
    "relative_error",
    "scheme_for",
]

# Random pairs of rows whose differences stand for all pairs: to choose a coupling, and to state the
# error, which is then known to about five percent.
PAIRS_FOR_COUPLING = 48
PAIRS_FOR_ERROR = 384
# The same for the norm of the kernel matrix, which a few near pairs may dominate.
PAIRS_FOR_NORM = 4096
# Schemes, and models of their variance, kept in memory: several seeds and a grid search over the
# number of columns fit the same kernel to the same rows.
_RECENT = 16
# Degrees of the polynomial that interpolates a variance in the distance, and the largest size of
# its last coefficients, relative to the largest coefficient.
_DEGREES, _RESOLVED = (128, 256), 1e-5
# With more parts of groups of columns than this, "auto" is "orthogonal" without a comparison, which
# costs integrals for each part: its variance is always close to the least.
_COMPARED_PARTS = 12
# Methods whose variance is a function of distances alone.
_OF_DISTANCES = ("radial", "shifted")


@dataclass(frozen=True)
class SamplingOptions:
    """How frequencies are to be drawn, from the parameters of an estimator.

    ``coupling``, ``radii``, ``allocation``: as in :class:`rf.SpectralFeatures`; ``counts``:
    frequencies of each part, if a design prescribes them; ``rows``: a copy of a sample of the
    rows, which ``digest`` identifies; ``n_rows``: number of rows.
    """

    coupling: str
    radii: Radii
    allocation: Allocation
    counts: tuple[int, ...] | None = None
    rows: Any = field(default=None, compare=False)
    digest: str = ""
    n_rows: int = 1

    def with_layout(self, layout: Layout, n_components: int) -> SamplingOptions:
        """These options with the coupling and the counts for which a design was made."""
        if self.coupling not in ("auto", layout.coupling):
            raise ParameterError(
                f"The design was made for coupling={layout.coupling!r}, the only one with which "
                f"its masses cancel, and coupling={self.coupling!r} was asked for. Take "
                f"coupling='auto' or {layout.coupling!r}."
            )
        if n_components < layout.columns:
            raise ParameterError(
                f"The design fills {layout.columns} columns, and n_components is {n_components}. "
                "Ask for as many, or design for fewer (budget=)."
            )
        return replace(self, coupling=layout.coupling, counts=layout.counts)


@dataclass(frozen=True, eq=False)
class TableScheme(Scheme):
    """Frequencies of the parts of a table: a coupling, and how many of each part.

    The frequencies of a shifted part have its radial distribution, and weights of their own.  If
    all parts have one shift r the weights are constant, and everything is that of the radial
    kernel k of K(D) = k(D + r).

    ``table``, ``coupling``, ``counts``, ``compared``: as in :class:`Scheme`; ``rows``: a sample of
    the rows, which represents all; ``n_rows``: number of rows; ``pooled``: whether each frequency
    belongs to a part that is drawn by mass, because there are more parts than frequencies;
    ``counts`` is then the number of frequencies alone; ``note``: where the table comes from;
    ``kernel``: the kernel, if the table only approximates it on a range of distances.
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

    @property
    def method(self) -> str:
        """ "radial", "grouped", "l1"; "shifted" if K(D) = k(D + r), else "weighted"."""
        kind: str = self.table.kind
        return "weighted" if kind == "shifted" and self.table.one_shift() is None else kind

    @property
    def bias(self) -> float:
        """Bound of the difference between the kernel and the mean of the estimate."""
        return float(self.table.bias)

    def frequencies(self, rng: np.random.Generator) -> Frequencies:
        """Draw the frequencies."""
        table = self.table
        how: dict[str, Any] = {"coupling": self.coupling, "radii": self.radii}
        if self.pooled:
            return pooled_frequencies(table, sum(self.counts), rng)
        if table.kind == "grouped":
            from rf.schemes.grouped import draw_grouped

            return draw_grouped(table, self.counts, rng=rng, **how)
        if table.kind == "l1":
            from rf.schemes.l1 import draw_l1

            return draw_l1(table, self.counts, rng)
        return draw_frequencies(table, self.counts, random_state=rng, **how)

    def draw(self, n_columns: int, rng: np.random.Generator) -> FeatureMap:
        drawn = self.frequencies(rng)
        # The signs of symmetric parts are in the signature, others in the left columns.
        signed = self.table.kind != "shifted"
        return FourierMap.of(drawn, min(n_columns, 2 * len(drawn)), rng, signed=signed)

    def model(self, points: FloatArray, *, approximate: bool = False) -> PartModel:
        """The variance at distances or differences, as a function of the frequencies of parts."""
        return model_at(self.table, points, approximate=approximate)

    def variance(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not self.table.is_radial:
            return self.variance_of(self.model(self._checked(points)))
        value, error = _interpolate(lambda z: self.variance_of(self.model(z)), points.ravel())
        return value.reshape(points.shape), error.reshape(points.shape)

    def variance_of(self, model: PartModel) -> tuple[FloatArray, FloatArray]:
        """The variance at the points of a model."""
        if self.pooled:
            value = model.pooled_variance(sum(self.counts))
            return value, np.zeros_like(value)
        return model.variance(self.counts, coupling=self.coupling, radii=self.radii)

    def _checked(self, points: FloatArray) -> FloatArray:
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

    def typical_model(self, pairs: int) -> PartModel:
        """The approximate variance at a sample of pairs of rows that represents all pairs."""
        if self.method not in _OF_DISTANCES:
            return self.model(typical_differences(self.rows, pairs), approximate=True)
        radial, shift = self.table.one_shift()  # quantiles of |D|, or of |D + r|
        return _cached_model(radial, typical_distances(self.rows, shift).tobytes())

    @cached_property
    def _mean_square_kernel(self) -> float:
        """Mean of the squared kernel of the table over pairs of different rows."""
        if self.method not in _OF_DISTANCES:
            differences = typical_differences(self.rows, PAIRS_FOR_NORM)
            return float(np.mean(model_at(self.table, differences, approximate=True).kernel ** 2))
        radial, shift = self.table.one_shift()
        z, shares = graded_distances(self.rows, shift)
        return float(shares @ model_at(radial, z, approximate=True).kernel ** 2)

    def expected_error(self, extra_variance: float = 0.0) -> float:
        if self.rows is None:
            return float("nan")
        typical = self.typical_model(PAIRS_FOR_ERROR)
        square = self.variance_of(typical)[0] + self._square_bias(typical) + extra_variance
        at_zero = self.model(np.zeros((1, self.table.dim)), approximate=True)
        own = float(np.max(self._square_bias(at_zero))) + extra_variance
        # At D = 0 the estimate of a symmetric kernel does not vary.
        if self.pooled or self.table.kind == "shifted":
            own += float(self.variance_of(at_zero)[0][0])
        diagonal = own, float(self.table.k_zero)
        return relative_error(square, self._mean_square_kernel, diagonal, self.n_rows)

    def _square_bias(self, model: PartModel) -> FloatArray | float:
        """Squared bias, or a bound of it, at the points of a model."""
        if self.kernel is None or not isinstance(z := getattr(model, "z", None), np.ndarray):
            return self.bias**2
        return np.asarray((self.kernel(z) - self.table.expected_kernel(z)) ** 2)

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

    ``square_error``: expected squared errors at a sample of pairs of different rows;
    ``mean_square``: mean of the squared kernel over such pairs; ``diagonal``: squared error and
    kernel of a row with itself; these pairs are 1/n_rows of all.
    """
    share = 1.0 / n_rows
    error = (1.0 - share) * float(np.mean(square_error)) + share * diagonal[0]
    size = (1.0 - share) * mean_square + share * diagonal[1] ** 2
    # A variance that is zero up to rounding can come out below it.
    return float(np.sqrt(max(error, 0.0) / size)) if size > 0.0 else float("nan")


def _interpolate(
    variance: Callable[[FloatArray], tuple[FloatArray, FloatArray]], z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Interpolate a variance at many distances by a polynomial in z^(1/4), in which it is smooth.

    If no degree is accurate enough, it is computed at each distance.
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


def scheme_for(
    table: SpectralTable, n: int, options: SamplingOptions, X: Any = None
) -> TableScheme:
    """The scheme of least predicted variance over the rows X, within the options.

    If there are more parts than frequencies, these are independent, each of a part that is drawn
    by mass; couplings other than "iid" are refused.  Recent schemes are kept in memory.

    ``n``: frequencies in all; ``X`` (n_samples, d): without rows "auto" is "orthogonal" (for the l1
    distance "iid"), and allocation "optimal" is not possible.
    """
    if X is None:
        return _choose_scheme(table, n, options)
    rows = sample_of_rows(X).copy()
    options = replace(options, rows=rows, digest=joblib.hash(rows), n_rows=X.shape[0])
    return _choose_scheme(table, n, options)


@lru_cache(maxsize=_RECENT)
def _choose_scheme(table: Any, n: int, options: SamplingOptions) -> TableScheme:
    rows, coupling, parts = options.rows, options.coupling, len(table.parts)
    scheme = TableScheme(table, radii=options.radii, rows=rows, n_rows=options.n_rows)
    if options.counts is not None:
        return replace(scheme, coupling=coupling, counts=options.counts)
    offered = _offered_couplings(scheme, n, coupling)
    if parts > n:
        if coupling not in ("auto", "iid") and n > 1:
            raise ParameterError(
                f"coupling={coupling!r} needs a frequency for each of the {parts} parts of "
                f"{table.formula}, and there are {n}. Ask for n_components >= {2 * parts}, or "
                "take GRFF, or SpectralFeatures with coupling='auto' or 'iid', which draw the part "
                "of each frequency."
            )
        # For a single frequency all couplings are the same.
        coupling = "iid" if coupling == "auto" else coupling
        return replace(scheme, coupling=coupling, counts=(n,), pooled=True)
    if len(offered) == parts == 1:
        return replace(scheme, coupling=offered[0], counts=(n,))
    from rf.variance.allocation import ranked_couplings, split

    if len(offered) > 1 or options.allocation == "optimal":
        model = scheme.typical_model(PAIRS_FOR_COUPLING)
    else:
        model = scheme.model(np.zeros((0, table.dim)))
    if len(offered) == 1:
        counts = split(model, n, allocation=options.allocation, coupling=offered[0])
        return replace(scheme, coupling=offered[0], counts=counts)
    scores = ranked_couplings(model, n, offered, options.radii, options.allocation)
    return replace(scheme, coupling=scores[0].coupling, counts=scores[0].counts, compared=scores)


def _offered_couplings(scheme: TableScheme, n: int, coupling: str) -> tuple[str, ...]:
    """The couplings to compare for n frequencies; ParameterError if ``coupling`` is impossible."""
    method, parts = scheme.method, len(scheme.table.parts)
    across = method in _OF_DISTANCES
    if coupling == "auto":
        if method == "l1":
            return ("iid",)
        if scheme.rows is None or (method == "grouped" and parts > _COMPARED_PARTS):
            return ("orthogonal",)
        from rf.variance.allocation import candidates

        return candidates(parts if across else 1, n)
    within = [name for name, c in COUPLINGS.items() if across or not c.across_parts]
    allowed = ["iid"] if method == "l1" else within
    if coupling not in allowed:
        what = {
            "weighted": "a sum of several shifted kernels",
            "grouped": "a kernel of groups of columns",
            "l1": "a kernel of the l1 distance, whose frequencies are drawn independently",
        }
        raise ParameterError(
            f"coupling={coupling!r} was asked for {scheme.table.formula}, {what[method]}. It takes "
            f"couplings within each part: {', '.join(allowed)}, or 'auto'."
        )
    return (coupling,)


def model_at(table: SpectralTable, points: FloatArray, *, approximate: bool = False) -> PartModel:
    """The variance model at distances, or at differences of shape (n, d)."""
    if table.kind == "grouped":
        from rf.schemes.grouped import GroupedModel

        return GroupedModel(table, points, approximate)
    if table.kind == "l1":
        from rf.schemes.l1 import L1Model

        return L1Model(table, points, approximate)
    from rf.variance.variance import VarianceModel

    single = table.one_shift()
    if single is None:
        return VarianceModel(table, points, approximate)
    radial, shift = single
    z = np.linalg.norm(points + shift, axis=1) if points.ndim == 2 else points
    return VarianceModel(radial, z, approximate)


@lru_cache(maxsize=_RECENT)
def _cached_model(table: SpectralTable, distances: bytes) -> PartModel:
    """The approximate model, cached with its integrals for other fits on the same rows."""
    return model_at(table, np.frombuffer(distances), approximate=True)
