"""Total masses: time and error, beside general quadrature of the absolute value of rho."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp
from scipy import special
from scipy.integrate import quad

import spectra as sp
from spectra.measure import measure_of

from .timing import Table, number, patiently, say, seconds

__all__ = ["run"]

Zero = Callable[[int], Any]

_PATIENCE = 90.0


def run() -> list[Table]:
    """One table: three kernels by quadrature, by proof, and by their rivals."""
    table = Table(
        "Masses",
        "The density is known in closed form to all; its zeros are not. The error is relative to "
        "digits that are proved or known in closed form.",
        ("kernel", "method", "seconds", "ratio", "relative error", "stated"),
        [],
    )
    cases: list[tuple[str, Any, int, str, Callable[[float], float], Zero | None]] = [
        (
            "(1 - z²/4)² on z ≤ 2", sp.radial("(1 - z**2/4)**2", support=2), 3,
            "1.577287259103741308659104678569209",
            lambda w: 8.0 / np.sqrt(np.pi * w**3) * special.jv(3.5, 2.0 * w),
            lambda n: mp.besseljzero(mp.mpf(7) / 2, n) / 2,
        ),
        (
            "1 - z²/4 on z ≤ 2", sp.radial("1 - z**2/4", support=2), 2,
            "2.0297939364875008782",
            lambda w: 2.0 * special.jv(2, 2.0 * w) / w,
            lambda n: mp.besseljzero(2, n) / 2,
        ),
        (
            "delta-Gaussian", sp.catalogue["delta_gaussian"](), 16,
            "1.9999999835793180458495813849788", _delta_gaussian, None,
        ),
    ]  # fmt: skip
    for name, kernel, dim, digits, rho, zero in cases:
        say(f"{name}, d = {dim}")
        ours, mass = _by_spectra(sp.spectral_density(kernel, dim))
        true = mp.mpf(digits)
        error = float(abs(mp.mpf(mass.mid) / true - 1))
        label = f"{name}, d = {dim}"
        table.add(label, "spectra", number(ours), "1", number(error), number(mass.rad / mass.mid))
        for method, function in (
            ("scipy quad of abs(rho) on [0, 200]", lambda rho=rho: _quad(rho)),
            ("mpmath nsum of lobes, 15 digits", lambda d=dim, z=zero: _nsum(d, z)),
        ):
            if method.startswith("mpmath") and zero is None:
                continue
            answered, found = patiently(lambda f=function: seconds(f), limit=_PATIENCE)
            if answered:
                time, value = found
                error = float(abs(mp.mpf(value) / true - 1))
                table.add(label, method, number(time), number(time / ours), number(error), "-")
            else:
                table.add(label, method, "-", "-", str(found)[:60], "-")
    return [table]


def _delta_gaussian(w: float) -> float:
    wide, narrow = (
        a * np.exp((1 - 8) * np.log(2.0) - special.gammaln(8.0) + 15 * np.log(a * w)
                   - 0.5 * (a * w) ** 2)
        for a in (1.0, 10.0)
    )  # fmt: skip
    return float(wide - narrow)


def _quad(rho: Callable[[float], float]) -> float:
    with warnings.catch_warnings():
        # It says that it did not converge, which the error shows.
        warnings.simplefilter("ignore")
        return float(quad(lambda w: abs(rho(w)) if w > 0.0 else 0.0, 0.0, 200.0, limit=2000)[0])


def _by_spectra(density: Any) -> tuple[float, Any]:
    """Time and value of the mass; each run starts from the density."""

    def found() -> Any:
        return measure_of(density).mass

    found()
    return min((seconds(found) for _ in range(3)), key=lambda x: x[0])


def _nsum(dim: int, zero: Zero | None) -> float:
    assert zero is not None
    order = mp.mpf(7) / 2 if dim == 3 else mp.mpf(2)

    def density(w: Any) -> Any:
        if dim == 3:
            return 8 / mp.sqrt(mp.pi * w**3) * mp.besselj(order, 2 * w)
        return 2 * mp.besselj(order, 2 * w) / w

    def lobe(n: Any) -> Any:
        n = int(n)
        return abs(mp.quad(density, [zero(n) if n else mp.mpf(10) ** -12, zero(n + 1)]))

    return float(mp.nsum(lobe, [0, mp.inf], method="richardson+levin"))
