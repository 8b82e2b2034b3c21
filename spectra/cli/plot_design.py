"""Pictures of designs: the kernel and its error, the atoms, and the dual that shows them best."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spectra.cli.plot_kernel import NEGATIVE, POSITIVE, pyplot, write_figure

if TYPE_CHECKING:
    from spectra.designs import Design

__all__ = ["draw_atoms", "draw_certificate", "draw_error", "plot_design"]

_POINTS = 1500
# The dual is drawn this far beyond the last radius of the design, where it has come to rest.
_BEYOND = 1.4
# Radii beyond the second number are drawn on a scale that is logarithmic from the first one on.
_LINEAR, _FAR = 10.0, 60.0


def draw_error(axes: Any, design: Design, *, tol: float | None) -> None:
    """Draw k on the domain, and the error of the design on an axis of its own."""
    z = np.linspace(*design.domain, _POINTS)
    axes.plot(z, design.kernel(z), color="black", lw=1.5)
    axes.set(xlabel="distance $z$", ylabel="$k(z)$", title=f"$d = {design.dim}$")
    right = axes.twinx()
    right.plot(z, design(z) - design.kernel(z), color=NEGATIVE, lw=0.9)
    if tol is not None:
        for level in (-tol, tol):
            right.axhline(level, color=NEGATIVE, lw=0.6, ls=":")
    right.set_ylabel(r"error $\hat k - k$", color=NEGATIVE)
    right.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2))


def draw_atoms(axes: Any, design: Design) -> None:
    """Draw the signed masses over the radii, on a scale that shows small and large ones."""
    axes.set_yscale("symlog", linthresh=float(np.abs(design.masses).min()))
    axes.margins(y=0.12)
    if design.radii.max() > _FAR:
        axes.set_xscale("symlog", linthresh=_LINEAR)
    for sign, color in ((1.0, POSITIVE), (-1.0, NEGATIVE)):
        chosen = sign * design.masses > 0
        if np.any(chosen):
            axes.vlines(design.radii[chosen], 0.0, design.masses[chosen], color=color, lw=2)
            axes.plot(design.radii[chosen], design.masses[chosen], "o", color=color, ms=4)
    axes.axhline(0.0, color="0.5", lw=0.8)
    axes.set(
        xlabel="radius $w$",
        title=f"{design.radii.size} atoms of mass {np.abs(design.masses).sum():.4g}",
    )


def draw_certificate(axes: Any, design: Design) -> None:
    """Draw the dual q(w) of a design of least mass: within +-1, and +-1 at its radii."""
    dual = design.dual
    assert dual is not None  # a design of least mass has one
    w = np.linspace(0.0, _BEYOND * float(design.radii.max()) + 1.0, _POINTS)
    scale = 1.0 + dual.multiplier
    if w[-1] > _FAR:
        axes.set_xscale("symlog", linthresh=_LINEAR)
        w = np.concatenate(
            [np.linspace(0.0, _LINEAR, _POINTS), np.geomspace(_LINEAR, w[-1], _POINTS)]
        )
    axes.plot(w, dual(w) / scale, color="black", lw=1.0)
    axes.plot(design.radii, dual(design.radii) / scale, "o", color=POSITIVE, ms=4)
    for level in (-1.0, 1.0):
        axes.axhline(level, color="0.5", lw=0.8, ls=":")
    axes.set(xlabel="radius $w$", title=f"dual: no measure has less than {dual.lower_bound:.4g}")


def plot_design(design: Design, *, path: str | PathLike[str]) -> None:
    """Write a picture of a design: kernel and error, atoms, and for least mass its certificate."""
    plt = pyplot()
    certified = design.dual is not None and design.dual.objective == "mass"
    figure, axes = plt.subplots(
        1, 2 + certified, figsize=(4.4 * (2 + certified), 3.4), layout="constrained"
    )
    draw_error(axes[0], design, tol=design.tol)
    draw_atoms(axes[1], design)
    if certified:
        draw_certificate(axes[2], design)
    figure.suptitle(str(design.kernel), fontsize=10)
    write_figure(figure, path, dpi=80)
