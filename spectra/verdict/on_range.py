r"""The verdict on the range of the data: is there any continuation beyond it of finite mass?

Singularities inside the range are there in every continuation.  At its end a one-sided term
(z_max - z)^s, s no integer, excludes every continuation where s <= (d - 1)/2, because finite
differences of order r > s of a kernel of finite mass vanish faster than h^s there.
"""

from __future__ import annotations

import sympy

from spectra.errors import ParameterError
from spectra.formula.parameters import exact_parameter
from spectra.kernel import Kernel
from spectra.singularity.places import LocalAnalysis
from spectra.verdict.decision import decided
from spectra.verdict.spherical import places_up_to
from spectra.verdict.stated import refuse_callables
from spectra.verdict.status import DomainVerdict

__all__ = ["verdict_on_range"]


def verdict_on_range(
    kernel: Kernel, analysis: LocalAnalysis, dim: int | None, z_max: float | sympy.Expr | None
) -> DomainVerdict:
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
    places = places_up_to(kernel, analysis, end)
    finite = (
        f"Every singularity on [0, {end}] is weak enough, and the kernel can be cut off "
        "smoothly beyond."
    )
    return DomainVerdict(**vars(decided(places, dim, finite)), z_max=end, dim=dim)
