"""From text to table in a process of its own: importing, deriving, and reading what was kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from .timing import Table, number, say

__all__ = ["run"]

# Formulas outside the catalogue, their options, and the dimensions at which they are asked for.
_FORMULAS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("exp(-z)*cos(3*z)", {}),
    ("(1-z)**3*(3*z+1)", {"support": 1}),
    ("exp(-z**2)*(1-z**2)", {}),
    ("1/(1+z)", {}),
    ("sqrt(1-z**2)", {"support": 1}),
    ("besselj(0,z)*exp(-z)", {}),
)
_DIMS = (1, 2, 3, 16)
_RUNS = 3
_PATIENCE = 120.0

# Wall-clock times: a process that starts waits for the disk too.
_SCRIPT = """
import json, sys, time
formula, options, dim = json.loads(sys.argv[1])
start = time.perf_counter()
import spectra as sp
from spectra.errors import InfiniteMassError
make, derive = sp.radial, sp.derive
imported = time.perf_counter()
try:
    table = derive(make(formula, **options), dim)
    answer = table.u_error
except InfiniteMassError:
    answer = None
print(json.dumps([imported - start, time.perf_counter() - imported, answer]))
"""


def run() -> list[Table]:
    """One table: a row for each formula and dimension."""
    table = Table(
        "From text to table",
        f"Wall-clock seconds in a fresh process, the shortest of {_RUNS}; importing, which is "
        "mostly that of sympy, is counted apart. Cold: the verdict, the measure and the table. "
        "Kept: the same from the cache on disk.",
        ("formula", "d", "import", "cold", "kept", "u-error"),
        [],
    )
    for formula, options in _FORMULAS:
        name = formula + "".join(f" on z ≤ {end}" for end in options.values())
        say(name)
        for dim in _DIMS:
            cold, kept = _both(json.dumps([formula, options, dim]))
            imported = min(x[0] for x in (*cold, *kept))
            error = cold[0][2]
            table.add(
                f"`{name}`", str(dim), number(imported), number(min(x[1] for x in cold)),
                number(min(x[1] for x in kept)),
                "infinite mass, refused" if error is None else number(error),
            )  # fmt: skip
    return [table]


def _both(arguments: str) -> tuple[list[Any], list[Any]]:
    """Runs without and with what earlier ones kept."""
    cold, kept = [], []
    for _ in range(_RUNS):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(_once(arguments, folder))
            kept.append(_once(arguments, folder))
    return cold, kept


def _once(arguments: str, folder: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, arguments],
        env={**os.environ, "SPECTRA_CACHE": folder},
        capture_output=True,
        text=True,
        check=True,
        timeout=_PATIENCE,
    )
    return json.loads(done.stdout)
