"""Plots of kernels and their measures, of verdicts, and of designs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from spectra.base.files import atomic_file
from spectra.errors import MissingExtraError, ParameterError
from spectra.kernels import Kernel

if TYPE_CHECKING:
    from spectra.density import Atom, SpectralDensity
    from spectra.designs import Design
    from spectra.measure import SpectralMeasure
    from spectra.verdict import Verdict

__all__ = ["draw_atoms", "draw_certificate", "draw_density", "draw_error", "draw_kernel",
           "draw_radial_density", "label_decades", "plot_design", "plot_measure", "plot_verdict",
           "pyplot", "write_figure"]  # fmt: skip

# Colours of positive and negative values, and points of a curve.
POSITIVE, NEGATIVE = "#1f6fb4", "#c8442d"
_POINTS = 1500
#: Largest distance drawn for kernels without bounded support.
_RANGE = 4.0
#: Up to this ratio of its ends an axis has three labels in each decade (at most 12 fit).
_FEW_DECADES = 1e4
#: The dual function is drawn up to this multiple of the largest radius.
_DUAL_RANGE = 1.4
#: If there are radii above the second number, the axis is logarithmic above the first.
_LINEAR, _FAR = 10.0, 60.0


def pyplot() -> Any:
    """Import matplotlib's pyplot with the backend Agg, which needs no display."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError(
            "Plots need matplotlib, which is not installed: pip install 'kernel-spectra[plot]'."
        ) from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def write_figure(figure: Any, path: str | PathLike[str], *, dpi: int) -> None:
    """Save a figure atomically, in the format of the file suffix, and close it."""
    with atomic_file(path) as file:
        figure.savefig(file, format=Path(path).suffix[1:] or "png", dpi=dpi)
    pyplot().close(figure)


@contextmanager
def _picture(path: str | PathLike[str], columns: int, title: object) -> Iterator[Any]:
    """Yield a row of axes under a title; save the figure when the context ends."""
    size = (4.9 * columns, 3.8)
    figure, axes = pyplot().subplots(1, columns, figsize=size, layout="constrained")
    yield axes
    figure.suptitle(str(title), fontsize=10)
    write_figure(figure, path, dpi=110)


def label_decades(axis: Any) -> None:
    """Label a logarithmic axis at 1, 2, 5 times powers of 10, or at powers of 10 if it is long."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    multiples = (1.0, 2.0, 5.0) if high <= _FEW_DECADES * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=multiples))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def _draw_values(axes: Any, kernel: Any, low: float, high: float, *, title: str) -> None:
    """Draw k(z) on [low, high]."""
    z = np.linspace(low, high, _POINTS)
    axes.plot(z, kernel(z), color="black", lw=1.5)
    axes.axhline(0.0, color="0.8", lw=0.8, zorder=0)
    axes.set(xlabel="distance $z$", title=title)


# --- a kernel and its measure --------------------------------------------------------------------


def plot_measure(measure: SpectralMeasure, *, path: str | PathLike[str]) -> None:
    """Plot k(z) and the signed radial density, and save the figure."""
    with _picture(path, 2, measure.name) as (left, right):
        support = getattr(measure.kernel, "support", np.inf)
        z_max = 1.1 * support if 0 < support < np.inf else _RANGE
        if measure.kernel is None:
            z_max *= np.pi / measure.parts()[0].law.ppf(0.5)
        draw_kernel(left, measure, z_max=z_max)
        draw_radial_density(right, measure)


def draw_kernel(axes: Any, measure: SpectralMeasure, *, z_max: float) -> None:
    """Draw k(z) on [0, z_max] into matplotlib axes."""
    title = f"$k(z)$,  $d = {measure.dim}$"
    kernel = measure.kernel or (lambda z: measure.covariance(z)[0])
    _draw_values(axes, kernel, 0.0, z_max, title=title)


def draw_radial_density(axes: Any, measure: SpectralMeasure) -> None:
    """Draw the signed radial density and the atoms of a measure; the title gives the masses."""
    draw_density(axes, measure.density, measure.atoms)
    axes.set_title(
        rf"$w\,\rho(w)$:  $M_+$ = {measure.positive_mass.mid:.4g}, "
        rf"$M_-$ = {measure.negative_mass.mid:.4g}"
    )


def draw_density(axes: Any, density: SpectralDensity | None, atoms: Sequence[Atom]) -> None:
    """Draw w rho(w), rho the signed radial density, and atoms; the mass may be infinite."""
    if density is not None and density.components:
        low = min(c.bulk[0] for c in density.components) / 2.0
        high = max(c.bulk[1] for c in density.components) * 2.0
        w = np.geomspace(low, high, _POINTS)
        # The density of log w shows parts of very different scales in one plot.
        y = density.radial(w) * w
        axes.fill_between(w, y, where=y > 0, color=POSITIVE, alpha=0.6, lw=0, label=r"$\mu_+$")
        axes.fill_between(w, y, where=y < 0, color=NEGATIVE, alpha=0.6, lw=0, label=r"$\mu_-$")
        axes.plot(w, y, color="black", lw=0.8)
        axes.set_xscale("log")
        label_decades(axes.xaxis)
        axes.legend(frameon=False)
    for atom in atoms:
        color = POSITIVE if atom.mass > 0 else NEGATIVE
        x = max(atom.radius, axes.get_xlim()[0])
        label = f"  atom {atom.mass:+.3g} at {atom.radius:.3g}"
        axes.text(x, atom.mass, label, color=color)
        axes.plot([x, x], [0.0, atom.mass], color=color, lw=2, marker="o", markevery=[1])
    axes.axhline(0.0, color="0.5", lw=0.8)
    axes.set_xlabel("radius $w$")


# --- a verdict -----------------------------------------------------------------------------------


def plot_verdict(verdict: Verdict, *, path: str | PathLike[str]) -> None:
    """Plot k(z) and its singularities with their exponents, and save the figure."""
    if not isinstance(verdict.kernel, Kernel):
        raise ParameterError("The singularities of a callable are not known, so there is no plot.")
    with _picture(path, 1, str(verdict).split("\n")[0]) as axes:
        _draw_singularities(axes, verdict, verdict.kernel)


def _draw_singularities(axes: Any, verdict: Verdict, kernel: Kernel) -> None:
    """Draw k(z), with a line and the exponent at each singularity; those at 0 and oo as text."""
    inner = [s for s in verdict.singularities if s.location not in (0, sympy.oo)]
    places = [float(s.location) for s in inner]
    end = 1.15 * max(places) if places else _RANGE
    undefined_at_0 = any(s.location == 0 and s.exponent <= 0 for s in verdict.singularities)
    start = end / _POINTS if undefined_at_0 else 0.0
    _draw_values(axes, kernel, start, end, title="$k(z)$ and where it is not smooth")
    text_style = {"transform": axes.get_xaxis_transform(), "ha": "right", "va": "top"}
    for row, (s, place) in enumerate(zip(inner, places, strict=True)):
        decides = s == verdict.deciding
        color = NEGATIVE if decides else "0.5"
        axes.axvline(place, color=color, lw=1.2, ls="--", zorder=0)
        label = f"$s = {sympy.latex(s.exponent)}$" + (", decides  " if decides else "  ")
        axes.text(place, 0.97 - 0.08 * row, label, color=color, **text_style)
    others = [str(s) for s in verdict.singularities if s.location in (0, sympy.oo)]
    note = "; ".join(others) or "no singular term at 0 or at infinity"
    axes.set_xlabel(f"distance $z$\n{note}")


# --- a design ------------------------------------------------------------------------------------


def plot_design(design: Design, *, path: str | PathLike[str]) -> None:
    """Plot a design and save the figure: kernel, error, atoms; for least mass also the dual."""
    has_dual = design.objective == "mass"
    with _picture(path, 2 + has_dual, design.kernel) as axes:
        draw_error(axes[0], design)
        draw_atoms(axes[1], design)
        if has_dual:
            draw_certificate(axes[2], design)


def draw_error(axes: Any, design: Design) -> None:
    """Draw k on the domain, and the error of the design on a second axis."""
    _draw_values(axes, design.kernel, *design.domain, title=f"$d = {design.dim}$")
    axes.set_ylabel("$k(z)$")
    z, right = np.linspace(*design.domain, _POINTS), axes.twinx()
    right.plot(z, design(z) - design.kernel(z), color=NEGATIVE, lw=0.9)
    for level in (-design.tol, design.tol) if design.tol is not None else ():
        right.axhline(level, color=NEGATIVE, lw=0.6, ls=":")
    right.set_ylabel(r"error $\hat k - k$", color=NEGATIVE)
    right.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2))


def draw_atoms(axes: Any, design: Design) -> None:
    """Draw the signed masses over the radii, on a symmetric logarithmic scale."""
    axes.set_yscale("symlog", linthresh=float(np.abs(design.masses).min()))
    axes.margins(y=0.12)
    for sign, color in ((1.0, POSITIVE), (-1.0, NEGATIVE)):
        radii, masses = (a[sign * design.masses > 0] for a in (design.radii, design.masses))
        axes.vlines(radii, 0.0, masses, color=color, lw=2)
        axes.plot(radii, masses, "o", color=color, ms=4)
    axes.axhline(0.0, color="0.5", lw=0.8)
    title = f"{design.radii.size} atoms, total mass {design.mass:.4g}"
    _label_radii(axes, float(design.radii.max()), title)


def draw_certificate(axes: Any, design: Design) -> None:
    """Draw the dual function q(w) of a design of least mass; |q| <= 1, and |q| = 1 at its radii."""
    end = _DUAL_RANGE * float(design.radii.max()) + 1.0
    w = _LINEAR * np.sinh(np.linspace(0.0, np.arcsinh(end / _LINEAR), 2 * _POINTS))
    axes.plot(w, design.certificate(w), color="black", lw=1.0)
    axes.plot(design.radii, design.certificate(design.radii), "o", color=POSITIVE, ms=4)
    for level in (-1.0, 1.0):
        axes.axhline(level, color="0.5", lw=0.8, ls=":")
    _label_radii(axes, end, f"dual $q(w)$: the least mass is at least {design.lower_bound:.4g}")


def _label_radii(axes: Any, largest: float, title: str) -> None:
    """Set the title and the axis of radii, which is logarithmic if the largest radius is large."""
    if largest > _FAR:
        axes.set_xscale("symlog", linthresh=_LINEAR)
    axes.set(xlabel="radius $w$", title=title)
