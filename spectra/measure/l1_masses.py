r"""The mass of the truncated l1 distance max(1 - |x|_1, 0) in d = 1, 2 and 3, with its error.

With phi_a(c) = [a^2, c^2] cos(sqrt x), the divided difference of
:mod:`spectra.table.l1.truncated`, in the half sum s and half difference h of two frequencies,

.. math:: C_2 = \frac8{\pi^2} \int_{s > h > 0}
          \frac{|\mathrm{sinc}\,s\,\cos h - \cos s\,\mathrm{sinc}\,h|}{s^2 - h^2}\,dh\,ds, \qquad
          C_3 = \frac{48}{\pi^3} \int_{a > b > c > 0}
          \Bigl|\frac{\phi_a(b) - \phi_a(c)}{b^2 - c^2}\Bigr|\,dc\,db\,da.

No formula for them is known.  ``tests/oracles/hat_masses.py`` integrates them between changes of
sign, and ``tests/spectra/kernels/test_l1.py`` holds these numbers to it.
"""

from __future__ import annotations

from spectra.base.enclosures import Enclosure
from spectra.errors import NoRouteError

__all__ = ["hat_mass"]

_MASSES = {
    1: Enclosure(1.0, 0.0, rigorous=True),
    2: Enclosure(1.4142197224896034, 2.129e-8),
    3: Enclosure(2.361554683532177, 6.020e-5),
}


def hat_mass(dim: int) -> Enclosure:
    """The total variation C_d of the measure of max(1 - |x|_1, 0) on R^dim.

    That of max(r - |x|_1, 0) is C_d r.  The error is an estimate: the difference of two expansions
    of what is far out.

    Raises
    ------
    NoRouteError
        For d > 3.

    Examples
    --------
    >>> hat_mass(1).mid                # positive definite on the line
    1.0
    >>> f"{hat_mass(2):.7f}"
    '1.4142197'
    """
    if dim not in _MASSES:
        raise NoRouteError(
            f"The mass of the truncated l1 distance is known in d = 1, 2, 3, not in d = {dim}: it "
            "is finite, and grows by a factor with every column."
        )
    return _MASSES[dim]
