"""How features are sampled, and what is known of their error before anything is drawn.

A scheme leads from the table of a kernel to a feature map.  There is one implementation for each
kind of table: :mod:`rf.schemes.radial` (radial and shifted kernels), :mod:`rf.schemes.grouped`,
:mod:`rf.schemes.l1` and :mod:`rf.schemes.complex`.  :func:`rf.schemes.choice.scheme_for` chooses
the coupling and the number of frequencies of each part.  Features without a table, designed for
the data, have schemes as well (:mod:`rf.dot_product`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rf.inputs.rows import typical_differences
from rf.sampling.couplings import COUPLINGS
from rf.sampling.frequencies import Allocation, Frequencies, Radii, pooled_frequencies
from rf.schemes.feature_map import FeatureMap, FourierMap
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from rf.inputs.tables import Layout
    from rf.variance.coupling_score import CouplingScore
    from rf.variance.variance import PartModel

__all__ = [
    "RANKED_PAIRS",
    "SIZED_PAIRS",
    "STATED_PAIRS",
    "DesignedScheme",
    "SamplingOptions",
    "Scheme",
    "TableScheme",
    "check_within",
    "relative_error",
]

# Random pairs of rows whose differences stand for all pairs: to choose a coupling, and to state the
# error, which is then known to about five percent.
RANKED_PAIRS = 48
STATED_PAIRS = 384
# The same for the mean square of the kernel, which a few near pairs may dominate.
SIZED_PAIRS = 4096


@dataclass(frozen=True)
class SamplingOptions:
    """How frequencies are to be drawn, from the parameters of an estimator.

    ``coupling``, ``radii``, ``allocation``: as in :class:`rf.SpectralFeatures`; ``counts``:
    frequencies of each part, if the masses were made for them.
    """

    coupling: str
    radii: Radii
    allocation: Allocation
    counts: tuple[int, ...] | None = None

    def laid_out(self, layout: Layout, n_components: int) -> SamplingOptions:
        """These options with the coupling and the split of a design that was made for them."""
        if self.coupling not in ("auto", layout.coupling):
            raise ParameterError(
                f"The design was made for coupling={layout.coupling!r}, with which alone its "
                f"masses cancel, and coupling={self.coupling!r} was asked for. Take "
                f"coupling='auto' or {layout.coupling!r}."
            )
        if n_components < layout.columns:
            raise ParameterError(
                f"The design fills {layout.columns} columns, and n_components is {n_components}. "
                "Ask for as many, or design for fewer (budget=)."
            )
        return replace(self, coupling=layout.coupling, counts=layout.counts)


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
    ``counts`` is then the number of frequencies alone; ``note``: where the table comes from, if it
    is not that of the kernel.
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
        from rf.variance.coupling_score import candidates

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
        wrong, own = extra_variance + self.bias**2, 0.0
        if not self.is_exact_at_zero:
            alone = self.model(np.zeros((1, self.table.dim)), approximate=True)
            own = float(self.variance_of(alone)[0][0])
        square = self.variance_of(self.typical_model(STATED_PAIRS))[0] + wrong
        diagonal = own + wrong, float(self.table.k_zero)
        return relative_error(square, self.mean_square_kernel(), diagonal, self.n_rows)

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
