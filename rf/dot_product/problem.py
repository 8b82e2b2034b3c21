"""What the methods are given: a kernel, the rows of data, and the number of columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, final

import joblib
import numpy as np
from scipy.spatial.distance import pdist

from rf.inputs.rows import (
    MARGIN,
    centre_of,
    check_distances,
    dense,
    norms_of,
    range_of_distances,
    sample_of_rows,
)
from spectra.base.arrays import FloatArray
from spectra.errors import DataError, ParameterError

if TYPE_CHECKING:
    from spectra.designs import Design
    from spectra.kernels.kernel import Kernel

__all__ = ["Problem", "make_problem"]

# Number of rows on which methods are compared: 130 816 pairs.
_COMPARED_ROWS = 512
# A fixed seed, any number: the sample of rows depends on the data and not on random_state.
_SEED = 20_240_302
# Number of sampled rows, at whose distances a design minimises the error.  With half as many, 2880
# columns on the data set "letter" had a third more error on all pairs than on the sampled ones.
_SAMPLED_ROWS = 1024


@final
@dataclass(frozen=True)
class Problem:
    """A kernel to approximate at the distances of the data.

    ``sample``: a copy of at most 1024 rows of the data; ``digest``: hash of the sample, for
    ``==`` of problems; ``n_rows``: number of rows of the data; ``centre``: mean of the rows;
    ``n_components``: largest number of columns; ``z_max``: the features approximate the kernel up
    to this distance; ``note``: why the kernel's own measure is not used, and how z_max was found;
    ``positive``: whether columns must have the signature +1 for a positive definite zonal kernel;
    ``given_design``: the design to use instead of a comparison, or None.
    """

    kernel: Kernel
    sample: Any = field(compare=False)
    digest: str
    n_rows: int
    centre: tuple[float, ...]
    n_components: int
    z_max: float
    note: str = ""
    positive: bool = False
    given_design: Design | None = None

    @classmethod
    def of(cls, kernel: Kernel, X: Any, n_components: int, z_max: float, **options: Any) -> Self:
        """The problem for rows X; ``options``: note, positive, given_design."""
        sample = sample_of_rows(X, np.random.default_rng(_SEED), _SAMPLED_ROWS).copy()
        centre, digest = tuple(centre_of(X).tolist()), joblib.hash(sample)
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
        pairs = pdist(dense(self.sample))
        zeros = np.zeros(max(1, round(pairs.size / self.n_rows)))
        # The norms of unit rows are rounded, so a distance can exceed z_max by a rounding error.
        return np.asarray(np.minimum(np.concatenate([pairs, zeros]), self.z_max))

    @cached_property
    def compared_rows(self) -> FloatArray:
        """At most 512 sampled rows in random order, on which methods are compared."""
        order = np.random.default_rng(_SEED).permutation(self.sample.shape[0])
        return dense(self.sample[order][:_COMPARED_ROWS])


def make_problem(
    source: Any,
    X: Any,
    n_components: int,
    *,
    domain: float | Literal["data"] | None,
    why: str,
    positive: bool = False,
) -> Problem:
    """The problem for rows X and a kernel whose features are not drawn from its own measure.

    ``source``: a kernel, or a design with exact powers, which cannot be drawn from a table;
    ``domain``: z_max, or None or "data" to compute it from X; ``why``: the reason for a design.
    """
    from spectra.designs import Design
    from spectra.kernels.kernel import Kernel

    dim, kernel, given_design = X.shape[1], source, None
    if isinstance(source, Design) and source.powers.size and domain is None:
        if source.dim != dim:
            raise DataError(
                f"The design was made for dimension {source.dim}, and X has {dim} column(s)."
            )
        given_design, kernel, domain = source, source.kernel, source.domain[1]
    elif not isinstance(kernel, Kernel):
        raise ParameterError(
            f"domain={domain!r} asks for features designed for a range of distances, which needs "
            f"a radial kernel, but a {type(source).__name__} was given. Pass the kernel, or omit "
            "domain."
        )
    z_max, reason = _largest_distance(kernel, X, domain)
    note = f"{why} The features are designed for distances up to z_max_ = {z_max:.6g} ({reason})."
    options = {"note": note, "positive": positive, "given_design": given_design}
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
