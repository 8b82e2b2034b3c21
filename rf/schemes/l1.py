"""Sampling of kernels of the l1 distance: independent frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from rf.sampling.frequencies import Frequencies
from rf.schemes.scheme import TableScheme
from rf.variance.l1_variance import L1Model
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import L1Table

__all__ = ["L1Scheme"]


@final
@dataclass(frozen=True, eq=False)
class L1Scheme(TableScheme):
    """Independent frequencies of the parts of a kernel of the l1 distance."""

    table: L1Table
    method = "l1"
    default_coupling = "iid"

    def check_coupling(self, coupling: str) -> None:
        if coupling != "iid":
            raise ParameterError(
                f"coupling={coupling!r} was asked for {self.table.formula}, and the frequencies of "
                "a kernel of the l1 distance are not of uniform direction: they are drawn "
                "independently. Take coupling='auto' or 'iid'."
            )

    def offered(self, n: int) -> tuple[str, ...]:
        return ("iid",)

    def _frequencies(self, rng: np.random.Generator) -> Frequencies:
        parts, counts = self.table.parts, self.counts
        return Frequencies(
            np.concatenate([p.draw(n, rng) for p, n in zip(parts, counts, strict=True)]),
            np.repeat([p.mass / n for p, n in zip(parts, counts, strict=True)], counts),
            np.repeat([0.0 if p.sign > 0 else np.pi for p in parts], counts),
            np.repeat(np.arange(len(parts)), counts),
        )

    def model(self, points: FloatArray, *, approximate: bool = False) -> L1Model:
        return L1Model(self.table, points, approximate)
