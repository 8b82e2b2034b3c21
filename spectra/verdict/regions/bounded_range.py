r"""The verdict on the range of the data: is there any continuation beyond it of finite mass?

Singularities inside the range are there in every continuation.  At its end a one-sided term
(z_max - z)^s, s no integer, excludes every continuation where s <= (d - 1)/2, because finite
differences of order r > s of a kernel of finite mass vanish faster than h^s there.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy

from spectra.errors import ParameterError
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.pieces import merged
from spectra.formula.reader.parameters import exact_parameter
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analyse, one_sided
from spectra.singularities.places import Ending, Gap, LocalAnalysis
from spectra.singularities.zeros import same_radius
from spectra.verdict.decision import decided
from spectra.verdict.stated import refuse_callables
from spectra.verdict.status import RegionVerdict

__all__ = ["cut_at", "places_up_to", "verdict_on_range"]

Rule = Callable[[Ending], Ending]


def cut_at(kernel: Kernel, analysis: LocalAnalysis, end: sympy.Expr) -> LocalAnalysis:
    """The analysis on [0, end], without what was open beyond its end."""
    if analysis.exprs and not analysis.gaps:
        return analysis
    cut = merged((sympy.Min(piece.support, end), piece.expr) for piece in kernel.pieces)
    return analyse(Kernel(cut))


def places_up_to(
    end: sympy.Expr,
    analysis: LocalAnalysis,
    *,
    inside: Rule = lambda ending: ending,
    at_end: Rule = lambda ending: ending,
) -> tuple[Ending, ...]:
    """What is certain and what is open on [0, end], however the kernel goes on."""
    places = [Ending(gaps=analysis.gaps), analysis.origin]
    for i, (r, ending) in enumerate(analysis.radii):
        if same_radius(r, end):
            try:
                places.append(at_end(one_sided(analysis.exprs[i], r)))
            except ExpansionError as error:
                places.append(Ending(gaps=(Gap(f"The kernel at z = {r}: {error}", location=r),)))
        elif r.evalf(30) < end.evalf(30):
            places.append(inside(ending))
    return tuple(places)


def verdict_on_range(
    kernel: Kernel, analysis: LocalAnalysis, dim: int | None, z_max: float | sympy.Expr | None
) -> RegionVerdict:
    """Decide for the distances up to ``z_max``, by default 2 for a zonal kernel."""
    refuse_callables(kernel, "on_domain")
    if z_max is None:
        if not kernel.is_zonal:
            raise ParameterError(
                "Give z_max, the largest distance in the data: only a kernel on the unit "
                "sphere has a range of its own, [0, 2]."
            )
        z_max = 2
    end = exact_parameter("z_max", z_max)
    if not end.is_positive:
        raise ParameterError(f"z_max is a distance and must be positive, and {z_max} is not.")
    places = places_up_to(end, cut_at(kernel, analysis, end))
    finite = (
        f"Every singularity on [0, {end}] is weak enough, and the kernel can be cut off "
        "smoothly beyond."
    )
    return RegionVerdict(*decided(places, dim, finite), f"distances up to {end}", dim)
