"""The ``spectra`` command and its subcommands, such as ``check``, ``derive`` and ``design``."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectra.base.console import (
    ENVIRONMENT_HELP,
    PICTURE_SUFFIXES,
    add_time_option,
    add_version,
    check_writable,
    run_command,
)
from spectra.errors import FormulaError, ParameterError, TableFileError

if TYPE_CHECKING:
    from spectra.kernels import Kernel

__all__ = ["main"]


_REPEATED = {"action": "append", "default": [], "metavar": "NAME=NUMBER"}
#: Arguments of ``add_argument`` for options that are not strings.
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "--dim": {"type": int},
    "--metric": {"choices": ("l2", "l1"), "default": "l2"},
    "--set": _REPEATED,
    "--assume": _REPEATED,
    "--json": {"action": "store_true"},
    "--plot": {"type": Path},
    "--out": {"type": Path},
    "--u-error": {"type": float},
    "--spectrum": {"type": Path},
    "--kind": {"choices": ("density", "power", "shell", "log")},
    "--cycles": {"action": "store_true"},
    "--extend": {"action": "store_true"},
    "--z-max": {"type": float},
    "--objective": {"choices": ("mass", "variance"), "default": "variance"},
    "action": {"choices": ("list", "clear")},
    "--port": {"type": int, "default": 8765},
    "--no-browser": {"action": "store_true"},
}
_PARAMETERS = {"--set": "value of a parameter, a number or a list [A,B,...]; may be repeated"}
_KERNEL_OPTIONS = {
    "kernel": "a formula in z (or u), a name in the catalogue, or a sum or product of such kernels "
    "of groups of columns, as in '(exp(-z**2)).on([0, 1])*(exp(-z)).on([2])'",
    "--dim": "dimension",
    "--metric": "z is the Euclidean distance (l2) or the sum of coordinate distances (l1)",
    "--support": "the kernel is zero beyond this distance",
    **_PARAMETERS,
}
#: The help of each command and of its options, without --time-limit, --tol and --n-components.
_COMMANDS: dict[str, tuple[str, dict[str, str]]] = {
    "catalogue": ("list the named kernels", {}),
    "check": (
        "is the kernel a difference of positive definite kernels?",
        _KERNEL_OPTIONS
        | {
            "--dim": "dimension; by default, print the condition on d",
            "--assume": "an exponent that the formula does not show: smoothness, decay or origin "
            "(docs/verdict.md); may be repeated",
            "--json": "print JSON",
            "--plot": "file for a plot of the kernel and its singularities (.png)",
        },
    ),
    "variogram": (
        "is a formula a variogram, and in which dimensions?",
        {
            "gamma": "a formula in z that is 0 at z = 0, or a covariance in the catalogue",
            "--dim": "dimension; by default 1, 2 and 3",
            "--reach": "distance beyond which gamma is constant",
            **_PARAMETERS,
        },
    ),
    "derive": (
        "derive the measure and tabulate its parts",
        _KERNEL_OPTIONS
        | {
            "--out": "file for the table (.npz)",
            "--plot": "file for a plot of the kernel and its spectral density (.png)",
            "--u-error": "largest error of the inverse CDFs, in probability",
            "--route": "also print the density by this route: lookup, periodic, series, symbolic "
            "or numeric",
            "--spectrum": "instead of a kernel: file of two columns, k and the spectrum (.csv)",
            "--kind": "what of the spectrum is integrated to give the variance (docs/spectra.md)",
            "--cycles": "k is in cycles per unit, such as Hz",
            "--extend": "continue the samples by power laws",
        },
    ),
    "cache": ("list or delete the saved tables", {"action": "list the tables, or delete them all"}),
    "design": (
        "design a measure for a range of distances",
        _KERNEL_OPTIONS
        | {
            "--z-max": "largest distance; by default the support of the kernel, 2 on the sphere",
            "--objective": "with --tol: minimise the total mass, or the variance of features",
            "--plot": "file for a plot of kernel, error and atoms (.png)",
        },
    ),
    "explore": (
        "try kernels in a local web app",
        {"--port": "port on 127.0.0.1; 0 for any", "--no-browser": "only print the address"},
    ),
    "tour": (
        "demonstrate the packages on real data, in about a minute",
        {"--out": "file for the plots, tour.png by default"},
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status, see :func:`run_command`."""
    arguments = _parser().parse_args(argv)
    limit = getattr(arguments, "time_limit", None)
    if_interrupted = "no partial file remains"
    return run_command(
        "spectra", lambda: _run(arguments), if_interrupted=if_interrupted, limit=limit
    )


def _run(arguments: argparse.Namespace) -> int:
    check_writable(getattr(arguments, "plot", None), PICTURE_SUFFIXES)
    suffixes = PICTURE_SUFFIXES if arguments.command == "tour" else (".npz",)
    check_writable(getattr(arguments, "out", None), suffixes)
    return int(globals()[f"_{arguments.command}"](arguments) or 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spectra",
        description="Spectral measures of stationary kernels: existence, tables and designs.",
        epilog=ENVIRONMENT_HELP,
    )
    add_version(parser)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, (text, options) in _COMMANDS.items():
        command = commands.add_parser(name, help=text)
        add_time_option(command)
        for option, description in options.items():
            settings = _ARGUMENTS.get(option, {})
            if option == "kernel" and name == "derive":
                settings = {"nargs": "?"}
            if option == "--dim":
                settings = settings | {"required": name in ("derive", "design")}
            command.add_argument(option, help=description, **settings)
        if name == "tour":
            command.set_defaults(out=Path("tour.png"))
        if name == "design":
            goal = command.add_mutually_exclusive_group(required=True)
            goal.add_argument("--tol", type=float, help="largest error of the kernel")
            columns = "minimise the error for this number of columns"
            goal.add_argument("--n-components", "--budget", type=int, metavar="N", help=columns)
    return parser


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
    if arguments.plot is not None:
        from spectra.cli.pictures import plot_verdict

        plot_verdict(verdict, path=arguments.plot)
        print(f"drew {arguments.plot}", file=sys.stderr)


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

    if (arguments.kernel is None) == (arguments.spectrum is None):
        raise ParameterError("Give a kernel, or --spectrum FILE with --kind.")
    if arguments.spectrum is not None:
        measure = _given_measure(arguments)
        print(measure)
        print(f"  Mass beyond the samples: {measure.missing:.3g}, not in the measure.")
        print(f"  Error of the interpolation: {measure.unresolved:.1e}.", flush=True)
        table = tabulate(measure, u_error=arguments.u_error)
    else:
        kernel = _kernel(arguments)
        if arguments.route is not None:
            _show_density(kernel, arguments.dim, arguments.route)
        verdict = existence(kernel, dim=arguments.dim)
        print(verdict, flush=True)  # before the table, which may raise an error
        table = derive(kernel, arguments.dim, u_error=arguments.u_error)
    print(repr(table))
    if arguments.out is not None:
        table.save(arguments.out)
        print(f"wrote {arguments.out}")
    if arguments.plot is not None:
        from spectra.cli.pictures import plot_measure

        given = arguments.spectrum is not None
        plot_measure(measure if given else verdict.measure, path=arguments.plot)
        print(f"drew {arguments.plot}")


def _given_measure(arguments: argparse.Namespace) -> Any:
    """The measure of the samples in a file of two columns, with or without a header."""
    import numpy as np

    from spectra.spectral_input import spectrum

    if arguments.kind is None:
        raise ParameterError("--spectrum needs --kind: density, power, shell or log.")
    try:
        text = arguments.spectrum.read_text(encoding="utf-8")
        lines = [line.replace(",", " ").replace(";", " ") for line in text.splitlines()]
        has_header = lines and re.match(r"\s*[^\s\d.+#-]", lines[0])
        k, values = np.loadtxt(lines[1:] if has_header else lines, ndmin=2, unpack=True)
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"{arguments.spectrum} is not a file of two columns of numbers, k and the spectrum, "
            f"below at most one line of names: {error}"
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
    if arguments.plot is not None:
        from spectra.cli.pictures import plot_design

        plot_design(result, path=arguments.plot)
        print(f"drew {arguments.plot}", file=sys.stderr)


def _tour(arguments: argparse.Namespace) -> Any:
    # The tour and the web app use the package rf, which spectra must not import at its start.
    return importlib.import_module("rf.papers.tour").run(arguments.out)


def _explore(arguments: argparse.Namespace) -> Any:
    server = importlib.import_module("rf.explore.server")
    limit = getattr(arguments, "time_limit", None)
    return server.serve(port=arguments.port, limit=limit, open_browser=not arguments.no_browser)


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
