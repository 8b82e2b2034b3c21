"""Generated kernels whose densities are compared with ball arithmetic on the real axis.

Each kernel is one formula: the toolkit reads it as text, ``real_axis`` by a parser of its own.
``python -m tests.oracles.kernels.generated_densities --count 1000 --seed 0`` counts the values that
are honest, false (further from the truth than the stated error) and unknown, and the refusals.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from spectra.density import spectral_density
from spectra.errors import SpectraError
from spectra.kernels.kernel import Kernel, radial, zonal
from tests.oracles.real_axis import RealKernel, radial_densities

__all__ = ["Density", "generated", "judge", "told", "toolkit_kernel"]

DIMS = (1, 2, 3, 5, 16, 64)
#: Radii that do not depend on the toolkit, of which each density meets some.
GRID = 2.0 ** (np.arange(-8, 15) / 2)


class Density(NamedTuple):
    """One question: a kernel, a dimension, and the radii that do not depend on the answer."""

    kernel: RealKernel
    dim: int
    radii: tuple[float, ...]


# --- kernels ----------------------------------------------------------------------------------

_RATES = ("1", "2", "3", "1/2", "2/3", "3/2", "5/4")
_EVEN = (
    "exp(-A*z**2)", "exp(-z**4)", "exp(-z**4-z**2/10)", "exp(-A*z**2-z**4/B)", "exp(-z**6)",
    "erfc(A*z**2)", "1/cosh(A*z)", "1/cosh(z**2)", "exp(-sqrt(4+z**2)*A)", "exp(-cosh(A*z))",
    "exp(-z**2)*besseli(0,z)", "exp(-2*A*z**2)*besseli(0,A*z**2)", "exp(-z**2)*cosh(A*z)",
    "1-exp(-exp(-A*z**2))", "log(1+exp(-A*z**2))", "tanh(exp(-A*z**2))", "sin(exp(-A*z**2))",
    "exp(-A*z**2)/(2+exp(-z**2))", "z**2/sinh(z**2)", "1/cosh(z)**2", "exp(-2*sin(z)**2-z**2/8)",
    "exp(-z**4)*cosh(z)", "exp(-z**2)*besseli(1,z**2)*exp(-z**2/B)", "1/(1+sinh(A*z)**2)",
)  # fmt: skip
_ODD = (
    "exp(-A*z)", "erfc(A*z)", "exp(-z**3)", "exp(-A*z**2-z)", "exp(-z**4-z)", "besselk(0,1+A*z)",
    "1/(exp(A*z)+1)", "log(1+exp(-A*z))", "exp(-2*A*z)*besseli(0,A*z)", "1-exp(-exp(-A*z))",
    "exp(-A*z)*(1+A*z)", "exp(-z-z**3/B)", "erfc(z)**2", "exp(-z)*erfc(A*z)",
    "exp(-A*z)/(1+exp(-z))",
)  # fmt: skip
_ROUGH = (
    "exp(-z**(3/2))", "exp(-A*z**(5/2))", "z*besselk(1,z)", "z**2*besselk(2,A*z)",
    "z**(1/2)*exp(-A*z)", "z**(1/3)*exp(-A*z**2)", "exp(-z**2-sqrt(z))", "sqrt(z)*besselk(1/2,z)",
    "z*log(z)*exp(-A*z**2)", "exp(-A*z)*log(1+sqrt(z))", "z**(3/2)*besselk(3/2,z)",
)  # fmt: skip
_TIMES = (
    "cos(B*z)", "cos(A*z)**2", "besselj(0,B*z)", "besselj(0,z)**2", "1/(1+z**2)", "1/(B+z**2)",
    "(1+z**2)**(-1/3)", "(1+z**2/B)**(-2)", "(1-z**2)", "(1-z**2+z**4/8)", "log(2+z**2)",
    "sqrt(1+z**2)", "1/(1+z)", "1/(1+B*z)", "(1+z)**(-3/2)", "(1-z)", "(1+z/B)**2", "atan(1+z)",
    "sqrt(1+B*z)", "log(2+z)", "tanh(1+z)", "exp(-sin(z)**2)", "1/((z-1)**2+1/4)", "1/(1+z**4)",
    "(1-exp(-z))", "cos(B*z**2)", "z**2", "erfc(z)", "1/(2+cos(B*z))", "sin(z)",
)  # fmt: skip
_BALLS = (
    "(1-z/R)**P", "(1-z**2/R**2)**P", "cos(pi*z/(2*R))**2", "(1-z/R)**P*exp(-z)",
    "(1-z**2/R**2)**P*cos(B*z)", "(1-z/R)**P*log(2+z)", "(1-z/R)**P/(1+z)", "(1-z**2/R**2)**P*z**2",
    "sin(pi*z/R)**3", "acos(z/R)*(1-z/R)", "exp(-A*z)", "1-3*z/(2*R)+z**3/(2*R**3)",
    "(1-z/R)**4*(4*z/R+1)", "(1-z**2/R**2)**P*(1+z)**(1/2)", "(1-z**2/R**2)**P*exp(-A*z**2)",
    "(1-z/R)**P*besselj(0,z)", "exp(-1/(1-z**2/R**2))", "(1-z/R)**P*cosh(z)",
)  # fmt: skip
_KINKED = (
    "Max(0,1-z)**P", "Max(0,1-z)**P*exp(-A*z)", "Max(0,1-z**2)**P", "Abs(z-1)*exp(-A*z)",
    "Abs(z-1)**3*exp(-z**2)", "Max(0,1-z)**P-Max(0,1-z)**3/2", "exp(-z)+Max(0,1-z)**P",
)  # fmt: skip
_ZONAL = (
    "(1+u)**3", "exp(A*u)", "1/(2-u)", "(u*(pi-acos(u))+sqrt(1-u**2))/pi", "1-acos(u)/pi",
    "(1+u)**2*exp(u)", "exp(-acos(u)**2/2)", "tanh(2*u+1)", "besseli(0,B*u)", "(1+u)**P",
    "(1+u)**P*cos(u)", "(pi-acos(u))**2", "exp(-sqrt(2-2*u))", "1/(3+u)", "sqrt(2+u)",
)  # fmt: skip
_WHOLE_POWERS, _BROKEN_POWERS = ("1", "2", "3", "4", "7"), ("1/2", "3/2", "5/2", "7/3")


def _filled(template: str, draw: random.Random, **given: str) -> str:
    """A template with its letters drawn, each once, or as given."""
    letters = {"A": draw.choice(_RATES), "B": draw.choice(("2", "3", "5", "7/2")), **given}
    text = template
    for letter, number in letters.items():
        text = re.sub(rf"\b{letter}\b", f"({number})" if "/" in number else number, text)
    return text


def _term(draw: random.Random) -> tuple[str, bool]:
    """A term on the half-line that falls fast, and whether it is rough at 0."""
    pool = draw.choices((_EVEN, _ODD, _ROUGH), (6, 4, 2))[0]
    text = _filled(draw.choice(pool), draw)
    times = draw.choices((0, 1, 2), (4, 6, 1))[0]
    if times:
        text = f"({text})"
    for _ in range(times):
        text += f"*({_filled(draw.choice(_TIMES), draw)})"
    return text, pool is _ROUGH


def _kernel(draw: random.Random) -> RealKernel:
    kind = draw.choices(("line", "sum", "ball", "kink", "zonal"), (50, 14, 20, 8, 8))[0]
    if kind == "line":
        text, rough = _term(draw)
        return RealKernel(text, rough=rough)
    if kind == "sum":
        (first, a), (second, b) = _term(draw), _term(draw)
        weight = draw.choice(("-1/2", "+1/3", "-", "+2"))
        return RealKernel(f"{first}{weight}{'*' if weight[1:] else ''}({second})", rough=a or b)
    if kind == "kink":
        text = _filled(draw.choice(_KINKED), draw, P=draw.choice(_WHOLE_POWERS))
        return RealKernel(text, kinks=(Fraction(1),))
    power = draw.choice(_WHOLE_POWERS + _BROKEN_POWERS)
    template = draw.choice(_ZONAL if kind == "zonal" else _BALLS)
    rough = ("**P" in template and power in _BROKEN_POWERS) or "acos" in template
    if kind == "zonal":
        text = _filled(template, draw, P=power)
        return RealKernel(text, variable="u", rough=rough or "sqrt" in text)
    radius = draw.choice(("1", "2", "3", "1/2"))
    text = _filled(template, draw, P=power, R=radius)
    return RealKernel(text, support=Fraction(radius), rough=rough or "1/(1-z" in template)


def generated(seed: int, count: int) -> Iterator[Density]:
    """The first densities of a seed: no kernel twice, and each in two dimensions."""
    seen: set[RealKernel] = set()
    for i in itertools.count():
        draw = random.Random(f"{seed}:{i}")
        kernel = _kernel(draw)
        if kernel in seen:
            continue
        for dim in draw.sample(DIMS, 2):
            if count == 0:
                return
            count -= 1
            yield Density(kernel, dim, tuple(sorted(draw.sample(GRID.tolist(), 4))))
        seen.add(kernel)


# --- the toolkit ------------------------------------------------------------------------------


def toolkit_kernel(kernel: RealKernel) -> Kernel:
    """The kernel as it is typed."""
    if kernel.variable == "u":
        return zonal(kernel.text)
    if kernel.support is None:
        return radial(kernel.text)
    return radial(kernel.text, support=float(kernel.support))


def toolkit_values(density: Density) -> dict[str, Any]:
    """The radial density at given radii, at quantiles of |rho| and beside changes of sign."""
    found = spectral_density(toolkit_kernel(density.kernel), density.dim)
    seen = np.geomspace(GRID[0], GRID[-1], 150)
    rho = found.radial(seen)
    share = np.cumsum(np.where(np.isfinite(rho), np.abs(rho), 0.0) * seen)
    w = set(density.radii)
    if share[-1] > 0:
        quantiles = seen[np.searchsorted(share, np.array([0.05, 0.5, 0.95]) * share[-1])]
        w |= {float(GRID[np.argmin(np.abs(np.log(GRID / q)))]) for q in quantiles}
    changes = np.flatnonzero(rho[:-1] * rho[1:] < 0)
    w |= {float(seen[i]) for i in changes[[0, -1]]} if changes.size else set()
    radii = np.array(sorted(w))
    return {
        "route": found.route,
        "w": radii.tolist(),
        "rho": found.radial(radii).tolist(),
        "error": found.error(radii).tolist(),
    }


# --- the judge --------------------------------------------------------------------------------


def judge(rho: float, error: float, truth: Any) -> str:
    """ "honest", "false", or "unknown" where truth is not known closely enough to tell."""
    if truth is None or not np.isfinite(rho):
        return "unknown"
    distance = abs(arb(rho) - truth)
    if distance <= arb(error):
        return "honest"
    return "false" if distance > arb(error) else "unknown"


def told(density: Density) -> tuple[dict[str, Any], list[str]]:
    """What the toolkit gives, and what truth says of each of its values."""
    found = toolkit_values(density)
    truth = radial_densities(
        density.kernel, density.dim, found["w"], within=[e / 20 for e in found["error"]]
    )
    return found, [judge(*v) for v in zip(found["rho"], found["error"], truth, strict=True)]


def main() -> None:
    """Judge the densities of a seed: print what is false or refused, and the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracles.kernels.generated_densities")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    words: Counter[str] = Counter()
    for density in generated(given.seed, given.count):
        try:
            found, said = told(density)
        except SpectraError as error:
            said = [f"refused: {type(error).__name__}"]
            print(density.kernel, density.dim, f"{error}"[:160])
        words.update(said)
        if "false" in said:
            print("FALSE", density.kernel, density.dim, found, said)
    print(f"{given.count} densities, values: {dict(words)}")


if __name__ == "__main__":
    main()
