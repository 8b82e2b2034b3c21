r"""Many coefficients of a kernel at zero, by Cauchy's integral in ball arithmetic.

.. math:: c_n = \frac{1}{N r^n} \sum_{j<N} k(r e^{2\pi i j/N})\, e^{-2\pi i j n/N}
                - \sum_{m \ne 0} c_{n+mN}\, r^{mN}.

The coefficients that the circle gives beyond the middle say how small those are that it cannot tell
apart, and that no singularity is inside.
"""

from __future__ import annotations

import flint

from spectra.base.precision import Ball, working
from spectra.density.continuation.continuation import Continuation

__all__ = ["taylor"]

_POINTS, _BITS, _RADII = 256, 384, 12
# Coefficients, each times r^n, beyond the middle must be below that share of the largest one.
_NOTHING = flint.arb(10) ** -45


def taylor(kernel: Continuation, scale: float, count: int) -> list[Ball] | None:
    """Coefficients of z^n, n < count, with balls around them; None where k is not analytic at 0.

    Parameters
    ----------
    kernel : Continuation
        The kernel, real on the half-line.
    scale : float
        The largest circle that is looked at.
    count : int
        How many, a fifth of 256 at most.

    Examples
    --------
    >>> import sympy
    >>> from spectra.formula.reader.parsing import Z
    >>> found = taylor(Continuation(1 / (1 + Z)), 1.0, 40)
    >>> print(found[39].str(10, radius=False))
    -1.000000000
    """
    with working(_BITS):
        roots = [(2 * flint.acb.pi() * flint.acb(0, j) / _POINTS).exp() for j in range(_POINTS)]
        for i in range(_RADII):
            radius = flint.arb(scale) / 2**i
            found = _on_circle(kernel, radius, roots)
            if found is None:
                continue
            largest = max(abs(c).upper() for c in found)
            blurred = max(abs(c).upper() for c in found[_POINTS // 2 :])
            if blurred < _NOTHING * largest:
                unknown = flint.arb(0, blurred)
                return [(found[n] + unknown) / radius**n for n in range(count)]
    return None


def _on_circle(kernel: Continuation, radius: Ball, roots: list[Ball]) -> list[Ball] | None:
    """c_n r^n and what is mixed with it; None where the kernel is not finite."""
    half = [kernel(radius * root, _BITS) for root in roots[: _POINTS // 2 + 1]]
    if not all(value.is_finite() for value in half):
        return None
    # Conjugate places have conjugate values.
    values = [*half, *(value.conjugate() for value in half[-2:0:-1])]
    return [
        sum((values[j] * roots[-n * j % _POINTS] for j in range(_POINTS)), flint.acb(0)).real
        / _POINTS
        for n in range(_POINTS)
    ]
