"""The table of a design: one part for each sphere, so that each gets frequencies of its own.

The masses of a design may be large and cancel.  Drawn as two Jordan parts, whose radii are sampled,
they would not cancel; with a part for each sphere they do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spectra.quadrature import Enclosure
from spectra.table import Part, RadialLaw, SpectralTable

if TYPE_CHECKING:
    from spectra.kernel import Kernel

__all__ = ["table_of_spheres"]

FloatArray = NDArray[np.float64]


def table_of_spheres(
    kernel: Kernel,
    dim: int,
    radii: FloatArray,
    masses: FloatArray,
    domain: tuple[float, float],
    sup_error: Enclosure,
) -> SpectralTable:
    """A table with a part for each sphere, right up to the end of the domain.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> k, error = radial("cos(2*z)"), Enclosure(0.0, 0.0)
    >>> table = table_of_spheres(k, 1, np.array([2.0]), np.array([1.0]), (0.0, 3.0), error)
    >>> len(table.parts), table.domain
    (1, 3.0)
    """
    parts = tuple(
        Part(abs(c), 0.0, 0.0 if c > 0 else float(np.pi), RadialLaw.from_atoms([w], [1.0]))
        for w, c in zip(radii.tolist(), masses.tolist(), strict=True)
        if c != 0.0
    )
    return SpectralTable(
        dim=dim,
        parts=parts,
        formula=str(kernel),
        k_zero=float(masses.sum()),
        u_error=0.0,
        bias=sup_error.mid + sup_error.rad,
        domain=domain[1],
        sphere=kernel.is_zonal,
        provenance=f"designed on distances {domain[0]:g} to {domain[1]:.9g}",
    )
