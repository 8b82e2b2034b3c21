"""What the methods are given: a kernel, the rows of data, and the number of columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, final

import joblib
import numpy as np
from scipy.spatial.distance import pdist

from rf.inputs.arrays import user_stacklevel
from rf.inputs.rows import (
    MARGIN,
    centre_of,
    check_distances,
    dense,
    norms_of,
    range_of_distances,
    sample_of_rows,
)
from spectra.base.arrays import FloatArray, IntArray
from spectra.base.numbers import NORM_TOLERANCE
from spectra.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rf.schemes.table_scheme import SamplingOptions
    from spectra.designs import Design
    from spectra.kernels.kernel import Kernel

__all__ = ["NormRange", "Problem", "make_problem", "rows_to_fit"]

# Number of rows on which methods are compared: 130 816 pairs.
_COMPARED_ROWS = 512
# Rows longer than the longest fitted one by this factor get a warning.
_LONG = 2.0**0.5
# Of fewer rows none is held out.
_FEWEST_ROWS = 30
# A fixed seed, any number: the sample of rows depends on the data and not on random_state.
_SEED = 20_240_302
# Number of sampled rows, at whose distances a design minimises the error.  With half as many, 2880
# columns on the data set "letter" had a third more error on all pairs than on the sampled ones.
_SAMPLED_ROWS = 1024
# Rows that Nystroem features are fitted to, at least, and as a multiple of the columns.
_FIT_ROWS, _FIT_ROWS_PER_COLUMN = 2048, 2.5


def rows_to_fit(n_columns: int) -> int:
    """The number of rows that Nystroem features are fitted to, if there are as many."""
    return max(_FIT_ROWS, int(_FIT_ROWS_PER_COLUMN * n_columns))


@final
@dataclass(frozen=True)
class NormRange:
    """Rows of norms up to ``largest``, with no negative entries if ``nonnegative``.

    ``refuses``: whether other rows are refused; else the variance of long ones is large, and there
    is a warning.
    """

    largest: float
    nonnegative: bool
    refuses: bool = True

    @property
    def products(self) -> tuple[float, float]:
        """The least and the largest inner product of two such rows."""
        square = self.largest**2
        return (0.0 if self.nonnegative else -square), square

    def check(self, X: Any, *, at_any_distance: bool = False) -> None:
        """Raise for other rows; ``at_any_distance`` omits the check."""
        if at_any_distance:
            return
        norms = norms_of(X)
        worst = int(norms.argmax())
        if not self.refuses:
            if norms[worst] > _LONG * self.largest:
                warnings.warn(
                    f"Row {worst} has the norm {norms[worst]:.6g}, and the fitted rows have norms "
                    f"up to {self.largest:.6g}: the variance of its features is large. Fit on rows "
                    "of this length, or divide the rows (length_scale).",
                    stacklevel=user_stacklevel(),
                )
            return
        if norms[worst] > self.largest * (1.0 + NORM_TOLERANCE) or (
            self.nonnegative and X.min() < 0.0
        ):
            found = f"Row {worst} has the norm {norms[worst]:.6g}"
            raise DataError(
                f"{found}, or a row has a negative entry, and the polynomial of these features "
                f"approximates the kernel for rows of norms up to {self.largest:.6g}"
                f"{' without negative entries' * self.nonnegative}. Fit on rows with a larger "
                "range, or turn this check off with outside='ignore'."
            )

    def check_between(self, X: Any, Y: Any) -> None:
        """Two rows of the range have no other condition."""


@final
@dataclass(frozen=True)
class Problem:
    """A kernel to approximate at the distances of the data.

    ``sample``: a copy of at most 1024 rows of the data, or of more if rows are held out;
    ``digest``: hash of the sample, for ``==`` of problems; ``n_rows``: number of rows of the data;
    ``centre``: mean of the rows;
    ``n_components``: largest number of columns; ``z_max``: the features approximate the kernel up
    to this distance; ``note``: why the kernel's own measure is not used, and how z_max was found;
    ``positive``: whether columns must have the signature +1 for a positive definite zonal kernel;
    ``given_design``: the design to use instead of a comparison, or None; ``compares_all``: whether
    biased methods are compared too, and features from the table, drawn with ``options``, on rows
    that are held out; ``row_range``: the norms of the rows.
    """

    kernel: Any
    sample: Any = field(compare=False)
    digest: str
    n_rows: int
    centre: tuple[float, ...]
    n_components: int
    z_max: float
    note: str = ""
    positive: bool = False
    given_design: Design | None = None
    compares_all: bool = False
    options: SamplingOptions | None = None
    row_range: Any = None

    @classmethod
    def of(cls, kernel: Any, X: Any, n_components: int, z_max: float, **options: Any) -> Self:
        """The problem for rows X; ``options``: the fields after z_max."""
        most = _SAMPLED_ROWS + _COMPARED_ROWS * bool(np.isinf(z_max))
        if options.get("compares_all"):
            most = rows_to_fit(n_components) + _COMPARED_ROWS
        sample = sample_of_rows(X, np.random.default_rng(_SEED), most).copy()
        centre, digest = tuple(centre_of(X).tolist()), joblib.hash(sample)
        largest = float(norms_of(X).max()) * (1.0 + MARGIN) or 1.0
        options |= {"row_range": NormRange(largest, bool(X.min() >= 0.0))}
        return cls(kernel, sample, digest, X.shape[0], centre, n_components, z_max, **options)

    @property
    def dim(self) -> int:
        """Number of columns of the rows."""
        return len(self.centre)

    @property
    def sphere(self) -> str:
        """The formula of a kernel on the unit sphere, empty for other kernels."""
        return str(self.kernel) if self.kernel.is_zonal else ""

    @cached_property
    def distances(self) -> FloatArray:
        """Distances of pairs of sampled rows; 1/n_rows of them are zeros, for the diagonal of K."""
        pairs = pdist(self.fit_rows[:_SAMPLED_ROWS])
        zeros = np.zeros(max(1, round(pairs.size / self.n_rows)))
        # The norms of unit rows are rounded, so a distance can exceed z_max by a rounding error.
        return np.asarray(np.minimum(np.concatenate([pairs, zeros]), self.z_max))

    @cached_property
    def compared_rows(self) -> FloatArray:
        """At most 512 sampled rows in random order, on which methods are compared."""
        return dense(self.sample[self._order[: self.n_held_out or _COMPARED_ROWS]])

    @property
    def fit_rows(self) -> FloatArray:
        """The sampled rows that methods are fitted to in the comparison, without those held out."""
        held_out = self.n_held_out
        return dense(self.sample[self._order[held_out:]] if held_out else self.sample)

    @property
    def _order(self) -> IntArray:
        return np.random.default_rng(_SEED).permutation(self.sample.shape[0])

    @property
    def n_held_out(self) -> int:
        """Number of sampled rows on which methods are compared that are not fitted to them."""
        n, needed = self.sample.shape[0], self.compares_all or np.isinf(self.z_max)
        return min(_COMPARED_ROWS, n // 4) if needed and n >= _FEWEST_ROWS else 0


def make_problem(
    source: Any,
    X: Any,
    n_components: int,
    *,
    domain: float | Literal["data"] | None,
    why: str,
    **options: Any,
) -> Problem:
    """The problem for rows X and a kernel whose features are not drawn from its own measure.

    ``source``: a kernel, or a design with exact powers, which cannot be drawn from a table;
    ``domain``: z_max, or None or "data" to compute it from X; ``why``: the reason for a design;
    ``options``: of the problem.
    """
    from spectra.designs import Design
    from spectra.kernels.composite import CompositeKernel
    from spectra.kernels.dot_product import DotProductKernel
    from spectra.kernels.kernel import Kernel

    dim, kernel, given_design = X.shape[1], source, None
    if isinstance(source, Design) and source.powers.size and domain is None:
        if source.dim != dim:
            raise DataError(
                f"The design was made for dimension {source.dim}, and X has {dim} column(s)."
            )
        given_design, kernel, domain = source, source.kernel, source.domain[1]
    elif isinstance(kernel, DotProductKernel):
        note = f"{why} Methods are compared on rows that were held out."
        return Problem.of(kernel, X, n_components, np.inf, note=note, **options)
    elif options.get("compares_all") and isinstance(kernel, CompositeKernel):
        if not kernel.is_symmetric:
            raise ParameterError(
                f"domain={domain!r} compares methods for symmetric kernels, and {kernel} is "
                "asymmetric. Omit domain: its features are then drawn from its own measure."
            )
        note = f"{why} Methods are compared on rows of the data."
        return Problem.of(kernel, X, n_components, np.inf, note=note, **options)
    elif not isinstance(kernel, Kernel):
        raise ParameterError(
            f"domain={domain!r} asks for features designed for a range of distances, which needs "
            f"a radial kernel, but a {type(source).__name__} was given. Pass the kernel, or omit "
            "domain."
        )
    z_max, reason = _largest_distance(kernel, X, domain)
    note = f"{why} The features are designed for distances up to z_max_ = {z_max:.6g} ({reason})."
    options |= {"note": note, "given_design": given_design}
    return Problem.of(kernel, X, n_components, z_max, **options)


def _largest_distance(
    kernel: Kernel, X: Any, domain: float | Literal["data"] | None
) -> tuple[float, str]:
    """The distance z_max up to which the features approximate the kernel, and how it was found."""
    kernel.metric.check_norms(norms_of(X), kernel)
    if domain is None or domain == "data":
        z_max, reason = range_of_distances(X, kernel.metric.diameter)
        if not kernel.support < z_max <= (1.0 + MARGIN) * kernel.support:
            return z_max, reason
        # z_max includes a margin for new rows; without the margin the rows are within the support.
        z_max, reason = kernel.support, "the support of the kernel"
    else:
        z_max, reason = float(domain), "given as domain"
        if not 0.0 < z_max < np.inf:
            raise ParameterError(f"domain = {domain}: give a positive and finite distance.")
        z_max = min(z_max, kernel.metric.diameter)
    check_distances(X, z_max, centre=centre_of(X))
    return z_max, reason
