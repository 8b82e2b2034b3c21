"""Answers that the toolkit gave once: no change may make one worse unnoticed.

``frozen.jsonl`` has one line for each kernel and dimension: the verdict, the density at eight
radii, the masses, the errors of the table, the processor time, and what was refused.  ``worse``
says what another answer has lost: a kernel that had an answer is refused, two values differ by more
than their errors, or an error is larger than before and than the accuracy that is promised.

``python -m tests.oracles.frozen > FILE`` asks everything again, prints what is worse to stderr, and
writes the new answers to FILE.  To ask for another formula, add a line with its name and stage.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spectra.base.limits import time_limit
from spectra.density import spectral_density
from spectra.errors import SpectraError
from spectra.kernels.kernel import Kernel, radial, zonal
from spectra.measure.tabulation import tabulate
from spectra.verdict import existence
from tests.oracles.kernels.problems import PROBLEMS

DIMS = (1, 3, 16, 64)
STAGES = ("verdict", "density", "masses", "table")
#: In units of sqrt(d), about which the radii of high dimensions gather.
RADII = np.array([0.03, 0.1, 0.3, 0.7, 1.5, 4.0, 12.0, 60.0])
FILE = Path(__file__).parent / "frozen.jsonl"
SECONDS = 8


def names() -> list[str]:
    """Every kernel by its name: an id of the problems, or a formula with its support."""
    return list(dict.fromkeys([*PROBLEMS, *(name for _, name, _ in frozen())]))


@cache
def kernel(name: str) -> Kernel:
    """The kernel of a name."""
    if name in PROBLEMS:
        return PROBLEMS[name].kernel
    formula, _, support = name.partition(" on z <= ")
    if re.search(r"\bu\b", formula):
        return zonal(formula)
    return radial(formula, support=int(support) if support else None)


def radii(dim: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Where the density is asked."""
    return RADII * np.sqrt(dim)


def ask(name: str, dim: int, stage: str) -> dict[str, Any]:
    """One answer as plain data."""
    k = kernel(name)
    if stage == "verdict":
        verdict = existence(k, dim)
        return {"status": verdict.status.name, "condition": str(verdict.condition)}
    if stage == "density":
        density = spectral_density(k, dim)
        w = radii(dim)
        atoms = [[a.radius, a.mass] for a in density.atoms]
        return {
            "route": density.route,
            "rho": density.radial(w).tolist(),
            "error": [float(f"{e:.2e}") for e in density.error(w)],
            **({"atoms": atoms} if atoms else {}),
        }
    measure = existence(k, dim).measure
    if stage == "masses":
        return {
            sign: [mass.mid, float(f"{mass.rad:.2e}")]
            for sign, mass in (("plus", measure.positive_mass), ("minus", measure.negative_mass))
        }
    table = tabulate(measure)
    return {
        "u_error": float(f"{table.u_error:.2e}"),
        "mass_error": float(f"{table.mass_error:.2e}"),
    }


# --- what has become worse ----------------------------------------------------------------------

#: An error within the promise is not worse; above it, it may be this many times the frozen one.
TIMES = 10.0
#: Of the largest w |rho(w)|, of the norm, and of probabilities.
PROMISED = {"density": 1e-12, "masses": 1e-10, "table": 1e-12}
_ROUNDING = 16 * np.finfo(float).eps


def worse(stage: str, then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What an answer has lost against the frozen one of the same stage."""
    if "refused" in then:
        return []
    if "refused" in now:
        return [f"refused now ({now['refused']}: {now.get('reason', '')})"]
    if stage == "verdict":
        same = then["status"] in ("UNDECIDED", now["status"])
        return [] if same else [f"{then['status']} then, {now['status']} now"]
    promised = PROMISED[stage]
    if stage == "table":
        return [
            f"{key} {now[key]:.1e}, {then[key]:.1e} then"
            for key in ("u_error", "mass_error")
            if now[key] > max(TIMES * then[key], promised)
        ]
    if stage == "masses":
        # A mass of nothing was stated as 0 +- 0, and was known no better than the one beside it.
        was = max(then["plus"][1], then["minus"][1])
        slack = promised * (then["plus"][0] + then["minus"][0])
        rows = [(key, then[key][0], was, *now[key], slack) for key in ("plus", "minus")]
    else:
        w, rho = radii(then["dim"]), np.array(then["rho"])
        size = w * np.abs(rho)
        slack = promised * size[np.isfinite(size)].max() / w
        rows = list(zip(w, rho, then["error"], now["rho"], now["error"], slack, strict=True))
    return [
        f"{key}: {new:.15g} +- {error:.1e} now, {old:.15g} +- {was:.1e} then"
        for key, old, was, new, error, slack in rows
        if np.isfinite(old)
        and not (
            abs(new - old) <= was + error + _ROUNDING * abs(old)
            and error <= max(TIMES * was, slack) + _ROUNDING * abs(old)
        )
    ]


# --- all questions ------------------------------------------------------------------------------


def questions() -> Iterator[tuple[str, str, int]]:
    """(stage, name, dim): the quick stages first, and the dear dimension last."""
    for dims in (DIMS[:-1], DIMS[-1:]):
        for stage in STAGES:
            for name in names():
                for dim in dims:
                    yield stage, name, dim


def answer(stage: str, name: str, dim: int) -> dict[str, Any]:
    """One answer or refusal within the limit of time."""
    entry = {"stage": stage, "name": name, "dim": dim}
    start = time.process_time()
    try:
        with time_limit(SECONDS):
            found = ask(name, dim, stage)
    except SpectraError as error:
        found = {"refused": type(error).__name__, "reason": str(error)[:120]}
    return entry | {"seconds": round(time.process_time() - start, 2)} | found


@cache
def frozen() -> dict[tuple[str, str, int], dict[str, Any]]:
    """The frozen answers by stage, name and dimension."""
    entries = map(json.loads, FILE.read_text(encoding="utf-8").splitlines())
    return {(e["stage"], e["name"], e["dim"]): e for e in entries}


def main() -> None:
    finite = set()
    for stage, name, dim in questions():
        if stage in ("masses", "table") and (name, dim) not in finite:
            continue
        now = answer(stage, name, dim)
        if now.get("status") == "FINITE":
            finite.add((name, dim))
        then = frozen().get((stage, name, dim), {"refused": ""})
        for line in worse(stage, then, now):
            print(f"{stage} of {name}, d = {dim}: {line}", file=sys.stderr)
        kept = {key: value for key, value in now.items() if key != "reason"}
        print(json.dumps(kept, separators=(",", ":")), flush=True)


if __name__ == "__main__":
    main()
