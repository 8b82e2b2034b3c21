"""Pictures of a kernel and of its measure."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectra.base.files import whole_file
from spectra.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from spectra.density import Atom, SpectralDensity
    from spectra.kernels import Kernel
    from spectra.measure import SpectralMeasure

__all__ = [
    "draw_density",
    "draw_kernel",
    "draw_radial_density",
    "label_decades",
    "plot_measure",
    "pyplot",
    "write_figure",
]

POSITIVE = "#1f6fb4"
NEGATIVE = "#c8442d"
_POINTS = 1200
#: Up to this ratio of its ends an axis has room for three labels a decade (chosen: 12 labels).
_FEW_DECADES = 1e4


def pyplot() -> Any:
    """Matplotlib's pyplot on a canvas that needs no screen."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError(
            "Drawing needs matplotlib, which is not installed: pip install 'kernel-spectra[plot]'."
        ) from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def write_figure(figure: Any, path: str | PathLike[str], *, dpi: int) -> None:
    """Write a figure in the format that the ending names, whole or not at all, and close it."""
    with whole_file(path) as file:
        figure.savefig(file, format=Path(path).suffix[1:] or "png", dpi=dpi)
    pyplot().close(figure)


def label_decades(axis: Any) -> None:
    """Label a logarithmic axis at 1, 2 and 5 of each decade, or of many at 1, in plain numbers."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    within = (1.0, 2.0, 5.0) if high <= _FEW_DECADES * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=within))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def draw_kernel(axes: Any, measure: SpectralMeasure, *, z_max: float) -> None:
    """Draw k(z) on [0, z_max] into matplotlib axes."""
    z = np.linspace(0.0, z_max, _POINTS)
    axes.plot(z, _kernel_of(measure)(z), color="black", lw=1.5)
    axes.axhline(0.0, color="0.8", lw=0.8, zorder=0)
    axes.set(xlabel="distance $z$", title=f"$k(z)$,  $d = {measure.dim}$")


def draw_radial_density(axes: Any, measure: SpectralMeasure) -> None:
    """Draw the signed density of the radius with its two parts, and its atoms as stems."""
    draw_density(axes, measure.density, measure.atoms)
    axes.set_title(
        rf"$w\,\rho(w)$:  $M_+$ = {measure.positive_mass.mid:.4g}, "
        rf"$M_-$ = {measure.negative_mass.mid:.4g}"
    )


def draw_density(axes: Any, density: SpectralDensity | None, atoms: Sequence[Atom]) -> None:
    """Draw w rho(w) with its two parts, whatever its mass, and atoms as stems."""
    if density is not None and density.components:
        low = min(c.bulk[0] for c in density.components) / 2.0
        high = max(c.bulk[1] for c in density.components) * 2.0
        w = np.geomspace(low, high, _POINTS)
        # Mass for each unit of log w: both parts stay visible where their scales are far apart.
        rho = density.radial(w) * w
        axes.fill_between(w, rho, where=rho > 0, color=POSITIVE, alpha=0.6, lw=0, label=r"$\mu_+$")
        axes.fill_between(w, rho, where=rho < 0, color=NEGATIVE, alpha=0.6, lw=0, label=r"$\mu_-$")
        axes.plot(w, rho, color="black", lw=0.8)
        axes.set_xscale("log")
        label_decades(axes.xaxis)
        axes.legend(frameon=False)
    for atom in atoms:
        color = POSITIVE if atom.mass > 0 else NEGATIVE
        place = max(atom.radius, axes.get_xlim()[0])
        label = f"  atom {atom.mass:+.3g} at {atom.radius:.3g}"
        axes.text(place, atom.mass, label, color=color)
        axes.plot([place, place], [0.0, atom.mass], color=color, lw=2, marker="o", markevery=[1])
    axes.axhline(0.0, color="0.5", lw=0.8)
    axes.set_xlabel("radius $w$")


def plot_measure(measure: SpectralMeasure, *, path: str | PathLike[str]) -> None:
    """Write a picture (.png, .pdf, .svg) of k(z) and of the signed radial density."""
    plt = pyplot()
    support = _kernel_of(measure).support
    z_max = 1.1 * support if 0 < support < np.inf else 4.0
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    draw_kernel(left, measure, z_max=z_max)
    draw_radial_density(right, measure)
    figure.suptitle(str(measure.kernel), fontsize=10)
    write_figure(figure, path, dpi=130)


def _kernel_of(measure: SpectralMeasure) -> Kernel:
    if measure.kernel is None:
        raise ParameterError("This measure was made from atoms alone: it has no kernel to draw.")
    return measure.kernel
