"""What the toolkit answered once, kept so that no change makes an answer worse unseen.

``frozen.jsonl`` has one line for each kernel and dimension: the verdict, the density at eight
radii that do not depend on the toolkit, the masses, what the table reached, the seconds of each,
and what was refused.  ``worse`` says what another answer has lost: nothing that was served may be
refused, no error may be more than ten times what it was, and two values may not differ by more
than their errors.

    python -m tests.oracles.frozen --compare          ask everything again and print what is worse
    python -m tests.oracles.frozen --write FILE       ask everything, going on where FILE stops
    python -m tests.oracles.frozen --keep FILE        make of FILE what the tests hold the toolkit
    to
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spectra.density import spectral_density
from spectra.kernels.kernel import Kernel
from spectra.measure.tabulation import tabulate
from spectra.verdict import existence
from tests.oracles.kernels.problems import PROBLEMS
from tests.oracles.kernels.typed_formulas import TYPED, typed_kernel
from tests.tools.asking import Asker

DIMS = (1, 3, 16, 64)
STAGES = ("verdict", "density", "masses", "table")
#: In units of sqrt(d), about which the radii of high dimensions gather.
RADII = np.array([0.03, 0.1, 0.3, 0.7, 1.5, 4.0, 12.0, 60.0])
FILE = Path(__file__).parent / "frozen.jsonl"
SECONDS = 8


def names() -> list[str]:
    """Every kernel by its name: an id of the problems, or a formula with its support."""
    typed = [text if end is None else f"{text} on z <= {end}" for text, _, end in TYPED]
    return [*PROBLEMS, *typed]


@cache
def kernel(name: str) -> Kernel:
    """The kernel of a name."""
    if name in PROBLEMS:
        return PROBLEMS[name].kernel
    return typed_kernel(*dict(zip(names()[len(PROBLEMS) :], TYPED, strict=True))[name])


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

#: An error that is within the contract is no loss: densities to 1e-12 of the largest w |rho|,
#: masses to 1e-10 of their sum, tables to 1e-12.
DENSITY, MASS, TABLE = 1e-12, 1e-10, 1e-12
#: How much larger than the frozen one another error may be.
TIMES = 10.0
# The rounding of a number is no loss.
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
    if stage == "table":
        return [
            f"{key} {now[key]:.1e}, {then[key]:.1e} then"
            for key, contract in (("u_error", TABLE), ("mass_error", MASS))
            if now[key] > max(TIMES * then[key], contract)
        ]
    if stage == "masses":
        # A mass of nothing was stated as 0 +- 0, and was known no better than the one beside it.
        was = max(then["plus"][1], then["minus"][1])
        allowed = MASS * (then["plus"][0] + then["minus"][0])
        pairs = [(key, then[key][0], was, *now[key], allowed) for key in ("plus", "minus")]
    else:
        w = radii(then["dim"])
        sizes = w * np.abs(then["rho"])
        allowed = DENSITY * np.max(sizes, where=np.isfinite(sizes), initial=0.0) / w
        columns = ([f"w = {r:.3g}" for r in w], then["rho"], then["error"], now["rho"])
        pairs = list(zip(*columns, now["error"], allowed, strict=True))
    return [text for pair in pairs if (text := _lost(*pair))]


def _lost(key: str, then: float, was: float, now: float, error: float, allowed: float) -> str:
    """What became of one number and its error."""
    if not np.isfinite(then):
        return ""
    rounding = _ROUNDING * abs(then)
    # What is below 1e-16 of the peak counts as 0.
    if not abs(now - then) <= was + error + rounding + 1e-4 * allowed:
        return f"{key}: {now:.15g} +- {error:.1e} now, {then:.15g} +- {was:.1e} then"
    if not error <= max(TIMES * was + rounding, allowed):
        return f"{key}: error {error:.1e} now, {was:.1e} then, of {then:.6g}"
    return ""


# --- all questions ------------------------------------------------------------------------------


def questions() -> Iterator[tuple[str, str, int]]:
    """(stage, name, dim): the quick stages first, and the dear dimension last."""
    for dims in (DIMS[:-1], DIMS[-1:]):
        for stage in STAGES:
            for name in names():
                for dim in dims:
                    yield stage, name, dim


def answers(known: dict[tuple[str, str, int], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The answers to all questions that are not known yet; later stages need the earlier ones."""
    done = dict(known)
    with Asker(seconds=SECONDS) as asker:
        for stage, name, dim in questions():
            finite = done.get(("verdict", name, dim), {}).get("status") == "FINITE"
            hopeless = stage == "table" and "refused" in done.get(("masses", name, dim), {})
            if (
                (stage, name, dim) in done
                or (stage in ("masses", "table") and not finite)
                or hopeless
            ):
                continue
            answer = asker(ask, name, dim, stage)
            entry = {"stage": stage, "name": name, "dim": dim, "seconds": round(answer.seconds, 2)}
            if answer.refusal is None:
                entry |= answer.value
            else:
                entry |= {"refused": answer.refusal, "reason": answer.reason[:120]}
            done[stage, name, dim] = entry
            print(f"\r{len(done)} {stage} {name[:40]} d = {dim}\033[K", end="", file=sys.stderr)
            yield entry


def _read(path: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    if not path.exists():
        return {}
    entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(e["stage"], e["name"], e["dim"]): e for e in entries}


def write(path: Path) -> None:
    """Append what is asked to a file, one line for each question."""
    known = _read(path)
    with path.open("a", encoding="utf-8") as out:
        for entry in answers(known):
            print(json.dumps(entry), file=out, flush=True)


def keep(path: Path) -> None:
    """Put the answers of a file into the frozen one, sorted."""
    entries = _read(path)
    order = [key for key in questions() if key in entries]
    lines = [json.dumps(_without_reason(entries[key]), separators=(",", ":")) for key in order]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _without_reason(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "reason"}


@cache
def frozen() -> dict[tuple[str, str, int], dict[str, Any]]:
    """The frozen answers by stage, name and dimension."""
    return _read(FILE)


def compare() -> None:
    """Ask everything again and print what is worse, slower or newly served."""
    lost, served = 0, 0
    for now in answers({}):
        key = (now["stage"], now["name"], now["dim"])
        then = frozen().get(key)
        if then is None:
            continue
        served += "refused" in then and "refused" not in now
        told = worse(now["stage"], then, now)
        if now["seconds"] > max(TIMES * then["seconds"], 1.0):
            told.append(f"{now['seconds']} s, {then['seconds']} s then")
        lost += bool(told)
        for line in told:
            print(f"\r{key[0]} of {key[1]}, d = {key[2]}: {line}\033[K")
    print(f"\r{lost} answers are worse, {served} are served that were refused.\033[K")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.oracles.frozen")
    parser.add_argument("--compare", action="store_true", help="print what is worse")
    parser.add_argument("--write", type=Path, metavar="FILE", help="ask everything into FILE")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="freeze the answers of FILE")
    given = parser.parse_args()
    if given.write:
        write(given.write)
    if given.keep:
        keep(given.keep)
    if given.compare:
        compare()
