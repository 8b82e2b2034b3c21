"""The problem: approximate a kernel on a range of distances with a number of columns."""

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
    check_unit_rows,
    dense,
    range_of_distances,
    sample_of_rows,
)
from spectra.base.arrays import FloatArray
from spectra.errors import DataError, ParameterError

if TYPE_CHECKING:
    from spectra.designs import Design
    from spectra.kernels.kernel import Kernel

__all__ = ["COMPARED_ROWS", "Problem", "problem_for"]

#: Rows on which methods are compared: 130 816 pairs.
COMPARED_ROWS = 512
# The problem depends on the data and not on the random state.
_SEED = 20_240_302
# Rows whose distances a design is made for.  Its error is largest at the few longest ones: with
# half as many rows, 2880 columns on letter had a third more error than on the sampled pairs.
_DESIGN_ROWS = 1024


@final
@dataclass(frozen=True)
class Problem:
    """A kernel to approximate at the distances of the data.  Equal problems hash equal.

    ``sample``: a copy of rows that stand for the data, which ``digest`` identifies; ``n_rows``:
    number of rows of the data, of which the diagonal is one part in n_rows; ``centre``: mean of the
    rows; ``n_components``: most columns; ``z_max``: largest distance at which the features have to
    be right; ``note``: why the kernel's own measure is not used, and where z_max comes from;
    ``positive``: whether every column must have the signature +1, if the kernel is positive
    definite; ``given``: the design to use, if there is no choice.
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
    given: Design | None = None

    @classmethod
    def of(cls, kernel: Kernel, X: Any, n_components: int, z_max: float, **options: Any) -> Self:
        """The problem for rows X, of which a sample is kept."""
        sample = sample_of_rows(X, np.random.default_rng(_SEED), _DESIGN_ROWS).copy()
        known = (kernel, sample, joblib.hash(sample), X.shape[0], tuple(centre_of(X).tolist()))
        return cls(*known, n_components, z_max, **options)

    @property
    def dim(self) -> int:
        """Number of columns of the rows."""
        return len(self.centre)

    @cached_property
    def distances(self) -> FloatArray:
        """Distances of sampled rows, with the share of zeros that the diagonal has."""
        pairs = pdist(dense(self.sample))
        zeros = np.zeros(max(1, round(pairs.size / self.n_rows)))
        # Unit rows have norm 1 up to rounding, so that a distance may exceed z_max by as much.
        return np.asarray(np.minimum(np.concatenate([pairs, zeros]), self.z_max))

    @cached_property
    def compared_rows(self) -> FloatArray:
        """The rows on which methods are compared, in random order."""
        rows = self.sample
        order = np.random.default_rng(_SEED).permutation(rows.shape[0])
        return dense(rows[order][:COMPARED_ROWS])


def problem_for(
    named: Any,
    X: Any,
    n_components: int,
    *,
    domain: float | Literal["data"] | None,
    positive: bool = False,
) -> Problem:
    """The problem of a kernel that is not drawn from its own measure, for the rows X.

    That is a kernel with a domain, on the unit sphere, or of infinite spectral mass, and a design
    with exact powers of <x, y>, which no table has.
    """
    from spectra.designs import Design
    from spectra.kernels.kernel import Kernel

    dim, given = X.shape[1], None
    if isinstance(named, Design) and named.powers.size and domain is None:
        if named.dim != dim:
            raise DataError(
                f"The design was made for dimension {named.dim}, and X has {dim} column(s)."
            )
        given, named, domain, why = named, named.kernel, named.domain[1], "A design was given."
    elif not isinstance(named, Kernel):
        raise ParameterError(
            f"domain={domain!r} asks for features designed for a range of distances, which needs "
            f"a radial kernel, and a {type(named).__name__} was given. Pass the kernel, or leave "
            "domain out."
        )
    elif domain is not None:
        why = "A domain was asked for."
    elif named.is_zonal:
        why = "The kernel lives on the unit sphere."
    else:
        why = f"The spectral mass of {named} in dimension {dim} is infinite."
    z_max, reason = _largest_distance(named, X, domain)
    note = f"{why} The features are designed for distances up to z_max_ = {z_max:.6g} ({reason})."
    options = {"note": note, "positive": positive, "given": given}
    return Problem.of(named, X, n_components, z_max, **options)


def _largest_distance(
    kernel: Kernel, X: Any, domain: float | Literal["data"] | None
) -> tuple[float, str]:
    """The largest distance at which the features have to be right, and where it comes from."""
    if kernel.is_zonal:
        check_unit_rows(X, str(kernel))
    if domain is None or domain == "data":
        z_max, reason = range_of_distances(X, sphere=kernel.is_zonal)
        if not kernel.support < z_max <= (1.0 + MARGIN) * kernel.support:
            return z_max, reason
        # The margin for new rows need not extend beyond the support of the kernel.
        z_max, reason = kernel.support, "the end of the kernel's support"
    else:
        z_max, reason = float(domain), "given as domain"
        if not 0.0 < z_max < np.inf:
            raise ParameterError(f"domain = {domain}: a largest distance is positive and finite.")
        if kernel.is_zonal:
            z_max = min(z_max, 2.0)
    check_distances(X, z_max, centre=centre_of(X))
    return z_max, reason
