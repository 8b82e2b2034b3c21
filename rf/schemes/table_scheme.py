"""Draw frequencies from a table: choose the coupling, and how many frequencies of each part.

:func:`scheme_for` minimises the predicted variance (:mod:`rf.variance`), averaged over pairs of
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from numpy.typing import ArrayLike

from rf.feature_maps.feature_map import FeatureMap, FourierMap, Frequencies
from rf.inputs.rows import graded_distances, sample_of_rows, typical_differences, typical_distances
from rf.sampling.frequencies import (
    COUPLINGS,
    Allocation,
    Radii,
    draw_frequencies,
    pooled_frequencies,
)
from rf.schemes.scheme import Scheme
from spectra.base.arrays import FloatArray
from spectra.base.fitting import fit
from spectra.base.piecewise import Chart
from spectra.errors import ParameterError
from spectra.table import Points, SpectralTable

if TYPE_CHECKING:
    from rf.inputs.tables import DesignCounts
    from rf.variance.allocation import CouplingScore
    from rf.variance.variance import BaseVarianceModel

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

# Random pairs of rows that represent all pairs, if the variance depends on more than a distance: to
# choose a coupling, and to estimate the error to about five percent.
PAIRS_FOR_COUPLING = 48
PAIRS_FOR_ERROR = 384
# The same for the norm of the kernel matrix, which a few close pairs may dominate.
PAIRS_FOR_NORM = 4096
# Schemes and variance models kept in memory: a grid search fits the same kernel to the same rows.
_CACHE_SIZE = 16
# From so many distances on, a variance is interpolated; last coefficients, relative to its values.
_MANY, _RESOLVED = 256, 1e-5
# A comparison of couplings computes integrals for each part.  For more parts of a grouped kernel,
# "auto" is "orthogonal", whose variance is always close to the least.
_MOST_COMPARED_PARTS = 12


@dataclass(frozen=True)
class SamplingOptions:
    """The parameters of an estimator that determine how frequencies are drawn.

    ``coupling``, ``radii``, ``allocation``: as in :class:`rf.SpectralFeatures`; ``counts``:
    frequencies of each part, if a design prescribes them; ``rows``: a copy of a sample of the
    rows, and ``digest``, its hash; ``n_rows``: number of all rows.
    """

    coupling: str
    radii: Radii
    allocation: Allocation
    counts: tuple[int, ...] | None = None
    rows: Any = field(default=None, compare=False)
    digest: str = ""
    n_rows: int = 1

    def with_design(self, design: DesignCounts, n_components: int) -> SamplingOptions:
        """The same options with the coupling and the counts of a designed measure."""
        if self.coupling not in ("auto", design.coupling):
            raise ParameterError(
                f"coupling={self.coupling!r} does not fit the design: errors from its large masses "
                f"cancel only for coupling={design.coupling!r}. Take that, or coupling='auto'."
            )
        if n_components < design.columns:
            raise ParameterError(
                f"The design fills {design.columns} columns, and n_components is {n_components}. "
                "Ask for as many, or design for fewer (n_components=)."
            )
        # The directions of a single radius can be any; those of several have to be as assumed.
        is_free = sum(n > 1 for n in design.counts) == 1 and design.coupling != "iid"
        coupling = self.coupling if is_free else design.coupling
        return replace(self, coupling=coupling, counts=design.counts)


@dataclass(frozen=True, eq=False)
class TableScheme(Scheme):
    """Draw frequencies from the parts of a table.

    The frequencies of a shifted part have its radial distribution, and weights that depend on the
    frequency.  If all parts have one shift r, the weights are constant, and the variance of
    K(D) = k(D + r) is that of the radial kernel k at |D + r|.

    ``table``, ``coupling``, ``counts``, ``compared``: as in :class:`Scheme`; ``radii``: "iid" or
    "stratified"; ``rows``: a sample that represents all ``n_rows`` rows; ``pooled``: True if there
    are more parts than frequencies: each frequency is drawn from a random part, and ``counts``
    is (n,); ``note``: where the table comes from; ``kernel``: the kernel, if the table
    approximates it on a range of distances.
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
        """ "radial", "grouped", "l1"; "shifted" for one shift, "weighted" for several."""
        kind: str = self.table.kind
        return "weighted" if kind == "shifted" and self.table.one_shift() is None else kind

    @property
    def is_unbiased(self) -> bool:
        return self.bias == 0.0 and not np.isfinite(self.table.domain)

    @property
    def bias(self) -> float:
        """Bound of the difference between the kernel and the mean of the estimate."""
        return float(self.table.bias)

    def frequencies(self, rng: np.random.Generator) -> Frequencies:
        if self.pooled:
            return pooled_frequencies(self.table, sum(self.counts), rng)
        options: Any = {"coupling": self.coupling, "radii": self.radii}
        return draw_frequencies(self.table, self.counts, random_state=rng, **options)

    def draw(self, n_columns: int, rng: np.random.Generator) -> FeatureMap:
        drawn = self.frequencies(rng)
        # A symmetric kernel has the signs in the signature, a shifted one in the left columns.
        signed = self.table.is_symmetric
        return FourierMap.of(drawn, min(n_columns, 2 * len(drawn)), rng, signed=signed)

    def model(self, points: ArrayLike | Points, *, approximate: bool = False) -> BaseVarianceModel:
        """The variance model of the table at points as :meth:`SpectralTable.points` takes them."""
        return model_at(self.table, points, approximate=approximate)

    def variance(self, points: ArrayLike | Points) -> tuple[FloatArray, FloatArray]:
        asked: Points = self.table.points(points).checked()
        value, error = _interpolate(lambda at: self.variance_of(self.model(at)), asked.flat)
        return value.reshape(asked.shape), error.reshape(asked.shape)

    def variance_of(self, model: BaseVarianceModel) -> tuple[FloatArray, FloatArray]:
        """The variance at the points of a model, and a bound of its numerical error."""
        if self.pooled:
            value = model.pooled_variance(sum(self.counts))
            return value, np.zeros_like(value)
        return model.variance(self.counts, coupling=self.coupling, radii=self.radii)

    def typical_model(self, pairs: int) -> BaseVarianceModel:
        """Approximate variance model at typical distances, or at ``pairs`` random pairs of rows."""
        radial = self._radial
        if radial is None:
            return self.model(Points(typical_differences(self.rows, pairs), 1), approximate=True)
        table, shift = radial
        return _cached_model(table, typical_distances(self.rows, shift).tobytes())

    @cached_property
    def _radial(self) -> tuple[SpectralTable, FloatArray] | None:
        """The table of a radial k and the shift r, if the kernel is k(|D + r|); else None."""
        single = self.table.one_shift()
        return single if single is not None and single[0].is_radial else None

    @cached_property
    def _mean_square_kernel(self) -> float:
        """Mean of the squared kernel of the table over pairs of different rows."""
        if self._radial is None:
            D = Points(typical_differences(self.rows, PAIRS_FOR_NORM), 1)
            return float(np.mean(model_at(self.table, D, approximate=True).kernel ** 2))
        radial, shift = self._radial
        z, shares = graded_distances(self.rows, shift)
        return float(shares @ model_at(radial, z, approximate=True).kernel ** 2)

    def expected_error(self, extra_variance: float = 0.0) -> float:
        if self.rows is None:
            return float("nan")
        typical = self.typical_model(PAIRS_FOR_ERROR)
        square = self.variance_of(typical)[0] + self._square_bias(typical) + extra_variance
        at_zero = self.model(Points(np.zeros((1, self.table.dim)), 1), approximate=True)
        square_at_zero = float(np.max(self._square_bias(at_zero))) + extra_variance
        # At D = 0 the estimate of a symmetric kernel is constant: the sum of its weights.
        if self.pooled or not self.table.is_symmetric:
            square_at_zero += float(self.variance_of(at_zero)[0][0])
        diagonal = square_at_zero, float(self.table.k_zero)
        return relative_error(square, self._mean_square_kernel, diagonal, self.n_rows)

    def _square_bias(self, model: BaseVarianceModel) -> FloatArray | float:
        """Squared bias at the points of a model, or a bound if the kernel is not known."""
        if self.kernel is None:
            return self.bias**2
        points = model.points
        return np.asarray((self.kernel(points.values) - self.table.expected_kernel(points)) ** 2)

    def explain(self) -> str:
        masses = ", ".join(f"{float(p.mass):.4g}" for p in self.table.parts)
        text = (
            f"Drawn from the table of the measure ({self.method}) with coupling {self.coupling!r}: "
            f"{self.counts} frequencies for parts of mass {masses}."
        )
        text = f"{self.note}\n{text}" if self.note else text
        if self.compared:
            # Rounding errors can make a variance of 0 negative.
            errors = (
                f"{s.coupling} {s.counts} {max(s.variance, 0.0) ** 0.5:.3g}" for s in self.compared
            )
            text += "\nPredicted root mean square error: " + ", ".join(errors) + "."
        return text


def relative_error(
    square_error: FloatArray, mean_square: float, diagonal: tuple[float, float], n_rows: int
) -> float:
    """Root of: the expected squared Frobenius error of a kernel matrix, over its squared norm.

    ``square_error``: expected squared errors at a sample of pairs of different rows;
    ``mean_square``: mean of the squared kernel over such pairs; ``diagonal``: squared error, and
    kernel, at D = 0, for the 1/n_rows of all pairs that are on the diagonal.
    """
    error_at_zero, kernel_at_zero = diagonal
    share = 1.0 / n_rows
    error = (1.0 - share) * float(np.mean(square_error)) + share * error_at_zero
    norm = (1.0 - share) * mean_square + share * kernel_at_zero**2
    # Rounding errors can make a variance of 0 negative.
    return float(np.sqrt(max(error, 0.0) / norm)) if norm > 0.0 else float("nan")


def _interpolate(
    variance: Callable[[Points], tuple[FloatArray, FloatArray]], points: Points
) -> tuple[FloatArray, FloatArray]:
    """A variance at many distances z, by polynomials in z^(1/4) if these are accurate enough."""
    z = points.values
    largest = float(z.max(initial=0.0))
    if points.axes or z.size < _MANY or not (np.all(z >= 0.0) and 0.0 < largest < np.inf):
        return variance(points)

    def sample(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        value, error = variance(Points(t.ravel() ** 4, 0))
        return value.reshape(t.shape), error.reshape(t.shape), np.zeros(len(t))

    ends = np.linspace(0.0, largest**0.25, 5)
    panels = fit(sample, ends, Chart(root=4), tolerance=_RESOLVED, bisections=3, keep=True)
    error = float(panels.series_errors.max())
    if error > 1e-3 * float(np.abs(panels.series).max()):
        return variance(points)
    return np.maximum(panels(z), 0.0), np.full(z.shape, error)


def scheme_for(
    table: SpectralTable, n: int, options: SamplingOptions, X: Any = None
) -> TableScheme:
    """Of the schemes that the options allow, that of least predicted variance over the rows X.

    If there are more parts than frequencies, the frequencies are independent, each from a random
    part.  This needs the coupling "auto" or "iid".  Recent schemes are kept in memory.

    ``n``: number of frequencies; ``X`` (n_samples, d): without rows, "auto" is "orthogonal" ("iid"
    for the l1 distance), and allocation "optimal" is not possible.
    """
    if X is None:
        return _choose_scheme(table, n, options)
    rows = sample_of_rows(X).copy()
    options = replace(options, rows=rows, digest=joblib.hash(rows), n_rows=X.shape[0])
    return _choose_scheme(table, n, options)


@lru_cache(maxsize=_CACHE_SIZE)
def _choose_scheme(table: Any, n: int, options: SamplingOptions) -> TableScheme:
    rows, coupling, parts = options.rows, options.coupling, len(table.parts)
    radii: Radii = options.radii if _is_coupled(table) else "iid"
    scheme = TableScheme(table, radii=radii, rows=rows, n_rows=options.n_rows)
    if options.counts is not None:
        if coupling == "auto":
            coupling = _best_directions(scheme, options.counts)
        return replace(scheme, coupling=coupling, counts=options.counts)
    couplings = _allowed_couplings(scheme, n, coupling)
    if parts > n:
        if coupling not in ("auto", "iid") and n > 1:
            raise ParameterError(
                f"coupling={coupling!r} needs a frequency for each of the {parts} parts of "
                f"{table.formula}, and there are {n}. Ask for n_components >= {2 * parts}, or "
                "take coupling='auto' or 'iid', which draw the part of each frequency at random."
            )
        # For a single frequency all couplings are the same.
        coupling = "iid" if coupling == "auto" else coupling
        return replace(scheme, coupling=coupling, counts=(n,), pooled=True)
    if len(couplings) == parts == 1:
        return replace(scheme, coupling=couplings[0], counts=(n,))
    from rf.variance.allocation import ranked_couplings, split

    model: Any
    if len(couplings) > 1 or options.allocation == "optimal":
        model = scheme.typical_model(PAIRS_FOR_COUPLING)
    else:
        model = scheme.model(Points(np.zeros((0, table.dim)), 1))  # the masses suffice
    if len(couplings) == 1:
        counts = split(model, n, allocation=options.allocation, coupling=couplings[0])
        return replace(scheme, coupling=couplings[0], counts=counts)
    scores = ranked_couplings(model, n, couplings, radii, options.allocation)
    return replace(scheme, coupling=scores[0].coupling, counts=scores[0].counts, compared=scores)


def _best_directions(scheme: TableScheme, counts: tuple[int, ...]) -> str:
    """The coupling of least variance for one radius with these counts."""
    if scheme.rows is None:
        return "orthogonal"
    from rf.variance.allocation import auto_couplings

    typical: Any = scheme.typical_model(PAIRS_FOR_COUPLING)
    model = typical.approximation
    names = [
        name
        for name in auto_couplings(1, max(counts))
        if COUPLINGS[name].is_worthwhile(max(counts), model.coupled_dim)
    ]
    values = {n: model.mean_variance(counts, coupling=n, radii=scheme.radii) for n in names}
    return min(values, key=lambda name: values[name], default="orthogonal")


def _allowed_couplings(scheme: TableScheme, n: int, coupling: str) -> tuple[str, ...]:
    """The couplings to compare for n frequencies; ParameterError if ``coupling`` is impossible."""
    table, parts = scheme.table, len(scheme.table.parts)
    single = table.one_shift()
    can_couple_parts = single is not None and single[0].joint_columns is not None
    is_coupled = _is_coupled(table)
    allowed = [name for name, c in COUPLINGS.items() if can_couple_parts or not c.across_parts]
    allowed = allowed if is_coupled else ["iid"]
    if coupling == "auto":
        compares = can_couple_parts or single is None or parts <= _MOST_COMPARED_PARTS
        if scheme.rows is None or not is_coupled or not compares:
            return (allowed[0],)
        from rf.variance.allocation import auto_couplings

        return auto_couplings(parts if can_couple_parts else 1, n)
    if coupling not in allowed:
        raise ParameterError(
            f"coupling={coupling!r} was asked for {table.formula}, whose parts are not drawn "
            f"together ({scheme.method}). It takes couplings within each part: "
            f"{', '.join(allowed)}, or 'auto'."
        )
    return (coupling,)


def _is_coupled(table: SpectralTable) -> bool:
    """Whether couplings can lessen the variance, and it is known.

    It is not for several shifts of a product, nor if no group has directions that can be drawn.
    """
    is_product = any(len(p.groups) > 1 and p.shifts for p in table.parts)
    if is_product and table.one_shift() is None:
        return False
    return not table.parts or any(g.is_coupled for p in table.parts for g in p.groups)


def model_at(
    table: SpectralTable, points: ArrayLike | Points, *, approximate: bool = False
) -> BaseVarianceModel:
    """The variance model at points; of k(D + r) with one shift r, that of k at D + r."""
    from rf.variance.variance import VarianceModel

    even, shift = table.one_shift() or (table, np.zeros(table.dim))
    return VarianceModel(even, table.points(points).shifted(shift), approximate)


@lru_cache(maxsize=_CACHE_SIZE)
def _cached_model(table: SpectralTable, distances: bytes) -> BaseVarianceModel:
    """The approximate model, cached with its integrals for other fits on the same rows."""
    return model_at(table, np.frombuffer(distances), approximate=True)
