"""Pictures of a verdict: where the kernel is not smooth, and the exponents against (d - 1)/2."""

from __future__ import annotations

import math
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from spectra.cli.plot_kernel import NEGATIVE, pyplot, write_figure
from spectra.errors import ParameterError
from spectra.kernels import Kernel

if TYPE_CHECKING:
    from spectra.verdict import Verdict

__all__ = ["plot_verdict"]

_POINTS = 1200
_RANGE = 4.0
#: Dimensions drawn beyond the largest of finite mass.
_MARGIN = 3


def plot_verdict(verdict: Verdict, *, path: str | PathLike[str]) -> None:
    """Write a picture of the local analysis and of the condition on d.

    Left: k(z) with each singular radius and its term.  Right: each exponent against the bound
    (d - 1)/2.

    The ending of ``path`` decides the format; a verdict on a callable is refused.
    """
    if not isinstance(verdict.kernel, Kernel):
        raise ParameterError("A callable shows no singularities: there is nothing to draw.")
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.0), layout="constrained")
    _draw_places(left, verdict, verdict.kernel)
    _draw_exponents(right, verdict)
    figure.suptitle(str(verdict).split("\n")[0], fontsize=10)
    write_figure(figure, path, dpi=130)


def _draw_places(axes: Any, verdict: Verdict, kernel: Kernel) -> None:
    """k(z), with a line at each radius where it is not smooth and the term there."""
    at_radii = [s for s in verdict.singularities if s.location not in (0, sympy.oo)]
    places = [float(s.location) for s in at_radii]
    end = 1.15 * max(places) if places else _RANGE
    z = np.linspace(0.0, end, _POINTS)
    if any(s.location == 0 and s.exponent <= 0 for s in verdict.singularities):
        z = z[1:]
    axes.plot(z, kernel(z), color="black", lw=1.5)
    axes.axhline(0.0, color="0.8", lw=0.8, zorder=0)
    place_of = {"transform": axes.get_xaxis_transform(), "ha": "right", "va": "top"}
    for row, (s, place) in enumerate(zip(at_radii, places, strict=True)):
        decides = s == verdict.deciding
        color = NEGATIVE if decides else "0.5"
        axes.axvline(place, color=color, lw=1.2, ls="--", zorder=0)
        label = f"$s = {sympy.latex(s.exponent)}$" + (", decides  " if decides else "  ")
        axes.text(place, 0.97 - 0.08 * row, label, color=color, **place_of)
    others = [str(s) for s in verdict.singularities if s.location in (0, sympy.oo)]
    note = "; ".join(others) or "no singular term at 0 or at infinity"
    axes.set(xlabel=f"distance $z$\n{note}", title="$k(z)$ and where it is not smooth")


def _draw_exponents(axes: Any, verdict: Verdict) -> None:
    """Each exponent at a finite radius against (d - 1)/2, which it must exceed."""
    exponents = sorted(
        {float(s.exponent) for s in verdict.singularities if s.location not in (0, sympy.oo)}
    )
    most = math.floor(2 * exponents[0] + 1) + _MARGIN if exponents else 8
    d = np.arange(1, max(most, verdict.dim or 1) + 1)
    bound = 0.5 * (d - 1)
    axes.plot(d, bound, "o-", color="black", ms=4, lw=1.0, label="$(d - 1)/2$")
    for s in exponents:
        axes.axhline(
            s, color=NEGATIVE if s == exponents[0] else "0.6", lw=1.2, label=f"$s = {s:g}$"
        )
    if verdict.dim is not None:
        axes.axvline(verdict.dim, color="0.8", zorder=0)
    title = "finite mass needs every $s > (d - 1)/2$"
    if not exponents:
        title = "no singularity at a finite radius: no bound on $d$ from there"
    axes.set(xlabel="dimension $d$", ylabel="exponent", title=title)
    axes.legend(frameon=False)
