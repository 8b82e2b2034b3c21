"""The ``spectra`` command and its subcommands, such as ``check``, ``derive`` and ``design``."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectra.base.console import PICTURE_SUFFIXES, Command, check_writable, run_commands
from spectra.errors import FormulaError, ParameterError, TableFileError

if TYPE_CHECKING:
    from spectra.kernels import Kernel

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status, see :func:`run_command`."""
    description = "Spectral measures of stationary kernels: existence, tables and designs."
    interrupted = "no partial file remains"
    return run_commands("spectra", description, _COMMANDS, argv, if_interrupted=interrupted)


# --- arguments ------------------------------------------------------------------------------------


def _add_parameters(parser: ArgumentParser) -> None:
    text = "value of a parameter, a number or a list [A,B,...]; may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER", help=text)


def _add_kernel(parser: ArgumentParser, *, dim: str = "", nargs: str | None = None) -> None:
    """Add the options of a kernel; ``dim`` is the help of --dim if this option is not required."""
    parser.add_argument(
        "kernel",
        nargs=nargs,
        help="a formula in z (or u), a name in the catalogue, or a sum or product of such kernels "
        "of groups of columns, as in '(exp(-z**2)).on([0, 1])*(exp(-z)).on([2])'",
    )
    parser.add_argument("--dim", type=int, required=not dim, help=dim or "dimension")
    parser.add_argument(
        "--metric",
        choices=("l2", "l1"),
        default="l2",
        help="z is the Euclidean distance (l2) or the sum of coordinate distances (l1)",
    )
    parser.add_argument("--support", help="the kernel is zero beyond this distance")
    _add_parameters(parser)


def _add_plot(parser: ArgumentParser, content: str) -> None:
    parser.add_argument("--plot", type=Path, help=f"file for a plot of {content} (.png)")


def _add_catalogue(parser: ArgumentParser) -> None:
    parser.set_defaults(run=_catalogue)


def _add_check(parser: ArgumentParser) -> None:
    _add_kernel(parser, dim="dimension; by default, print the condition on d")
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="an exponent that the formula does not show: smoothness, decay or origin "
        "(docs/verdict.md); may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    _add_plot(parser, "the kernel and its singularities")
    parser.set_defaults(run=_check)


def _add_variogram(parser: ArgumentParser) -> None:
    text = "a formula in z that is 0 at z = 0, or a covariance in the catalogue"
    parser.add_argument("gamma", help=text)
    parser.add_argument("--dim", type=int, help="dimension; by default 1, 2 and 3")
    parser.add_argument("--reach", help="distance beyond which gamma is constant")
    _add_parameters(parser)
    parser.set_defaults(run=_variogram)


def _add_derive(parser: ArgumentParser) -> None:
    _add_kernel(parser, nargs="?")
    text = "instead of a kernel: file of two columns, k and the spectrum (.csv)"
    parser.add_argument("--spectrum", type=Path, help=text)
    kinds = ("density", "power", "shell", "log")
    parser.add_argument("--kind", choices=kinds, help="kind of spectrum (docs/spectra.md)")
    parser.add_argument("--cycles", action="store_true", help="k is in cycles per unit, as Hz")
    parser.add_argument("--extend", action="store_true", help="continue samples by power laws")
    parser.add_argument("--out", type=Path, help="file for the table (.npz)")
    _add_plot(parser, "the kernel and its spectral density")
    text = "largest error of the inverse CDFs, in probability"
    parser.add_argument("--u-error", type=float, help=text)
    parser.add_argument(
        "--route",
        help="also print the density by this route: lookup, periodic, series, symbolic or numeric",
    )
    parser.set_defaults(run=_derive)


def _add_cache(parser: ArgumentParser) -> None:
    text = "list the tables, or delete them all"
    parser.add_argument("action", choices=("list", "clear"), help=text)
    parser.set_defaults(run=_cache)


def _add_design(parser: ArgumentParser) -> None:
    _add_kernel(parser)
    parser.add_argument(
        "--z-max",
        type=float,
        help="largest distance; by default the support of the kernel, 2 on the sphere",
    )
    parser.add_argument(
        "--objective",
        choices=("mass", "variance"),
        default="variance",
        help="with --tol: minimise the total mass, or the variance of features",
    )
    _add_plot(parser, "kernel, error and atoms")
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--tol", type=float, help="largest error of the kernel")
    columns = "minimise the error for this number of columns"
    goal.add_argument("--n-components", "--budget", type=int, metavar="N", help=columns)
    parser.set_defaults(run=_design)


def _add_explore(parser: ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=8765, help="port on 127.0.0.1; 0 for any")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.set_defaults(run=_explore)


def _add_tour(parser: ArgumentParser) -> None:
    text = "file for the plots, tour.png by default"
    parser.add_argument("--out", type=Path, default=Path("tour.png"), help=text)
    parser.set_defaults(run=_tour)


_COMMANDS = {
    "catalogue": Command("list the named kernels", ("",), _add_catalogue),
    "check": Command(
        "is the kernel a difference of positive definite kernels?",
        ("'exp(-z)*cos(3*z)' --dim 3", "'(1 - z**2/4)**2' --support 2", "ntk --dim 16 --json"),
        _add_check,
    ),
    "variogram": Command(
        "is a formula a variogram, and in which dimensions?",
        ("'1 - exp(-z)*cos(z)'", "'s*(3*z/2 - z**3/2)' --reach 1 --set s=2"),
        _add_variogram,
    ),
    "derive": Command(
        "derive the measure and tabulate its parts",
        (
            "'exp(-z**2/2) - exp(-z**2/8)/2' --dim 3 --out table.npz",
            "matern --set nu=1.5 --dim 2 --plot matern.png",
            "--spectrum p.csv --kind power --dim 3",
        ),
        _add_derive,
    ),
    "cache": Command("list or delete the saved tables", ("list", "clear"), _add_cache),
    "design": Command(
        "design a measure for a range of distances",
        ("ntk --dim 16 --z-max 1.4 --tol 1e-2", "'1/(1+z)' --dim 3 --z-max 2 --n-components 64"),
        _add_design,
    ),
    "explore": Command("try kernels in a local web app", ("", "--port 0"), _add_explore),
    "tour": Command("demonstrate the packages on real data, in about a minute", ("",), _add_tour),
}


# --- commands -------------------------------------------------------------------------------------


def _catalogue(_: argparse.Namespace) -> None:
    from spectra.kernels.catalogue import catalogue
    from spectra.verdict import in_words

    for entry in catalogue.entries.values():
        variable = "u" if entry.zonal else "z"
        print(entry.call_text(entry.defaults))
        print(f"    {entry.title}: {entry.formula}, in {variable}")
        if entry.aliases:
            print(f"    also called {', '.join(entry.aliases)}")
        print(f"    finite mass for {in_words(entry.finite)}")


def _check(arguments: argparse.Namespace) -> None:
    from spectra.kernels import Kernel
    from spectra.kernels.catalogue import parse_numbers
    from spectra.verdict import as_data, as_text, existence

    check_writable(arguments.plot, PICTURE_SUFFIXES)
    assumed = parse_numbers(_parse_values("--assume", "smoothness=1.5", arguments.assume))
    kernel = _kernel(arguments)
    verdict = existence(kernel, dim=arguments.dim, **({"assume": assumed} if assumed else {}))
    if arguments.json:
        print(json.dumps(as_data(verdict), indent=2))
    else:
        print(as_text(verdict))
        with suppress(FormulaError):  # raised if the kernel is unbounded at 0
            if isinstance(kernel, Kernel) and kernel.at_zero == 0.0:
                print("  It is 0 at z = 0; for a variogram, ask 'spectra variogram'.")
    _plot("plot_verdict", verdict, arguments.plot)


def _variogram(arguments: argparse.Namespace) -> None:
    from spectra.kernels.catalogue import parse_numbers
    from spectra.variograms import variogram

    values = parse_numbers(_parse_values("--set", "s=2", arguments.set))
    reach = None if arguments.reach is None else parse_numbers({"reach": arguments.reach})["reach"]
    gamma = variogram(arguments.gamma, reach=reach, **values)
    words = {True: "a variogram, proved", False: "no variogram", None: "not settled"}
    for dim in (1, 2, 3) if arguments.dim is None else (arguments.dim,):
        verdict = gamma.definiteness(dim)
        print(f"{gamma} on R^{dim}: {words[verdict.answer]}. {verdict.reason}")


def _derive(arguments: argparse.Namespace) -> None:
    from spectra.derivation import derive
    from spectra.measure import tabulate
    from spectra.verdict import existence

    check_writable(arguments.out, (".npz",))
    check_writable(arguments.plot, PICTURE_SUFFIXES)
    given = arguments.spectrum is not None
    if (arguments.kernel is None) != given or (arguments.kind is None) == given:
        raise ParameterError("Give a kernel, or --spectrum FILE with --kind.")
    if given:
        measure = _given_measure(arguments)
        note = f"  Lost between samples: {measure.lost_mass:.1e}, beyond: {measure.missing:.3g}."
        print(measure, note, sep="\n", flush=True)
        table = tabulate(measure, u_error=arguments.u_error)
    else:
        kernel = _kernel(arguments)
        if arguments.route is not None:
            _show_density(kernel, arguments.dim, arguments.route)
        verdict = existence(kernel, dim=arguments.dim)
        print(verdict, flush=True)  # before the table, which may raise an error
        table = derive(kernel, arguments.dim, u_error=arguments.u_error)
        measure = verdict.measure if arguments.plot is not None else None
    print(repr(table))
    if arguments.out is not None:
        table.save(arguments.out)
        print(f"wrote {arguments.out}")
    _plot("plot_measure", measure, arguments.plot)


def _given_measure(arguments: argparse.Namespace) -> Any:
    """The measure of the samples in a file of two columns, with or without a header."""
    import numpy as np

    from spectra.spectral_input import spectrum

    try:
        text = arguments.spectrum.read_text(encoding="utf-8")
        lines = [line.replace(",", " ").replace(";", " ") for line in text.splitlines()]
        has_header = lines and re.match(r"\s*[^\s\d.+#-]", lines[0])
        k, values = np.loadtxt(lines[1:] if has_header else lines, ndmin=2, unpack=True)
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"{arguments.spectrum} is no file of two columns of numbers, k and the spectrum, below "
            f"at most one line of names: {error}"
        ) from error
    options = {name: getattr(arguments, name) for name in ("kind", "cycles", "extend")}
    return spectrum((k, values), arguments.dim, **options)


def _show_density(kernel: Kernel, dim: int, route: str) -> None:
    from spectra.density import spectral_density

    density = spectral_density(kernel, dim, route=route)
    for atom in density.atoms:
        print(f"atom of mass {atom.mass:.12g} on |w| = {atom.radius:.12g}")
    shown = "numbers, no formula" if density.expr is None else f"mu(w) = {density.expr}"
    print(f"density by the route {density.route}: {shown}")
    if density.expr is not None:
        print(f"LaTeX: {density.latex()}")


def _cache(arguments: argparse.Namespace) -> None:
    from spectra.derivation import default_cache, kept_files, remove_kept
    from spectra.table import SpectralTable

    folder = default_cache()
    if folder is None:
        print("no tables are kept: SPECTRA_CACHE is off")
    elif arguments.action == "clear":
        print(f"removed {remove_kept(folder)} file(s) from {folder}")
    else:
        print(f"tables in {folder}:")
        for path in kept_files(folder):
            try:
                table = SpectralTable.load(path)
                summary = f"d = {table.dim}  u-error {table.u_error:.0e}  {table.formula}"
            except (TableFileError, OSError):
                summary = "damaged: it will be derived again"
            print(f"{path.stem[:12]}  {path.stat().st_size:8d} bytes  {summary}")


def _design(arguments: argparse.Namespace) -> None:
    from spectra.designs import design

    check_writable(arguments.plot, PICTURE_SUFFIXES)
    kernel = _kernel(arguments)
    z_max = kernel.support if arguments.z_max is None else arguments.z_max
    if z_max == float("inf"):
        raise ParameterError(
            f"The kernel {kernel} has no bounded support, and a design needs a range of distances: "
            "give the largest distance in your data with --z-max."
        )
    options = {name: getattr(arguments, name) for name in ("tol", "n_components", "objective")}
    result = design(kernel, arguments.dim, (0.0, z_max), **options)
    print(result)
    _plot("plot_design", result, arguments.plot)


def _tour(arguments: argparse.Namespace) -> Any:
    check_writable(arguments.out, PICTURE_SUFFIXES)
    # The tour and the web app use the package rf, which spectra must not import at its start.
    return importlib.import_module("rf.cli.tour").run(arguments.out)


def _explore(arguments: argparse.Namespace) -> Any:
    server = importlib.import_module("rf.explore.server")
    limit = getattr(arguments, "time_limit", None)
    return server.serve(port=arguments.port, limit=limit, open_browser=not arguments.no_browser)


def _plot(function: str, subject: object, path: Path | None) -> None:
    """Draw a picture by a function of :mod:`spectra.cli.pictures`, which is loaded on use."""
    if path is not None:
        getattr(importlib.import_module("spectra.cli.pictures"), function)(subject, path=path)
        print(f"drew {path}", file=sys.stderr)


def _kernel(arguments: argparse.Namespace) -> Any:
    """The kernel of the arguments; a ParameterError if they need a radial one and it is not."""
    from spectra.kernels import Kernel
    from spectra.kernels.catalogue import any_kernel_from_text

    kernel = any_kernel_from_text(
        arguments.kernel,
        metric=arguments.metric,
        support=arguments.support,
        parameters=_parse_values("--set", "nu=1.5", arguments.set),
    )
    used = [f"--{o}" for o in ("plot", "route", "assume") if getattr(arguments, o, None)]
    if arguments.command == "design":
        used = ["spectra design"]
    if used and not isinstance(kernel, Kernel):
        raise ParameterError(
            f"{used[0]} needs a radial kernel, and {kernel} is not one. Give the kernel of one "
            "group, or a formula in the Euclidean distance. rf.SpectralFeatures with domain='data' "
            "makes features for all columns."
        )
    return kernel


def _parse_values(option: str, example: str, assignments: Sequence[str]) -> dict[str, str]:
    """Names and values of an option that is given as NAME=NUMBER, once for each name."""
    values: dict[str, str] = {}
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not separator or not name.isidentifier():
            raise ParameterError(
                f"{option} takes NAME=NUMBER, for instance {option} {example}, not {assignment!r}."
            )
        if name in values:
            raise ParameterError(f"{option} gives {name} twice, as {values[name]} and as {value}.")
        values[name] = value
    return values
