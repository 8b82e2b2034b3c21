r"""The measure of an asymmetric kernel as a sum of positive parts with phases.

"jordan" takes the positive and negative parts of A and of B in the modulation a = A + iB; those of
B are mirror images, and are sampled as one part.  "polar" takes the modulus of a, with a phase for
each frequency.  (:mod:`rf.schemes.table_scheme` draws from the radial distribution instead, with
the modulus as the weight of a frequency.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rf.schemes.axial_part import AxialPart
from rf.schemes.complex_table import Modulation, Selection
from spectra.base.accuracy import SAME
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import FrequencySample, SpectralTable

__all__ = ["DECOMPOSITIONS", "NEGLIGIBLE", "AxialTable", "Decomposition"]

Decomposition = Literal["jordan", "polar"]

#: The parts of each decomposition of a complex measure.
DECOMPOSITIONS: dict[Decomposition, tuple[Selection, ...]] = {
    "jordan": ("real+", "real-", "imaginary+"),
    "polar": ("modulus",),
}
#: A part with less than this fraction of the mass is left out: a bias below single precision.
NEGLIGIBLE = 10.0 * SAME


@dataclass(frozen=True, eq=False)
class AxialTable:
    """A table of shifted Gaussians, with its complex measure decomposed into positive parts.

    ``decomposition``: how :attr:`parts` are formed; ``negligible``: a part with less than this
    fraction of the mass is left out, and counts in :attr:`bias`.
    """

    table: SpectralTable
    decomposition: Decomposition = "jordan"
    negligible: float = NEGLIGIBLE

    def __post_init__(self) -> None:
        if not all(part.deviation > 0.0 and part.shifts for part in self.table.parts):
            raise ParameterError(
                f"The radial distribution of {self.table.formula} is not Gaussian, and Jordan and "
                "polar parts are drawn for shifted and tilted Gaussians only. For other shifted "
                "kernels take SpectralFeatures, which weights draws of the radial distribution."
            )

    @property
    def parts(self) -> tuple[AxialPart, ...]:
        """The parts that are sampled."""
        return self._split[0]

    @property
    def dropped(self) -> tuple[AxialPart, ...]:
        """The parts that are left out, since their mass is negligible."""
        return self._split[1]

    @property
    def bias(self) -> float:
        """Bound of the difference between K and the mean of the estimate."""
        return self.table.bias + float(sum(p.mass + p.mass_error for p in self.dropped))

    @property
    def mass(self) -> float:
        """Sum of the masses of the parts."""
        return float(sum(p.mass for p in self.parts))

    @property
    def mass_error(self) -> float:
        """Bound of the error of :attr:`mass`."""
        return float(sum(p.mass_error for p in self.parts))

    @cached_property
    def _split(self) -> tuple[tuple[AxialPart, ...], tuple[AxialPart, ...]]:
        candidates = [
            AxialPart(base, kind, modulation)
            for kind in DECOMPOSITIONS[self.decomposition]
            for base in self.table.parts
            for modulation in Modulation.split(base.shifts)
        ]
        least = self.negligible * sum(p.mass for p in candidates)
        # A mass below its own error may be zero.
        parts = tuple(p for p in candidates if p.mass > max(least, p.mass_error))
        return parts, tuple(p for p in candidates if p not in parts)

    def expected_kernel(self, differences: ArrayLike) -> FloatArray:
        """Exact mean of the estimate at differences D = x - y, shape (n, d)."""
        D = np.atleast_2d(np.asarray(differences, dtype=float))
        return np.asarray(sum((p.mean(D) for p in self.parts), np.zeros(len(D))))

    def sample(self, size: int, rng: np.random.Generator) -> FrequencySample:
        """Independent frequencies, each from a random part chosen with probability ~ mass."""
        masses = np.array([p.mass for p in self.parts])
        probability = masses / masses.sum()
        counts = np.bincount(rng.choice(masses.size, size, p=probability), minlength=masses.size)
        draws = [p.draw(int(n), rng) for p, n in zip(self.parts, counts, strict=True) if n]
        chances = probability[counts > 0]
        order = rng.permutation(size)
        return FrequencySample(
            np.concatenate([d.frequencies for d in draws])[order],
            np.concatenate([d.weights / q for d, q in zip(draws, chances, strict=True)])[order],
            np.concatenate([d.phases for d in draws])[order],
        )
