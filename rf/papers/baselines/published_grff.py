"""GRFF as it was published: its law of radii, which is biased, and its ways to sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.stats import chi
from sklearn.utils._param_validation import StrOptions

from rf.features import MixedSignature, SignedSystem
from rf.papers.baselines.samplers import (
    grid_frequencies,
    importance_frequencies,
    leverage_frequencies,
)
from rf.sampling import Frequencies, Radii, draw_frequencies
from rf.schemes import FeatureMap, RadialScheme, Scheme
from rf.variance import Allocation
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from spectra.density import SpectralDensity

__all__ = ["PublishedGRFF"]

Sampling = Literal["inverse-cdf", "rejection-grid", "importance", "leverage"]
_SAMPLINGS: tuple[Sampling, ...] = ("inverse-cdf", "rejection-grid", "importance", "leverage")
_NO_VARIANCE = {
    "rejection-grid": "the grid ends, and the mass beyond it is a bias",
    "importance": "it is a second moment of mu/q, which no table holds",
    "leverage": "the weights depend on the rows and on the pool",
}
# Frequencies in the pool of leverage scores for each one that is drawn, and the ridge.
_POOL = 4
_RIDGE = 1e-3


@final
class PublishedGRFF(SignedSystem):
    """GRFF with the law of radii and the ways to sample of its paper, to be compared with.

    :class:`rf.GRFF` draws the exact law by its inverse CDF.  What differs from it here is biased,
    or has a variance that no table knows, as each option says.

    Parameters
    ----------
    kernel, n_components, mixed_signature, random_state
        As in :class:`rf.SpectralFeatures`, whose attributes it has too.
    allocation : {"equal", "mass", "optimal"}, default="equal"
    law : {"exact", "published"}, default="published"
        The law of the radius.  "published" is that of the published code:
        |mu(w)| on a grid over [-10, 10] without the factor w^(d-1), and weights that add up to 1.
        It is **biased** for d >= 2: the features estimate another kernel,
        :func:`rf.papers.baselines.samplers.grid_mean`, however many they are.  It needs the
        kernel, not a table, and sampling "rejection-grid" or "inverse-cdf", which then mean the
        same.
    sampling : {"inverse-cdf", "rejection-grid", "importance", "leverage"}, default="inverse-cdf"
        How the frequencies are drawn.  All but the first are the paper's, to compare with:

        * "rejection-grid": radii from 10 000 points of a grid over [-10, 10] in proportion to
          their density.  **Biased** by the mass beyond 10.  It needs the kernel.
        * "importance": all n frequencies from a Gaussian surrogate whose median length is that of
          the measure, weighted by mu(w)/q(w)
          (:func:`rf.papers.baselines.samplers.importance_frequencies`): unbiased, of a variance
          that grows with d and is infinite where q falls faster than mu^2, which is refused
          (exp(-z^2/2) - exp(-z^2/200) is such a case).  It needs the kernel.
        * "leverage": drawn by ridge leverage scores on X from a pool of four times as many
          (:func:`rf.papers.baselines.samplers.leverage_frequencies`, ridge 1e-3): unbiased,
          adapted to X.

        The last two leave to chance how many frequencies each sign gets; ``counts_`` says what
        the allocation asked for.

    References
    ----------
    Liu, Huang, Chen, Suykens, "Fast learning in reproducing kernel Krein spaces via signed
    measures", AISTATS 2021, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rf.papers.baselines import PublishedGRFF
    >>> options = {"n_components": 8, "mixed_signature": "ignore"}
    >>> features = PublishedGRFF("exp(-z**2/2) - exp(-z**2/8)", **options)
    >>> features.fit(np.eye(3)).signature_
    array([ 1.,  1., -1., -1.,  1.,  1., -1., -1.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SignedSystem._parameter_constraints,
        "law": [StrOptions({"exact", "published"})],
        "sampling": [StrOptions(set(_SAMPLINGS))],
    }

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        n_components: int = 100,
        allocation: Allocation = "equal",
        law: Literal["exact", "published"] = "published",
        sampling: Sampling = "inverse-cdf",
        mixed_signature: MixedSignature = "warn",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            n_components=n_components,
            allocation=allocation,
            mixed_signature=mixed_signature,
            random_state=random_state,
        )
        self.law = law
        self.sampling = sampling

    def variance(self, z: ArrayLike, *, radii: Radii | None = None) -> FloatArray:
        """Exact variance at distances z, where frequencies have the law of the table.

        Raises
        ------
        ParameterError
            For ``law="published"``, whose error is mostly bias, and for sampling other than
            "inverse-cdf".
        """
        if self.law == "published":
            raise ParameterError(
                "The variance of law='published' is not known, and its error is mostly bias: "
                "compare rf.papers.baselines.samplers.grid_mean with the kernel, "
                "or take law='exact'."
            )
        if self.sampling != "inverse-cdf":
            raise ParameterError(
                f"The variance of sampling={self.sampling!r} is not known: "
                f"{_NO_VARIANCE[self.sampling]}. Measure it over seeds, or take "
                "sampling='inverse-cdf'."
            )
        return super().variance(z, radii=radii)

    def _draw(self, scheme: Scheme, X: Any, rng: np.random.Generator) -> FeatureMap:
        if not isinstance(scheme, RadialScheme) or (
            self.law == "exact" and self.sampling == "inverse-cdf"
        ):
            return super()._draw(scheme, X, rng)
        if scheme.pooled:
            raise ParameterError(
                f"{sum(scheme.counts)} frequencies cannot serve {len(scheme.table.parts)} parts, "
                "each of which has a law of its own as published. Ask for n_components >= "
                f"{2 * len(scheme.table.parts)}, or take GRFF."
            )
        return scheme.map_of(self._published(scheme.table, X, rng), self.n_components, rng)

    def _published(self, table: SpectralTable, X: Any, rng: np.random.Generator) -> Frequencies:
        if self.law == "published" and self.sampling in ("importance", "leverage"):
            raise ParameterError(
                f"law='published' is a law on a grid, and sampling={self.sampling!r} takes no "
                "grid. Leave one of them at its default."
            )
        if self.sampling == "leverage":
            many = tuple(_POOL * n for n in self.counts_)
            pool = draw_frequencies(table, many, coupling="iid", radii="iid", rng=rng)
            rows = X.toarray() if issparse(X) else np.asarray(X)
            return leverage_frequencies(pool, rows, sum(self.counts_), ridge=_RIDGE, rng=rng)
        density = self._density(table)
        if self.sampling == "importance":
            n, deviation = sum(self.counts_), _surrogate_deviation(table)
            return importance_frequencies(
                density.density, table.dim, n, deviation=deviation, rng=rng
            )
        counts = dict(zip((p.phase for p in table.parts), self.counts_, strict=True))
        return grid_frequencies(
            density.density if self.law == "published" else density.radial,
            table.dim,
            (counts.get(0.0, 0), counts.get(float(np.pi), 0)),
            law=self.law,
            rng=rng,
        )

    def _density(self, table: SpectralTable) -> SpectralDensity:
        kernel: Any = self.kernel_
        if kernel is None:
            raise ParameterError(
                f"law={self.law!r} with sampling={self.sampling!r} evaluates the spectral density "
                "of the kernel, which a bare table does not have. Pass the kernel."
            )
        from spectra.density import spectral_density

        density: SpectralDensity = spectral_density(kernel, table.dim)
        return density


def _surrogate_deviation(table: SpectralTable) -> float:
    """The deviation with which a Gaussian has the median length of the measure, signs apart."""
    masses = np.array([float(p.mass) for p in table.parts])
    medians = np.array([float(p.law.ppf(0.5)) for p in table.parts])
    return float(masses @ medians / masses.sum() / chi.median(table.dim))
