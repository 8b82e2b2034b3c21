"""Generated kernels whose densities are held to ball arithmetic on the real axis.

Each kernel is one formula: the toolkit reads it as text, ``real_axis`` by a parser of its own.
By hand, for as long as it takes, going on where it stopped:

    python -m tests.oracles.kernels.generated_densities --count 1000 --seed 0 --out FILE [--truth
    FILE]

It counts densities (kernel and dimension) and values, the dishonest ones (further from truth than
the stated error), the refused ones by reason, and the seconds that a question takes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from spectra.density import spectral_density
from spectra.kernels.kernel import Kernel, radial, zonal
from tests.oracles.real_axis import RealKernel, radial_densities
from tests.tools.asking import Answer, Asker

__all__ = ["Density", "generated", "judge", "toolkit_kernel", "toolkit_values"]

DIMS = (1, 2, 3, 5, 16, 64)
SECONDS = 10
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


def _digits(ball: Any) -> tuple[str, str]:
    return ball.mid().str(40, radius=False), ball.rad().str(5, radius=False)


def _ball(middle: str, radius: str) -> Any:
    return arb(arb(middle), 2 * arb(radius) + abs(arb(middle)) * arb("1e-38"))


class _Truths:
    """Radial densities by ``real_axis``, kept in a file where there is one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self._known |= dict(zip(entry["keys"], entry["values"], strict=True))

    def __call__(self, density: Density, radii: list[float], errors: list[float]) -> list[Any]:
        keys = [f"{_name(density)} at {w!r}" for w in radii]
        missing = [i for i, key in enumerate(keys) if not self._close(key, errors[i])]
        if missing:
            found = radial_densities(
                density.kernel,
                density.dim,
                [radii[i] for i in missing],
                within=[errors[i] / 20 for i in missing],
            )
            new = [None if t is None else _digits(t) for t in found]
            self._known |= {keys[i]: v for i, v in zip(missing, new, strict=True)}
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as out:
                    entry = {"keys": [keys[i] for i in missing], "values": new}
                    print(json.dumps(entry), file=out)
        values = [self._known[key] for key in keys]
        return [None if v is None else _ball(*v) for v in values]

    def _close(self, key: str, error: float) -> bool:
        """Whether this value is known well enough, or known to be out of reach."""
        if key not in self._known:
            return False
        known = self._known[key]
        return known is None or bool(arb(known[1]) < max(error / 10, abs(arb(known[0])) * 1e-19))


def _name(density: Density) -> str:
    k = density.kernel
    end = "" if k.support is None else f" on z <= {k.support}"
    return f"{k.text}{end}, d = {density.dim}"


def _record(density: Density, answer: Answer, truths: _Truths) -> dict[str, Any]:
    entry = {"name": _name(density), "seconds": round(answer.seconds, 3)}
    if answer.refusal is not None:
        return entry | {"refused": answer.refusal, "reason": answer.reason}
    entry |= answer.value
    truth = truths(density, entry["w"], entry["error"])
    told = [judge(r, e, t) for r, e, t in zip(entry["rho"], entry["error"], truth, strict=True)]
    false = {
        str(entry["w"][i]): truth[i].mid().str(20, radius=False)
        for i, word in enumerate(told)
        if word == "false"
    }
    return entry | {"told": told, "truth": false}


def run(seed: int, count: int, out: Path, truth: Path | None) -> list[dict[str, Any]]:
    """Judge the densities of a seed, those in the file not again; the densest rules one by one."""
    records = {}
    if out.exists():
        for line in out.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            records[entry["name"]] = entry
    truths = _Truths(truth)
    todo = [d for d in generated(seed, count) if _name(d) not in records]
    with Asker(seconds=SECONDS) as ask, out.open("a", encoding="utf-8") as file:
        for i, density in enumerate(sorted(todo, key=lambda d: d.dim)):
            answer = ask(toolkit_values, density)
            entry = _record(density, answer, truths)
            records[entry["name"]] = entry
            print(json.dumps(entry), file=file, flush=True)
            print(f"\r{i + 1} of {len(todo)}: {entry['name'][:90]}\033[K", end="", file=sys.stderr)
    return [records[_name(d)] for d in dict.fromkeys(generated(seed, count))]


def report(records: list[dict[str, Any]]) -> str:
    """The counts, then every false value and every refusal."""
    answered = [r for r in records if "refused" not in r]
    told = Counter(word for r in answered for word in r["told"])
    false = [r for r in answered if "false" in r["told"]]
    refused = Counter(r["refused"] for r in records if "refused" in r)
    slow = sorted(records, key=lambda r: -r["seconds"])[:5]
    lines = [
        f"{len(records)} densities, {sum(told.values())} values: {told['honest']} honest, "
        f"{told['false']} false in {len(false)} densities, {told['unknown']} not known closely.",
        f"{sum(refused.values())} refused: {dict(refused)}.",
        "Slowest: " + "; ".join(f"{r['seconds']:.1f} s {r['name']}" for r in slow),
    ]
    for r in false:
        i = r["told"].index("false")
        truth = next(iter(r["truth"].values()))
        lines.append(
            f"FALSE {r['name']} ({r['route']}), w = {r['w'][i]:.6g}: {r['rho'][i]:.12g} +- "
            f"{r['error'][i]:.1e}, truth {truth}; {r['told'].count('false')} of {len(r['told'])}"
        )
    lines += [f"REFUSED {r['name']}: {r['refused']}: {r['reason'][:160]}"
              for r in records if "refused" in r]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.oracles.kernels.generated_densities")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("generated_densities.jsonl"))
    parser.add_argument("--truth", type=Path, help="a file that keeps truth for the next run")
    given = parser.parse_args()
    print("\n" + report(run(given.seed, given.count, given.out, given.truth)))
