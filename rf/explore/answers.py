"""What the page shows of a kernel: the kernel, the verdict, the density, the table, the columns."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, final

import numpy as np
import sympy
from numpy.typing import NDArray

from rf.explore.columns import errors_by_coupling
from rf.explore.panel import Grid, Panel, Refusal
from rf.explore.pictures import COLOURS, NEGATIVE, POSITIVE, drawn
from rf.explore.question import Question
from spectra.density import SpectralDensity
from spectra.derivation import derive
from spectra.errors import InfiniteMassError, SpectraError, UndecidedError
from spectra.kernel import Kernel
from spectra.measure import SpectralMeasure
from spectra.numeric import bound_text
from spectra.plot import draw_density, label_decades
from spectra.table import SpectralTable
from spectra.transform import spectral_density
from spectra.verdict import Ladder, Verdict, existence
from spectra.verdict.report import with_ladder
from spectra.verdict.status import D

__all__ = ["ANSWERS", "Answers"]

FloatArray = NDArray[np.float64]

_DIMENSIONS = 10
#: Rows of a table that stands for a picture.
_ROWS = 9
_FINE = 400
_YES = {True: "yes", False: "no", None: "not settled"}


@final
class Answers:
    """All answers to one question; what several of them need is found once.

    Parameters
    ----------
    question : Question

    Examples
    --------
    >>> answers = Answers(Question("(1 - z**2/4)**2", dim="3", support="2"))
    >>> answers("verdict").lines[0]
    '[(1 - z**2/4)**2 on z <= 2]: its spectral measure has finite mass in d = 3'
    >>> answers("kernel").facts[0]
    ('k(0)', '1')
    """

    def __init__(self, question: Question) -> None:
        self.question = question

    def __call__(self, name: str) -> Panel:
        """One panel of :data:`ANSWERS`; a refusal is an answer as well."""
        try:
            return ANSWERS[name](self)
        except (InfiniteMassError, UndecidedError):
            # The panel of the density says why, and what to do.
            return Panel(lines=("There is no finite measure to draw from: see the density.",))
        except SpectraError as error:
            return Panel(refusal=Refusal.of(error))

    @property
    def kernel(self) -> Kernel:
        """The kernel asked about."""
        return self.question.kernel

    @property
    def dim(self) -> int:
        """The dimension asked about."""
        return self.question.dimension

    @cached_property
    def confirmed(self) -> tuple[Verdict, Ladder | None]:
        """The verdict in this dimension, and the partial masses where they are known."""
        return with_ladder(existence(self.kernel, dim=self.dim))

    @cached_property
    def density(self) -> SpectralDensity:
        """The spectral density, whatever its mass."""
        return spectral_density(self.kernel, self.dim)

    @property
    def measure(self) -> SpectralMeasure:
        """The spectral measure, or why there is none."""
        return self.confirmed[0].measure

    @cached_property
    def table(self) -> SpectralTable:
        """The table, read where it was derived before."""
        # The verdict refuses what has no table, and its partial masses have a say in that.
        _ = self.measure
        return derive(self.kernel, self.dim)

    @cached_property
    def distances(self) -> FloatArray:
        """Distances of a curve on the range that is shown."""
        return np.linspace(0.0, self.question.reach, _FINE)


def _kernel(answers: Answers) -> Panel:
    asked, kernel = answers.question, answers.kernel
    rows = asked.reach * np.linspace(0.0, 1.0, _ROWS)

    def draw(axes: Any) -> None:
        z = answers.distances
        axes.plot(z, kernel(z), color="black", lw=1.6)
        axes.axhline(0.0, color="#cccccc", lw=0.8, zorder=0)
        axes.set(xlabel="distance z", ylabel="k(z)")

    return Panel(
        facts=(
            ("k(0)", f"{kernel.at_zero:.6g}"),
            ("written in", "u = ⟨x, y⟩, rows of length 1" if kernel.is_zonal else "z = |x − y|"),
            (
                "zero beyond",
                f"z = {kernel.support:g}" if np.isfinite(kernel.support) else "nowhere",
            ),
        ),
        picture=drawn(draw, name="kernel"),
        tables=(_curve("The kernel", "z", "k(z)", rows, kernel(rows)),),
        commands=_commands(asked),
        fields=asked.fields,
    )


def _commands(asked: Question) -> tuple[tuple[str, str], ...]:
    """The same at a shell, and in Python."""
    options = [f"--dim {asked.dimension}"]
    if asked.support:
        options.append(f"--support {shlex.quote(asked.support)}")
    options += [f"--set {shlex.quote(f'{name}={value}')}" for name, value in asked.fields]
    words = " ".join([shlex.quote(asked.formula.strip()), *options])
    given = [repr(asked.formula.strip())]
    if asked.support:
        given.append(f"support={asked.support!r}")
    if asked.fields:
        given.append(f"parameters={dict(asked.fields)}")
    python = (
        "from rf import SpectralFeatures\nfrom spectra.families import kernel_from_text\n\n"
        f"kernel = kernel_from_text({', '.join(given)})\n"
        "features = SpectralFeatures(kernel, n_components=512, random_state=0)"
    )
    return (
        ("At a shell", f"spectra check {words}\nspectra derive {words} --out k.npz"),
        ("In Python", python),
    )


def _verdict(answers: Answers) -> Panel:
    verdict, ladder = answers.confirmed
    everywhere = existence(answers.kernel)
    definite = verdict.positive_definite
    lines = [
        str(verdict).split("\n")[0],
        *verdict.reasons,
        f"Positive definite in d = {answers.dim}: {_YES[definite.answer]}. {definite.reason}",
    ]
    tables = [_over_dimensions(everywhere, verdict)]
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
        rows.append((mark, finite, _YES[definite]))
    head = ("d", "mass", "positive definite")
    return Grid("The ladder over d", head, tuple(rows), is_open=True)


def _density(answers: Answers) -> Panel:
    density = answers.density
    rows = _radii(density)
    tables: tuple[Grid, ...] = ()
    if rows.size:
        tables = (_curve("Density", "w", "w ρ(w)", rows, density.radial(rows) * rows),)
    if density.atoms:
        atoms = tuple((f"{a.radius:.6g}", f"{a.mass:+.6g}") for a in density.atoms[:_FINE])
        tables += (Grid("Atoms", ("|w|", "mass"), atoms),)

    def draw(axes: Any) -> None:
        draw_density(axes, density, density.atoms)
        axes.set(xlabel="radius w", ylabel="w ρ(w)")

    found = Panel(
        lines=(f"ρ(w) is the density of the radius; it was found by the route {density.route}.",),
        picture=drawn(draw, name="density"),
        tables=tables,
    )
    try:
        measure = answers.measure
        masses = measure.positive_mass, measure.negative_mass, measure.mass
    except SpectraError as error:
        return replace(found, refusal=Refusal.of(error))
    names = ("M₊, of the positive part", "M₋, of the negative part", "both together")
    return replace(found, facts=tuple(zip(names, map(str, masses), strict=True)))


def _radii(density: SpectralDensity) -> FloatArray:
    """Radii at which a table shows the density."""
    if not density.components:
        return np.empty(0)
    low = min(c.bulk[0] for c in density.components)
    high = max(c.bulk[1] for c in density.components)
    return np.geomspace(low, high, _ROWS)


def _table(answers: Answers) -> Panel:
    table, kernel = answers.table, answers.kernel
    rows = answers.question.reach * np.linspace(0.0, 1.0, _ROWS)
    z = answers.distances[::4]
    exact = kernel(z)
    error = np.abs(table.expected_kernel(z) - exact)
    scale = float(np.max(np.abs(exact)))

    def draw(axes: Any) -> None:
        seen = error > 0.0
        axes.semilogy(z[seen], error[seen], ".", ms=3, color=POSITIVE)
        axes.axhline(table.u_error * table.mass, color=NEGATIVE, lw=1.0, ls="--")
        axes.annotate(
            "u-error × mass",
            (0.99, table.u_error * table.mass),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="right",
            color=NEGATIVE,
        )
        axes.set(xlabel="distance z", ylabel="|E k̂(z) − k(z)|")

    return Panel(
        facts=(
            ("error in probability (u-error)", bound_text(table.u_error)),
            ("largest |E k̂ − k| seen", f"{error.max():.1e}, where |k| reaches {scale:.3g}"),
            ("parts", "; ".join(repr(part) for part in table.parts)),
        ),
        picture=drawn(draw, name="table"),
        tables=(
            _curve(
                "Mean of the features less the kernel", "z", "E k̂(z) − k(z)",
                rows, table.expected_kernel(rows) - kernel(rows),
            ),
        ),
    )  # fmt: skip


def _columns(answers: Answers) -> Panel:
    found = errors_by_coupling(answers.table, answers.kernel, answers.question.reach)
    sizes = found.columns

    def draw(axes: Any) -> None:
        from matplotlib.ticker import NullLocator

        styles = ("-", "--", "-.", ":")
        for i, (name, values) in enumerate(found.errors.items()):
            style = styles[i % len(styles)]
            axes.loglog(sizes, values, style, color=COLOURS[i % len(COLOURS)], lw=1.4, label=name)
        axes.set(xlabel="columns", ylabel="relative error of K")
        axes.set_xticks(sizes, [str(n) for n in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        label_decades(axes.yaxis)
        axes.legend(frameon=False, fontsize=8.5, ncols=2)

    rows = tuple(
        (name, *("–" if np.isnan(e) else f"{e:.3g}" for e in values))
        for name, values in found.errors.items()
    )
    lines = [
        "Expected error of the kernel matrix, relative to its norm, for distances spread evenly "
        f"from 0 to {answers.question.reach:g}: the square root of the mean exact variance."
    ]
    lines.append(
        "Radii are independent here; those that SpectralFeatures draws by default are stratified, "
        "which mostly lessens the error further."
    )
    if found.left_out:
        lines.append(f"Not shown: {'; '.join(found.left_out)}.")
    caption = "Relative error by coupling and number of columns"
    head = ("coupling", *map(str, sizes))
    return Panel(
        lines=tuple(lines),
        picture=drawn(draw, name="columns"),
        tables=(Grid(caption, head, rows),),
    )


def _curve(caption: str, x: str, y: str, places: FloatArray, values: FloatArray) -> Grid:
    rows = tuple((f"{a:.4g}", f"{b:.6g}") for a, b in zip(places, values, strict=True))
    return Grid(caption, (x, y), rows)


#: What each panel says; ``columns`` takes seconds, the others mostly less than one.
ANSWERS: Mapping[str, Callable[[Answers], Panel]] = MappingProxyType(
    {
        "kernel": _kernel,
        "verdict": _verdict,
        "density": _density,
        "table": _table,
        "columns": _columns,
    }
)
