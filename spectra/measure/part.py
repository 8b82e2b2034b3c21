"""One sign of a measure: what frequencies of one phase are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectra.base.enclosures import Enclosure
from spectra.density.components import Atom
from spectra.table.radial.panels import Panels
from spectra.table.tails.wave_sum import WaveSum

__all__ = ["MeasurePart"]


@dataclass(frozen=True, eq=False)
class MeasurePart:
    """One sign of a measure: atoms of positive mass, panels, and a sum of waves beyond them."""

    sign: int
    mass: Enclosure
    atoms: tuple[Atom, ...]
    panels: Panels | None
    waves: WaveSum | None = None

    @property
    def phase(self) -> float:
        """Phase of its plane waves: 0 for the positive part, pi for the negative one."""
        return 0.0 if self.sign > 0 else float(np.pi)

    def __repr__(self) -> str:
        count = 0 if self.panels is None else self.panels.size
        held = [f"{len(self.atoms)} atoms", f"{count} panels"]
        held += ["waves without end"] if self.waves is not None else []
        return f"{'+' if self.sign > 0 else '-'} part of mass {self.mass}: {', '.join(held)}"

    @cached_property
    def all_panels(self) -> Panels:
        """The panels with the atoms between them."""
        points = Panels.points([a.radius for a in self.atoms], [a.mass for a in self.atoms])
        return Panels.joined([points] if self.panels is None else [self.panels, points])
