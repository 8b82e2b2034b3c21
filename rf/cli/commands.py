"""The commands ``rf approximate``, ``rf reproduce`` and ``rf datasets``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

from scipy.spatial.distance import pdist, squareform

from rf import AsKRFF, SpectralFeatures
from rf.inputs import resolve_kernel
from rf.papers.datasets import DATA_VARIABLE, NAMES, SCALINGS, load_dataset
from rf.papers.experiments.experiment import run_experiment
from rf.papers.experiments.ledger import Ledger
from rf.papers.experiments.measures import ROWS, RUNS, over_seeds, relative_error, sample_rows
from rf.papers.experiments.report import quick_look, table_lines, write_results
from rf.papers.published import EXPERIMENTS
from rf.sampling import COUPLINGS, RADII
from rf.variance import ALLOCATIONS
from spectra.base.console import PICTURE_SUFFIXES, check_writable
from spectra.base.fitting import interpolate
from spectra.errors import DataError, ParameterError, SpectraError
from spectra.kernels import CompositeKernel
from spectra.table import SpectralTable

__all__ = ["add_approximate", "add_datasets", "add_reproduce"]

# Error of the interpolated kernel of a table; errors of features are far larger.
_GRAM_ERROR = 1e-10
# All but "designed", which optimizes its frequencies for seconds at each number of columns.
_DEFAULT_COUPLINGS = ("auto", *(c for c in COUPLINGS if c != "designed"))


def add_approximate(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``rf approximate``."""
    parser.add_argument("data", help=f"a data set: {', '.join(NAMES)}")
    parser.add_argument(
        "--kernel",
        required=True,
        help="formula in z or u, catalogue name (asymmetric ones too), or .npz file",
    )
    parser.add_argument("--support", help="the kernel is zero beyond this distance")
    parser.add_argument(
        "--columns", type=int, nargs="+", required=True, metavar="N", help="numbers of features"
    )
    parser.add_argument(
        "--coupling",
        nargs="+",
        choices=("auto", *COUPLINGS),
        default=_DEFAULT_COUPLINGS,
        help="joint distributions of the directions (default: all but 'designed')",
    )
    parser.add_argument(
        "--radii",
        choices=tuple(RADII),
        default="stratified",
        help="how the lengths of the frequencies are drawn (default: stratified)",
    )
    parser.add_argument(
        "--allocation",
        choices=ALLOCATIONS,
        default="optimal",
        help="how columns are divided between the parts of a signed kernel (default: optimal)",
    )
    parser.add_argument("--rows", type=int, default=ROWS, help=f"number of rows (default {ROWS})")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"number of seeds (default {RUNS})")
    parser.add_argument(
        "--scaling",
        choices=tuple(SCALINGS),
        default="unit",
        help="how the columns of the data are scaled (default: unit)",
    )
    parser.add_argument("--plot", type=Path, help="file for a plot of the errors (.png)")
    parser.set_defaults(run=_approximate)


def add_reproduce(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``rf reproduce``."""
    parser.add_argument("name", choices=("all", *EXPERIMENTS), help="which table")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("reproduced"),
        help="folder for the files of each table: results so far (.jsonl), numbers (.csv), page "
        "(.md), picture (.png); a second run continues there (default: reproduced)",
    )
    parser.add_argument("--runs", type=int, default=RUNS, help=f"number of seeds (default {RUNS})")
    parser.add_argument(
        "--quick", action="store_true", help="one run of the first column of the first group"
    )
    parser.add_argument("--only", default="", help="only groups whose name contains this text")
    parser.add_argument("--column", help="only this column, such as s=2d")
    parser.set_defaults(run=_reproduce)


def add_datasets(parser: argparse.ArgumentParser) -> None:
    """Set up ``rf datasets``, which has no arguments."""
    parser.set_defaults(run=_datasets)


def _approximate(arguments: argparse.Namespace) -> int:
    _check_counts(rows=arguments.rows, runs=arguments.runs, columns=min(arguments.columns))
    check_writable(arguments.plot, PICTURE_SUFFIXES)
    X = sample_rows(arguments.data, scaling=arguments.scaling, rows=arguments.rows)
    kernel_or_table = resolve_kernel(_read_kernel(arguments.kernel, arguments.support))
    make = partial(
        SpectralFeatures,
        kernel_or_table,
        radii=arguments.radii,
        allocation=arguments.allocation,
        mixed_signature="ignore",
    )
    # This fit only finds the table and the exact kernel, so the cheapest options will do.
    first = make(n_components=max(arguments.columns), coupling="iid", allocation="mass").fit(X)
    table = first.table_
    formula = str(first.kernel_) if table is None else table.formula
    makers = _makers_to_compare(arguments, make, kernel_or_table, table)
    kernel: Any = first.kernel_
    exact = _gram_of_table(kernel_or_table, X) if kernel is None else kernel.gram(X)
    print(f"{formula} on {len(X)} rows of {arguments.data} in R^{X.shape[1]}")
    print(f"|K - K^|/|K|, mean and deviation of {arguments.runs} runs\n")
    width, name_width = 18, max(14, 2 + max(map(len, makers)))
    print("columns".ljust(name_width) + "".join(str(n).rjust(width) for n in arguments.columns))
    means: dict[str, list[float]] = {}
    refusals = []
    for name, maker in makers.items():
        cells = []
        for n in arguments.columns:
            features = maker(n_components=n)
            measure_error = over_seeds(
                lambda seed, f=features: relative_error(f.set_params(random_state=seed), X, exact)  # type: ignore[misc]
            )
            try:
                mean, cell = (summary := measure_error(arguments.runs))[0], str(summary)
            except SpectraError as error:
                mean, cell = nan, "refused"
                refusals.append(f"\n{name}, {n} columns: {error.at_shell}")
            means.setdefault(name, []).append(mean)
            cells.append(cell.rjust(width))
        print(name.ljust(name_width) + "".join(cells), flush=True)
    print(*refusals, sep="\n", end="")
    if arguments.plot is not None:
        _plot_errors(arguments.plot, arguments.columns, means, formula)
        print(f"\nwrote {arguments.plot}")
    return int(len(refusals) == len(makers) * len(arguments.columns))


def _makers_to_compare(
    arguments: argparse.Namespace, make: Any, kernel: Any, table: SpectralTable | None
) -> dict[str, Callable[..., Any]]:
    """The rows of ``rf approximate``: couplings, or for an asymmetric kernel the published ones."""
    if table is None or table.is_radial:
        return {name: partial(make, coupling=name) for name in arguments.coupling}
    if table.is_symmetric or not isinstance(kernel, CompositeKernel):
        raise ParameterError(
            f"This command compares features of radial and of asymmetric kernels, and "
            f"{table.formula} is not radial. Use SpectralFeatures(...).variance."
        )
    if arguments.coupling != _DEFAULT_COUPLINGS:
        raise ParameterError(
            "--coupling compares couplings of radial kernels. For an asymmetric kernel leave it "
            "out: the published features are compared with the automatic choice."
        )
    return {
        "auto": make,
        "AsKRFF": partial(AsKRFF, kernel),
        "AsKRFF, fitted masses": partial(AsKRFF, kernel, masses="least-squares"),
    }


def _read_kernel(kernel: str, support: str | None) -> Any:
    """The table in a .npz file, or else the name or formula, with its support if one is given."""
    if kernel.endswith(".npz"):
        return SpectralTable.load(kernel)
    if support is None:
        return kernel
    from spectra.kernels.catalogue import kernel_from_text

    return kernel_from_text(kernel, support=support)


def _gram_of_table(table: SpectralTable, X: Any) -> Any:
    """Kernel matrix of a table from a file, by interpolation, since the exact kernel is unknown."""
    distance = squareform(pdist(X))
    kernel = interpolate(table.expected_kernel, float(distance.max()), _GRAM_ERROR)
    return kernel(distance)


def _reproduce(arguments: argparse.Namespace) -> int:
    _check_counts(runs=arguments.runs)
    names = list(EXPERIMENTS) if arguments.name == "all" else [arguments.name]
    if not sum(_reproduce_table(name, arguments) for name in names):  # any() would stop early
        column = "" if arguments.column is None else f" and has a column {arguments.column!r}"
        raise ParameterError(f"No group of {arguments.name} contains {arguments.only!r}{column}.")
    return 0


def _reproduce_table(name: str, arguments: argparse.Namespace) -> bool:
    """Run an experiment, print its table and write its files; False if no cell is chosen."""
    experiment, runs = EXPERIMENTS[name], 1 if arguments.quick else arguments.runs
    cells = [
        cell
        for cell in experiment.cells()
        if arguments.only in cell.group and arguments.column in (None, cell.column)
    ]
    if not cells:
        return False
    cells = quick_look(cells) if arguments.quick else cells
    arguments.folder.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(arguments.folder / f"{name}.jsonl")
    n_computed = sum(cell.compute is not None for cell in cells)
    missing: dict[str, DataError] = {}
    for done, cell, values in run_experiment(cells, ledger, runs=runs):
        if isinstance(values, DataError):
            missing[cell.group] = values
        result = "no data" if isinstance(values, DataError) else f"{values[0]:.4f}"
        text = f"[{done}/{n_computed}] {cell.group} | {cell.method} | {cell.column}: {result}"
        print(text, file=sys.stderr, flush=True)
    print(f"{experiment.title}. {experiment.source}")
    print(f"{experiment.measures}; mean of {runs} run{'s' * (runs > 1)}")
    for line in table_lines(cells, ledger, runs=runs, digits=experiment.digits):
        print(line)
    for group, error in missing.items():
        print(f"\nNot computed: {group}. {error}")
    if len(missing) == len({cell.group for cell in cells if cell.compute is not None}):
        if arguments.name != "all":
            raise next(iter(missing.values()))
        return True
    # The page includes the results of earlier runs in this folder.
    page_cells = cells if arguments.quick else experiment.cells()
    for path in write_results(name, experiment, page_cells, ledger, runs, arguments.folder):
        print(f"wrote {path}")
    return True


def _datasets(_: argparse.Namespace) -> int:
    for name in NAMES:
        try:
            data = load_dataset(name, scaling="raw", fetch=False)
        except DataError as error:
            print(f"{name:12s}-  {error}")
            continue
        rows, dim = data.X_train.shape
        print(f"{name:12s}{rows} + {len(data.X_test)} rows in R^{dim}; {data.origin}")
    print(f"\nSet the environment variable {DATA_VARIABLE} to the folder of the data sets.")
    return 0


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise ParameterError(f"--{name} is {value}, but must be at least 1.")


def _plot_errors(
    path: Path, columns: Sequence[int], means: dict[str, list[float]], title: str
) -> None:
    from spectra.cli.pictures import pyplot, write_figure

    figure, axes = pyplot().subplots(figsize=(6, 4), layout="constrained")
    for coupling, values in means.items():
        axes.loglog(columns, values, marker="o", label=coupling)
    axes.set(xlabel="columns", ylabel=r"$\|K - \hat K\| / \|K\|$", title=title)
    axes.set_xticks(columns, [str(n) for n in columns])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=8)
    write_figure(figure, path, dpi=110)
