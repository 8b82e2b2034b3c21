"""What the page shows of a radial kernel: kernel, verdict, density, table, columns."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, final

import numpy as np
import sympy

from rf.explore.columns import errors_by_coupling
from rf.explore.estimates import columns_panel, curve, places, table_panel
from rf.explore.panel import Grid, Panel, Refusal
from rf.explore.pictures import drawn
from spectra.base.arrays import FloatArray
from spectra.cli.plot_kernel import draw_density
from spectra.density import SpectralDensity, spectral_density
from spectra.derivation import derive
from spectra.errors import SpectraError
from spectra.kernels import Kernel
from spectra.measure import SpectralMeasure
from spectra.table import SpectralTable
from spectra.verdict import D, Ladder, Verdict, existence, with_ladder

__all__ = ["YES", "RadialAnswers", "definite_line"]


_DIMENSIONS = 10
#: Radii in the table of a density.
_ROWS = 9
_FINE = 400
YES = {True: "yes", False: "no", None: "not settled"}


@final
class RadialAnswers:
    """The panels of a radial kernel; what several of them need is found once.

    Parameters
    ----------
    kernel : Kernel
    dim : int
    reach : float
        The largest distance that is shown.
    name : str
        What is added to the names of its pictures, where a page shows several kernels.

    Examples
    --------
    >>> from spectra import radial
    >>> RadialAnswers(radial("(1 - z**2/4)**2", support=2), 3, 2.0).verdict().lines[0]
    '[(1 - z**2/4)**2 on z <= 2]: its spectral measure has finite mass in d = 3'
    """

    def __init__(self, kernel: Kernel, dim: int, reach: float, name: str = "") -> None:
        self._kernel, self._dim, self._reach, self._name = kernel, dim, reach, name

    @cached_property
    def _confirmed(self) -> tuple[Verdict, Ladder | None]:
        """The verdict in this dimension, and the partial masses where they are known."""
        return with_ladder(existence(self._kernel, dim=self._dim))

    @property
    def _measure(self) -> SpectralMeasure:
        """The spectral measure, or why there is none."""
        return self._confirmed[0].measure

    @cached_property
    def _table(self) -> SpectralTable:
        """The table, read where it was derived before."""
        # The verdict refuses what has no table, and its partial masses have a say in that.
        _ = self._measure
        return derive(self._kernel, self._dim)

    def kernel(self) -> Panel:
        """Values, and where the kernel ends."""
        kernel = self._kernel
        rows = places(self._reach)
        written = "u = ⟨x, y⟩, rows of length 1" if kernel.is_zonal else "z = |x − y|"

        def draw(axes: Any) -> None:
            z = np.linspace(0.0, self._reach, _FINE)
            axes.plot(z, kernel(z), color="black", lw=1.6)
            axes.axhline(0.0, color="#cccccc", lw=0.8, zorder=0)
            axes.set(xlabel="distance z", ylabel="k(z)")

        return Panel(
            facts=(
                ("k(0)", f"{kernel.at_zero:.6g}"),
                ("written in", written),
                (
                    "zero beyond",
                    f"z = {kernel.support:g}" if np.isfinite(kernel.support) else "nowhere",
                ),
            ),
            picture=drawn(draw, name=f"kernel{self._name}"),
            tables=(curve("The kernel", "z", "k(z)", rows, kernel(rows)),),
        )

    def verdict(self) -> Panel:
        """Answer, reasons, the ladder over d, and partial masses."""
        verdict, ladder = self._confirmed
        lines = [
            str(verdict).split("\n")[0],
            *verdict.reasons,
            definite_line(verdict),
        ]
        tables = [_over_dimensions(existence(self._kernel), verdict)]
        if ladder is None:
            lines.append("No route knows its spectral density, so no partial masses confirm this.")
            return Panel(lines=tuple(lines), tables=tuple(tables))
        rows = tuple(
            (f"{w:.4g}", f"{m / np.log(10.0):.6f}")
            for w, m in zip(ladder.radii, ladder.log_masses, strict=True)
        )
        agree = {True: "which agree with", False: "which contradict", None: "not foreseen by"}
        caption = f"Masses up to the radius W, {agree[ladder.agrees]} the analysis of the kernel"
        tables.append(Grid(caption, ("W", "log₁₀ M(W)"), rows))
        return Panel(lines=tuple(lines), tables=tuple(tables))

    def density(self) -> Panel:
        """The density with its parts, and their masses."""
        density = spectral_density(self._kernel, self._dim)
        rows = _radii(density)
        tables: tuple[Grid, ...] = ()
        if rows.size:
            tables = (curve("Density", "w", "w ρ(w)", rows, density.radial(rows) * rows),)
        if density.atoms:
            atoms = tuple((f"{a.radius:.6g}", f"{a.mass:+.6g}") for a in density.atoms[:_FINE])
            tables += (Grid("Atoms", ("|w|", "mass"), atoms),)

        def draw(axes: Any) -> None:
            draw_density(axes, density, density.atoms)
            axes.set(xlabel="radius w", ylabel="w ρ(w)")

        route = f"it was found by the route {density.route}"
        found = Panel(
            lines=(f"ρ(w) is the density of the radius; {route}.",),
            picture=drawn(draw, name=f"density{self._name}"),
            tables=tables,
        )
        try:
            measure = self._measure
            masses = measure.positive_mass, measure.negative_mass, measure.mass
        except SpectraError as error:
            return replace(found, refusal=Refusal.of(error))
        names = ("M₊, of the positive part", "M₋, of the negative part", "both together")
        return replace(found, facts=tuple(zip(names, map(str, masses), strict=True)))

    def table(self) -> Panel:
        """The table, and how far the mean of its features is from the kernel."""
        table, kernel = self._table, self._kernel
        return table_panel(
            table, table.expected_kernel, kernel, self._reach, name=f"table{self._name}"
        )

    def columns(self) -> Panel:
        """The error of every coupling."""
        return columns_panel(
            errors_by_coupling(self._table, self._kernel, self._reach),
            f"distances spread evenly from 0 to {self._reach:g}",
        )


def definite_line(verdict: Any) -> str:
    """Whether the kernel of a verdict in one dimension is positive definite, with the reason."""
    definite = verdict.positive_definite
    return f"Positive definite in d = {verdict.dim}: {YES[definite.answer]}. {definite.reason}"


def _over_dimensions(everywhere: Verdict, here: Verdict) -> Grid:
    """The ladder over d: finite mass, and positive definiteness."""
    largest = everywhere.positive_definite.max_dim
    assert here.dim is not None
    shown = sorted({*range(1, _DIMENSIONS + 1), here.dim})
    rows = []
    for d in shown:
        told = None if everywhere.condition is None else everywhere.condition.subs(D, d)
        finite = {sympy.true: "finite", sympy.false: "infinite"}.get(told, "undecided")
        definite = None if largest is None else d <= largest
        if finite == "infinite":
            definite = False
        if d == here.dim:
            finite, definite = here.status.value, here.positive_definite.answer
        mark = f"{d} (here)" if d == here.dim else str(d)
        rows.append((mark, finite, YES[definite]))
    head = ("d", "mass", "positive definite")
    return Grid("The ladder over d", head, tuple(rows), is_open=True)


def _radii(density: SpectralDensity) -> FloatArray:
    """Radii at which a table shows the density."""
    if not density.components:
        return np.empty(0)
    low = min(c.bulk[0] for c in density.components)
    high = max(c.bulk[1] for c in density.components)
    return np.geomspace(low, high, _ROWS)
