"""From a kernel and data to an order: which distances occur, and how far they may reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from scipy.spatial.distance import pdist

from rf.dot_product.candidate import Member, Order, dense
from rf.dot_product.comparison import PORTFOLIO, Selection, select
from rf.dot_product.designed_waves import design_offers, given_design
from rf.dot_product.exact_powers import exact_offers
from rf.dot_product.zonal_features import is_definite
from rf.inputs.rows import (
    FITTING_ADVICE,
    MARGIN,
    KnownRows,
    centre_of,
    check_distances,
    check_unit_rows,
    range_of_distances,
    sample_of_rows,
)
from rf.inputs.tables import Spectrum, layout_of, resolve_spectrum
from spectra.base.arrays import FloatArray
from spectra.base.limits.progress import staged
from spectra.errors import DataError, InfiniteMassError, ParameterError

if TYPE_CHECKING:
    from spectra.designs import Design
    from spectra.kernels.kernel import Kernel

__all__ = ["Commission", "commission", "commission_for", "made_to_order", "spectrum_to_order"]

# What is ordered depends on the data and not on the random state.
_SEED = 20_240_302
# Rows whose distances a design is made for.  What it leaves is largest on the few longest ones:
# with half as many, 2880 columns on letter erred by a third more than on the sampled pairs.
_ROWS = 1024
# Couplings of one part whose blocks are orthonormal, and those that give all parts one set.
_IN_BLOCKS, _ON_ONE_SET = ("orthogonal", "designed", "kerdock"), ("shared",)
# The members that need no sphere.
_FOR_ANY_ROWS: Mapping[str, Member] = MappingProxyType(
    {"exact polynomial": exact_offers, "designed waves": design_offers}
)
# Comparisons kept in memory: a grid search, or seeds, repeat the same one.
_RECENT = 16


@final
@dataclass(frozen=True)
class Commission:
    """A kernel with the distances on which it has to be right.

    Attributes
    ----------
    kernel : Kernel
    z_max : float
        Largest distance that features made to order serve.
    note : str
        Why they are made to order, and where z_max comes from.
    members : tuple of (str, Member)
        The ways that are compared.
    """

    kernel: Kernel
    z_max: float
    note: str
    members: tuple[tuple[str, Member], ...]


def commission_for(
    named: Any, X: Any, *, domain: float | Literal["data"] | None, coupling: str
) -> Commission | None:
    """What has to be made to order for the data, or None where the kernel's own measure serves.

    That is asked for by a domain; for a kernel on the unit sphere unless its coupling has a name;
    for every kernel of infinite spectral mass; and by a design that holds exact powers of <x, y>,
    which no table has.

    Raises
    ------
    ParameterError
        For a domain without a radial kernel.
    """
    from spectra.designs import Design
    from spectra.kernels.kernel import Kernel

    if isinstance(named, Design) and named.powers.size and domain is None:
        return _given(named, X)
    if not isinstance(named, Kernel):
        if domain is not None:
            raise ParameterError(
                f"domain = {domain} makes features of a radial kernel to order, and the kernel is "
                f"given as a {type(named).__name__}. Pass the kernel, or leave domain out."
            )
        return None
    if domain is not None:
        why = "A domain was asked for."
    elif named.is_zonal and coupling == "auto":
        why = "The kernel lives on the unit sphere."
    elif _is_infinite(named, X.shape[1]):
        why = f"The spectral mass of {named} in dimension {X.shape[1]} is infinite."
    else:
        return None
    return commission(named, X, domain=domain, why=why)


def _given(made: Design, X: Any) -> Commission:
    """A design with exact powers is the only way that is asked for."""
    if made.dim != X.shape[1]:
        raise DataError(
            f"The design was made for dimension {made.dim}, and X has {X.shape[1]} column(s)."
        )
    found = commission(made.kernel, X, domain=made.domain[1], why="A design was given.")
    return replace(found, members=(("the given design", partial(given_design, made)),))


@lru_cache(maxsize=64)
def _is_infinite(kernel: Kernel, dim: int) -> bool:
    """Whether the verdict is infinite: remembered, since every fit asks again."""
    try:
        resolve_spectrum(kernel, dim)
    except InfiniteMassError:
        return True
    return False


def commission(
    kernel: Kernel, X: Any, *, domain: float | Literal["data"] | None, why: str
) -> Commission:
    """Find the range of distances of the data, or take the one that is given.

    Raises
    ------
    DataError
        For rows off the sphere of a zonal kernel, or further apart than the domain.
    ParameterError
        For a domain that is no positive distance.

    Examples
    --------
    >>> from spectra.kernels.kernel import zonal
    >>> commission(zonal("exp(u)"), np.eye(3), domain=None, why="It is zonal.").z_max < 1.4143
    True
    """
    if kernel.is_zonal:
        check_unit_rows(X, str(kernel))
    if domain is None or domain == "data":
        z_max, reason = range_of_distances(X, sphere=kernel.is_zonal)
        if kernel.support < z_max <= (1.0 + MARGIN) * kernel.support:
            # The room for new rows does not have to reach over the edge where the kernel ends.
            z_max, reason = kernel.support, "the end of the kernel's support"
            check_distances(X, z_max, centre=centre_of(X))
    else:
        z_max, reason = float(domain), "given as domain"
        if not 0.0 < z_max < np.inf:
            raise ParameterError(f"domain = {domain}: a largest distance is positive and finite.")
        if kernel.is_zonal:
            z_max = min(z_max, 2.0)
        check_distances(X, z_max, centre=centre_of(X))
    note = (
        f"{why} The features are made to order for distances up to z_max_ = {z_max:.6g} ({reason})."
    )
    members = PORTFOLIO if kernel.is_zonal else _FOR_ANY_ROWS
    return Commission(kernel, z_max, note, tuple(members.items()))


@staged("making features to order", advice=FITTING_ADVICE)
def made_to_order(
    order: Commission,
    X: Any,
    n_components: int,
    *,
    positive: bool = False,
) -> Selection:
    """The features of least error for the data and the number of columns.

    With ``positive``, a kernel that is positive definite on the sphere gets no signature -1.
    Recent choices are kept in memory.
    """
    rows = sample_of_rows(X, np.random.default_rng(_SEED), _ROWS)
    centre = tuple(centre_of(X).tolist())
    return _made(order, n_components, positive, KnownRows(rows), X.shape[0], centre)


@lru_cache(maxsize=_RECENT)
def _made(
    order: Commission,
    n_components: int,
    positive: bool,
    sample: KnownRows,
    n_rows: int,
    centre: tuple[float, ...],
) -> Selection:
    rows, dim = sample.rows, len(centre)
    distances = _distances(rows, n_rows, order.z_max)
    wanted = Order(order.kernel, dim, n_components, order.z_max, distances, centre=np.array(centre))
    if positive and is_definite(wanted):
        wanted = replace(wanted, positive=True)
    rows = rows[np.random.default_rng(_SEED).permutation(rows.shape[0])]
    return select(wanted, rows, n_rows=n_rows, members=dict(order.members))


@staged("making a table to order", advice=FITTING_ADVICE)
def spectrum_to_order(order: Commission, X: Any, n_components: int, coupling: str) -> Spectrum:
    """The table of a design for a coupling by name, and its layout where masses may cancel.

    Masses that cancel do so only with the directions that they were designed for: those of one
    radius in orthogonal blocks beside a constant, or the same directions for all radii.  Couplings
    that promise neither draw the design for independent directions, with any split.
    """
    from spectra.designs import design

    rows = sample_of_rows(X, np.random.default_rng(_SEED), _ROWS)
    dim, distances = X.shape[1], _distances(rows, X.shape[0], order.z_max)
    asked: Any = {"n_components": n_components, "distances": distances}
    domain = (0.0, order.z_max)
    if coupling not in _IN_BLOCKS and coupling not in _ON_ONE_SET:
        made = design(order.kernel, dim, domain, coupling="iid", **asked)
        return Spectrum(made.table, order.kernel)
    most_radii = 1 if coupling in _IN_BLOCKS else 3
    made = design(order.kernel, dim, domain, most_radii=most_radii, **asked)
    return Spectrum(made.table, order.kernel, replace(layout_of(made), coupling=coupling))


def _distances(rows: Any, n_rows: int, z_max: float) -> FloatArray:
    """Distances of sampled rows, with the share of zeros that the diagonal of n_rows has."""
    pairs = pdist(np.asarray(dense(rows), dtype=float))
    zeros = max(1, round(pairs.size / n_rows))
    # Unit rows are so to rounding, and so are the largest distances.
    return np.asarray(np.minimum(np.concatenate([pairs, np.zeros(zeros)]), z_max))
