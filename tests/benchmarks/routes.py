"""Densities by every route, and by general transforms: time and error of a thousand frequencies."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp
from numpy.typing import NDArray
from scipy import fft, special
from scipy.integrate import quad
from scipy.interpolate import CubicSpline

import spectra as sp
from spectra.density import ROUTES

from .timing import Table, number, patiently, say, seconds

__all__ = ["run"]

FloatArray = NDArray[np.float64]
Function = Callable[[FloatArray], FloatArray]

_W = np.geomspace(0.1, 200.0, 1000)
_CHECKED = slice(7, None, 40)
# A rival that takes longer for one frequency is asked for these only.
_FEW = slice(7, None, 200)
_PATIENCE = 20.0
# Densities below this share of the largest one are not compared with what is near them.
_LEAST = 1e-30


def run() -> list[Table]:
    """One table for each kernel and dimension."""
    from tests.oracles.kernels.problems import PROBLEMS

    tables = []
    for name, dims in (
        ("gaussian", (1, 16)),
        ("laplace", (3,)),
        ("spherical_polynomial_2_2", (1, 3, 16)),
        ("arc_cosine_1", (3,)),
    ):
        problem = PROBLEMS[name]
        for dim in dims:
            tables.append(_one(problem, dim))
    return tables


def _one(problem: Any, dim: int) -> Table:
    kernel = problem.kernel
    table = Table(
        f"Densities: {kernel}, d = {dim}",
        f"{_W.size} frequencies from {_W[0]:g} to {_W[-1]:g}. Errors are relative to the largest "
        "density (a) and to the largest one nearby (b), where that is above 1e-30 of it, against "
        "sixty digits.",
        ("method", "set-up, s", "µs a frequency", "ratio", "error (a)", "error (b)", "stated (b)"),
        [],
    )
    say(table.title)
    exact = _exact(problem, dim)
    ours = None
    for route in ROUTES:
        answered, found = patiently(_by_route, kernel, dim, route, limit=_PATIENCE)
        if not answered:
            reason = "not its kernel" if found.startswith("NoRouteError") else found[:60]
            table.add(f"spectra, route {route!r}", "-", "-", "-", reason, "-", "-")
            continue
        setup, each, values, stated = found
        ours = each if ours is None else ours
        table.add(
            f"spectra, route {route!r}", number(setup), number(1e6 * each), number(each / ours),
            *_errors(values[_CHECKED], exact), number(_local(stated[_CHECKED], exact)),
        )  # fmt: skip
    for name, method, part in _rivals(kernel, dim):
        answered, found = patiently(lambda m=method, p=part: seconds(lambda: m(_W[p])),
                                    limit=_PATIENCE)  # fmt: skip
        if not answered:
            table.add(name, "-", "-", "-", str(found)[:60].replace("|", "/"), "-", "-")
            continue
        time, values = found
        each = time / values.size
        at = (exact[0], exact[1]) if part == _CHECKED else _exact(problem, dim, part)
        if values.size == _W.size:
            values = values[_CHECKED]
            at = exact
        table.add(
            name, "-", number(1e6 * each), number(each / ours) if ours else "-",
            *_errors(values, at), "-",
        )  # fmt: skip
    return table


def _by_route(kernel: Any, dim: int, route: str) -> tuple[float, float, FloatArray, FloatArray]:
    setup, density = seconds(lambda: sp.spectral_density(kernel, dim, route=route))
    each, values = min((seconds(lambda: density.radial(_W)) for _ in range(3)), key=lambda x: x[0])
    return setup, each / _W.size, values, density.error(_W)


def _exact(problem: Any, dim: int, part: slice = _CHECKED) -> tuple[FloatArray, FloatArray]:
    """Radial density, and the largest value within a wave's length of each frequency."""
    with mp.workdps(60):
        sphere = 2 * mp.pi ** (mp.mpf(dim) / 2) / mp.gamma(mp.mpf(dim) / 2)

        def rho(w: float) -> float:
            return float(sphere * mp.mpf(w) ** (dim - 1) * problem.density(mp.mpf(w), dim))

        at = _W[part]
        values = np.array([rho(float(w)) for w in at])
        nearby = [max(abs(rho(float(w) + 0.4 * j)) for j in range(5)) for w in at]
    return values, np.array(nearby)


def _errors(values: FloatArray, exact: tuple[FloatArray, FloatArray]) -> tuple[str, str]:
    missed = np.abs(values - exact[0])
    whole = float(np.max(missed) / np.max(np.abs(exact[0])))
    return number(whole), number(_local(missed, exact))


def _local(error: FloatArray, exact: tuple[FloatArray, FloatArray]) -> float:
    """Largest error relative to the density nearby, where that is not out of all proportion."""
    seen = exact[1] > _LEAST * np.max(exact[1])
    return float(np.max(error[seen] / exact[1][seen]))


def _rivals(kernel: Any, dim: int) -> list[tuple[str, Function, slice]]:
    end = float(max(p.support for p in kernel.pieces)) if _compact(kernel) else np.inf
    half = 0.5 * dim
    front = np.exp((1.0 - half) * np.log(2.0) - special.gammaln(half))

    def hankel_integral(w: float, value: float) -> float:
        """rho from the integral of k(z) z^(d/2) J_(d/2-1)(w z)."""
        return float(front * w**half * value)

    def by_quad(w: FloatArray) -> FloatArray:
        """QAWO on a ball and QAWF on a half-line: sines and cosines, so d = 1 and 3."""
        out = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for x in w:
                weight, power = ("cos", 0) if dim == 1 else ("sin", 1)
                value = quad(lambda z, p=power: float(kernel(z)) * z**p, 0.0, end, weight=weight,
                             wvar=float(x), limit=500)[0]  # fmt: skip
                out.append(2.0 / np.pi * value * (x if dim == 3 else 1.0))
        return np.array(out)

    def by_quadosc(w: FloatArray) -> FloatArray:
        function = _in_mpmath(kernel)
        out = []
        for x in w:

            def integrand(z: Any, x: float = float(x)) -> Any:
                return function(z) * z**half * mp.besselj(half - 1, x * z)

            if np.isinf(end):
                value = mp.quadosc(integrand, [0, mp.inf], omega=mp.mpf(float(x)))
            else:
                cuts = max(4, int(np.ceil(end * x / np.pi)))
                value = mp.quad(integrand, mp.linspace(0, end, cuts + 1))
            out.append(hankel_integral(float(x), float(value)))
        return np.array(out)

    def by_fftlog(w: FloatArray) -> FloatArray:
        count = 1 << 13
        step = np.log(1e10) / count
        z = np.exp((np.arange(count) - 0.5 * (count - 1)) * step)
        offset = fft.fhtoffset(step, mu=half - 1.0)
        values = fft.fht(np.asarray(kernel(z)) * z**half, step, mu=half - 1.0, offset=offset)
        found = np.exp(offset) / z[::-1]
        # fht leaves out the factor 1/w of the integral over z.
        curve = CubicSpline(np.log(found), values / found)
        return np.asarray(front * w**half * curve(np.log(w)))

    def by_ogata(w: FloatArray) -> FloatArray:
        import hankel

        transform = hankel.HankelTransform(nu=half - 1.0, N=3200, h=0.003)
        inner = transform.transform(
            lambda z: np.asarray(kernel(z)) * z ** (half - 1.0), w, ret_err=False
        )
        return np.asarray(front * w**half * inner)

    rivals: list[tuple[str, Function, slice]] = []
    if dim in (1, 3):
        rivals.append(("scipy quad, QAWO or QAWF", by_quad, _CHECKED))
    rivals.append(("mpmath, wave by wave or quadosc", by_quadosc, _FEW))
    rivals.append(("FFTLog (scipy.fft.fht), 8192 points", by_fftlog, slice(None)))
    rivals.append(("hankel (Ogata), N = 3200, h = 0.003", by_ogata, slice(None)))
    return rivals


def _compact(kernel: Any) -> bool:
    return all(p.support.is_finite for p in kernel.pieces)


def _in_mpmath(kernel: Any) -> Callable[[Any], Any]:
    from spectra.formula.evaluate import mpmath_function
    from spectra.formula.parsing import Z

    functions = [mpmath_function(p.expr, Z) for p in kernel.pieces]
    return lambda z: sum(f(z) for f in functions)
