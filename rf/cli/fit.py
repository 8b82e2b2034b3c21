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
    add = parser.add_argument
    add("data", type=Path, help="a .csv file with names in its first row")
    add("--x", nargs="+", required=True, metavar="COLUMN", help="the coordinates")
    add("--y", required=True, metavar="COLUMN", help="the values")
    add("--log", action="store_true", help="fit the logarithm of the values")
    add("--noise", metavar="COLUMN", help="standard deviations of the values")
    add("--family", nargs="+", default=["matern(nu=3/2)"], help="names or formulas to compare")
    add("--drift", nargs="+", default=["constant"], metavar="DRIFT",
        help="none, constant, linear, or columns that explain the mean")  # fmt: skip
    text = "a length for each coordinate, or lengths along fitted axes (default: one length)"
    add("--anisotropy", choices=("axes", "rotated"), help=text)
    add("--plot", type=Path, help="file of a picture (.png, .pdf, .svg)")
    add("--out", type=Path, help="file of predictions on a grid (.csv)")
    add("--grid", type=int, default=50, help="points along each side (default 50)")
    parser.set_defaults(run=_fit)


def _fit(arguments: argparse.Namespace) -> int:
    check_writable(arguments.plot, PICTURE_SUFFIXES)
    check_writable(arguments.out, (".csv",))
    extra = [name for name in arguments.drift if name not in ("none", "constant", "linear")]
    drift: Any = {"none": None}.get(arguments.drift[0], arguments.drift[0])
    names = [*arguments.x, *extra]
    if extra:
        drift = list(range(len(arguments.x), len(names)))
    noise = [arguments.noise] if arguments.noise else []
    table = _read(arguments.data, [*names, arguments.y, *noise])
    X, y, errors = table[:, : len(names)], table[:, len(names)], table[:, len(names) + 1 :]
    if arguments.log:
        if not np.all(y > 0.0):
            row = np.flatnonzero(~(y > 0))[0]
            raise DataError(f"--log: {arguments.y} in row {row} is not positive.")
        y = np.log(y)
    fitted: list[tuple[float, Kriging]] = []
    for family in arguments.family:
        model = Kriging(family, drift=drift, anisotropy=arguments.anisotropy)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(X, y, errors[:, 0] if noise else None)
        except SpectraError as error:
            print(f"{family}: {error.at_shell}\n")
            continue
        aic = 2.0 * (len(model.parameters_) - model.log_likelihood_)
        fitted.append((aic, model))
        print(f"{family}, {len(y)} rows\n{model.summary()}")
        print(f"AIC: {aic:.4f}; leave-one-out: {model.cross_validate()}")
        print(*(f"warning: {warning.message}\n" for warning in caught), sep="", flush=True)
        if not model.converged_:
            break
    if not fitted:
        return 1
    aic, model = min(fitted, key=lambda pair: pair[0])
    if len(arguments.family) > 1:
        print(f"best: {model.family} (AIC {aic:.4f})")
    if arguments.plot is not None:
        model.plot(path=arguments.plot)
        print(f"wrote {arguments.plot}")
    if arguments.out is not None:
        _predict(model, arguments, X)
        print(f"wrote {arguments.out}")
    return 0 if model.converged_ else 130


def _predict(model: Kriging, arguments: argparse.Namespace, X: FloatArray) -> None:
    """Write predictions on a grid over the data."""
    names = arguments.x
    if X.shape[1] > len(names):
        raise DataError("--out: a drift of columns has no values on a grid; use rf.Kriging.")
    axes = np.linspace(X.min(axis=0), X.max(axis=0), arguments.grid).T
    rows = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    head = f"log {arguments.y}" if arguments.log else arguments.y
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*names, head, f"std of {head}"])
        writer.writerows(np.column_stack([rows, *model.predict(rows, return_std=True)]).tolist())


def _read(path: Path, names: list[str]) -> FloatArray:
    """Columns of a .csv file as numbers; rows are counted from 0 in errors."""
    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    with path.open(newline="", encoding="utf-8-sig") as file:
        table = list(csv.DictReader(file, skipinitialspace=True))
    found = []
    for i, row in enumerate(table):
        if missing := [name for name in names if name not in row]:
            known = ", ".join(map(str, row))
            raise DataError(f"{path} has no column {missing[0]!r}; it has {known}.")
        for name in names:
            try:
                found.append(float(row[name]))
            except (TypeError, ValueError):
                text = f"{name} in row {i} of {path} is {row[name]!r}, no number: omit the row."
                raise DataError(text) from None
    return np.array(found).reshape(-1, len(names))
