"""The command ``rf fit``: kriging of a table, with a comparison of families."""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from rf.kriging import Kriging
from spectra.base.arrays import FloatArray
from spectra.base.console import PICTURE_SUFFIXES, check_writable
from spectra.errors import DataError, SpectraError

__all__ = ["add_fit"]


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``rf fit``."""
    parser.add_argument("data", type=Path, help="a .csv file with names in its first row")
    parser.add_argument("--x", nargs="+", required=True, metavar="COLUMN", help="the coordinates")
    parser.add_argument("--y", required=True, metavar="COLUMN", help="the values")
    parser.add_argument("--log", action="store_true", help="fit the logarithm of the values")
    parser.add_argument("--noise", metavar="COLUMN", help="standard deviations of the values")
    parser.add_argument(
        "--family", nargs="+", default=["matern(nu=3/2)"],
        help="names of the catalogue or formulas; several are compared",
    )  # fmt: skip
    parser.add_argument(
        "--drift", nargs="+", default=["constant"], metavar="DRIFT",
        help="none, constant, linear, or columns that explain the mean",
    )  # fmt: skip
    parser.add_argument("--anisotropy", choices=("axes", "rotated"))
    parser.add_argument("--method", choices=("reml", "ml", "variogram"), default="reml")
    parser.add_argument("--no-nugget", action="store_true", help="exact values: no nugget")
    parser.add_argument("--plot", type=Path, help="file of a picture (.png, .pdf, .svg)")
    parser.add_argument("--out", type=Path, help="file of predictions (.csv): see --grid and --at")
    parser.add_argument("--grid", type=int, default=50, help="points along each side (default 50)")
    parser.add_argument("--at", type=Path, help="predict at the rows of this .csv file instead")
    parser.set_defaults(run=_fit)


def _fit(arguments: argparse.Namespace) -> int:
    check_writable(arguments.plot, PICTURE_SUFFIXES)
    check_writable(arguments.out, (".csv",))
    drift: Any = arguments.drift
    if drift in (["none"], ["constant"], ["linear"]):
        drift = None if drift == ["none"] else drift[0]
    extra = drift if isinstance(drift, list) else []
    names = [*arguments.x, *extra]
    table = _read(arguments.data)
    X, y = (
        _columns(table, names, arguments.data),
        _columns(table, [arguments.y], arguments.data)[:, 0],
    )
    noise = _columns(table, [arguments.noise], arguments.data)[:, 0] if arguments.noise else None
    if arguments.log:
        if not np.all(y > 0.0):
            raise DataError(
                f"--log: {arguments.y} in row {np.flatnonzero(~(y > 0))[0]} is not positive."
            )
        y = np.log(y)
    columns = list(range(len(arguments.x), len(names))) if extra else drift
    best, model = np.inf, None
    for family in arguments.family:
        candidate = Kriging(
            family, drift=columns, anisotropy=arguments.anisotropy, method=arguments.method,
            nugget=not arguments.no_nugget,
        )  # fmt: skip
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                candidate.fit(X, y, noise)
        except SpectraError as error:
            print(f"{family}: {error.at_shell}\n")
            continue
        aic = 2.0 * (len(candidate.parameters_) - candidate.log_likelihood_)
        print(f"{family}, {len(y)} rows\n{candidate.summary()}")
        print(f"AIC: {aic:.4f}; leave-one-out: {candidate.cross_validate()}")
        for warning in caught:
            print(f"warning: {warning.message}")
        print(flush=True)
        if aic < best:
            best, model = aic, candidate
        if not candidate.converged_:
            break
    if model is None:
        return 1
    if len(arguments.family) > 1:
        print(f"best: {model.family} (AIC {best:.4f})")
    if arguments.plot is not None:
        model.plot(path=arguments.plot)
        print(f"wrote {arguments.plot}")
    if arguments.out is not None:
        _predict(model, arguments, names, X)
        print(f"wrote {arguments.out}")
    return 0 if model.converged_ else 130


def _predict(
    model: Kriging, arguments: argparse.Namespace, names: list[str], X: FloatArray
) -> None:
    """Write predictions on a grid over the data, or at the rows of a file."""
    if arguments.at is not None:
        rows = _columns(_read(arguments.at), names, arguments.at)
    elif len(names) > len(arguments.x):
        raise DataError("A drift of columns has no values on a grid: give rows with --at.")
    else:
        axes = [np.linspace(*ends, arguments.grid) for ends in zip(X.min(0), X.max(0), strict=True)]
        rows = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    mean, std = model.predict(rows, return_std=True)
    head = f"log {arguments.y}" if arguments.log else arguments.y
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*names, head, f"std of {head}"])
        writer.writerows(np.column_stack([rows, mean, std]).tolist())


def _read(path: Path) -> dict[str, list[str]]:
    """The columns of a .csv file by name."""
    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 2:
        raise DataError(f"{path} has no rows below the names of its columns.")
    bad = next((i for i, row in enumerate(rows) if len(row) != len(rows[0])), None)
    if bad is not None:
        raise DataError(
            f"Line {bad + 1} of {path} has {len(rows[bad])} fields, not {len(rows[0])}."
        )
    return {name.strip(): [row[j] for row in rows[1:]] for j, name in enumerate(rows[0])}


def _columns(table: dict[str, list[str]], names: list[str], path: Path) -> FloatArray:
    """Columns as numbers; rows are counted from 0 in errors."""
    if missing := [name for name in names if name not in table]:
        raise DataError(f"{path} has no column {missing[0]!r}; it has {', '.join(table)}.")
    columns = []
    for name in names:
        try:
            columns.append([float(text) for text in table[name]])
        except ValueError:
            row = next(i for i, text in enumerate(table[name]) if not _is_number(text))
            raise DataError(
                f"{name} in row {row} of {path} is {table[name][row]!r}, no number: omit the row."
            ) from None
    return np.array(columns).T


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
