"""The ``spectra`` command: check a kernel, derive its table, explore it, take the tour."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectra.base.console import (
    ENVIRONMENT,
    PICTURES,
    add_time_option,
    add_version,
    answered,
    check_writable,
)
from spectra.errors import FormulaError, ParameterError, TableFileError

if TYPE_CHECKING:
    from spectra.kernels import GroupedKernel, Kernel, L1Kernel

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 after an error that was explained on stderr."""
    arguments = _parser().parse_args(argv)

    def work() -> int:
        _check_outputs(arguments)
        return int(arguments.run(arguments))

    limit = getattr(arguments, "time_limit", None)
    left = "nothing half-written was left behind"
    return answered("spectra", work, left=left, limit=limit)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spectra",
        description="Spectral measures of stationary kernels, and verdicts on them.",
        epilog=ENVIRONMENT,
    )
    add_version(parser)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    catalogue = commands.add_parser("catalogue", help="list the kernels that have a name")
    catalogue.set_defaults(run=_catalogue)

    check = commands.add_parser("check", help="does a positive decomposition exist?")
    _add_kernel_arguments(check, dim="dimension; without it, the condition on d is given")
    check.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="what you know and the formula does not show: smoothness, decay or origin, as an "
        "exponent (docs/verdict.md); may be repeated",
    )
    check.add_argument("--json", action="store_true", help="print for a program")
    check.add_argument("--plot", type=Path, help="draw what decides, and the masses, here (.png)")
    check.set_defaults(run=_check)

    _add_variogram(commands)

    derive = commands.add_parser("derive", help="derive the measure and tabulate its parts")
    _add_kernel_arguments(derive)
    derive.add_argument("--out", type=Path, help="write the table here (.npz)")
    derive.add_argument("--plot", type=Path, help="draw k, rho and its two parts here (.png)")
    derive.add_argument("--u-error", type=float, help="largest error of the inverse CDFs")
    route = "show the density by this route first: lookup, periodic, series, symbolic or numeric"
    derive.add_argument("--route", help=route)
    derive.set_defaults(run=_derive)

    cache = commands.add_parser("cache", help="the tables that were derived before")
    cache.add_argument("action", choices=("list", "clear"), help="what to do with them")
    cache.set_defaults(run=_cache)

    _add_design(commands)

    explore = commands.add_parser("explore", help="a page on this machine to try kernels on")
    add_time_option(explore)
    explore.add_argument("--port", type=int, default=8765, help="port on 127.0.0.1; 0 for any")
    explore.add_argument("--no-browser", action="store_true", help="only print the address")
    explore.set_defaults(run=_explore)

    tour = commands.add_parser("tour", help="the whole path on real data, in about a minute")
    tour.add_argument("--out", type=Path, default=Path("tour.png"), help="the picture")
    tour.set_defaults(run=_tour)
    return parser


def _add_design(commands: Any) -> None:
    new = commands.add_parser("design", help="design a measure for a range of distances")
    _add_kernel_arguments(new)
    z_max = "largest distance; by default the support of the kernel, 2 on the sphere"
    new.add_argument("--z-max", type=float, help=z_max)
    goal = new.add_mutually_exclusive_group(required=True)
    goal.add_argument("--tol", type=float, help="largest error allowed")
    columns = "least error for this many columns"
    goal.add_argument("--n-components", "--budget", type=int, metavar="N", help=columns)
    new.add_argument("--objective", choices=("mass", "variance"), default="variance")
    new.add_argument("--plot", type=Path, help="draw kernel, error and atoms here (.png)")
    new.set_defaults(run=_design)


def _add_kernel_arguments(parser: argparse.ArgumentParser, dim: str = "") -> None:
    """The kernel and its options; a text for --dim makes that one optional."""
    add_time_option(parser)
    parser.add_argument("--dim", type=int, required=not dim, help=dim or "dimension")
    parser.add_argument(
        "kernel",
        help="a formula in z (or u), a name of the catalogue, or sums and products of such kernels "
        "of groups of columns, '(exp(-z**2)).on([0, 1])*(exp(-z)).on([2])'",
    )
    metric = "what z is: the Euclidean distance, or the sum of the distances of all columns"
    parser.add_argument("--metric", choices=("l2", "l1"), default="l2", help=metric)
    parser.add_argument("--support", help="the kernel is zero beyond this distance")
    zonal = "the formula is in u = <x, y>, even if it does not contain u"
    parser.add_argument("--zonal", action="store_true", default=None, help=zonal)
    _add_set(parser)


def _add_variogram(commands: Any) -> None:
    gamma = commands.add_parser("variogram", help="is it a variogram, and in which dimensions?")
    add_time_option(gamma)
    gamma.add_argument("gamma", help="a formula in z, 0 at z = 0, or a covariance of the catalogue")
    gamma.add_argument("--dim", type=int, help="dimension; without it, 1, 2 and 3")
    gamma.add_argument("--reach", help="beyond this distance gamma keeps the value it has there")
    _add_set(gamma)
    gamma.set_defaults(run=_variogram)


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="value of a parameter, or [A,B,...] of one that is a sequence; may be repeated",
    )


def _catalogue(_: argparse.Namespace) -> int:
    from spectra.kernels.catalogue import catalogue
    from spectra.verdict import in_words

    for entry in catalogue.entries.values():
        variable = "u" if entry.zonal else "z"
        print(entry.called(entry.defaults))
        print(f"    {entry.title}: {entry.formula}, in {variable}")
        if entry.aliases:
            print(f"    also called {', '.join(entry.aliases)}")
        print(f"    finite mass for {in_words(entry.finite)}")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from spectra.kernels import Kernel
    from spectra.kernels.catalogue import read_numbers
    from spectra.verdict import as_data, as_text, existence

    assumed = read_numbers(_settings("--assume", "smoothness=1.5", arguments.assume))
    kernel = _kernel(arguments)
    _refuse_radial_options(kernel, arguments)
    verdict = existence(kernel, dim=arguments.dim, **({"assume": assumed} if assumed else {}))
    if arguments.json:
        print(json.dumps(as_data(verdict), indent=2))
    else:
        print(as_text(verdict))
        with suppress(FormulaError):  # it is unbounded at 0, as the verdict says
            if isinstance(kernel, Kernel) and kernel.at_zero == 0.0:
                print("  It is 0 at z = 0: if it is meant as a variogram, ask 'spectra variogram'.")
    if arguments.plot is not None:
        from spectra.cli.plot_verdict import plot_verdict

        plot_verdict(verdict, path=arguments.plot)
        print(f"drew {arguments.plot}", file=sys.stderr)
    return 0


def _variogram(arguments: argparse.Namespace) -> int:
    from spectra.kernels.catalogue import read_numbers
    from spectra.variograms import variogram

    values = read_numbers(_settings("--set", "s=2", arguments.set))
    reach = None if arguments.reach is None else read_numbers({"reach": arguments.reach})["reach"]
    gamma = variogram(arguments.gamma, reach=reach, **values)
    words = {True: "a variogram, proved", False: "no variogram", None: "not settled"}
    for dim in (1, 2, 3) if arguments.dim is None else (arguments.dim,):
        found = gamma.definiteness(dim)
        print(f"{gamma} on R^{dim}: {words[found.answer]}. {found.reason}")
    return 0


def _derive(arguments: argparse.Namespace) -> int:
    from spectra.derivation import derive
    from spectra.verdict import existence

    kernel = _kernel(arguments)
    _refuse_radial_options(kernel, arguments)
    if arguments.route is not None:
        _show_density(_radial(arguments), arguments.dim, arguments.route)
    verdict = existence(kernel, dim=arguments.dim)
    print(verdict, flush=True)  # known, whatever becomes of the table
    table = derive(kernel, arguments.dim, u_error=arguments.u_error)
    print(repr(table))
    if arguments.out is not None:
        table.save(arguments.out)
        print(f"wrote {arguments.out}")
    if arguments.plot is not None:
        from spectra.cli.plot_kernel import plot_measure

        plot_measure(verdict.measure, path=arguments.plot)
        print(f"drew {arguments.plot}")
    return 0


def _refuse_radial_options(kernel: Any, arguments: argparse.Namespace) -> None:
    """Pictures and routes are of one radial measure; refused before anything is derived."""
    if hasattr(kernel, "pieces"):
        return
    for option in ("plot", "route", "assume"):
        if getattr(arguments, option, None):
            raise ParameterError(
                f"--{option} is for a radial kernel, and {kernel} is none. Ask it of the kernel of "
                "one group, or of the formula in z alone."
            )


def _show_density(kernel: Kernel, dim: int, route: str) -> None:
    from spectra.density import spectral_density

    density = spectral_density(kernel, dim, route=route)
    for atom in density.atoms:
        print(f"atom of mass {atom.mass:.12g} on |w| = {atom.radius:.12g}")
    shown = "numbers, no formula" if density.expr is None else f"mu(w) = {density.expr}"
    print(f"density by the route {density.route}: {shown}")
    if density.expr is not None:
        print(f"LaTeX: {density.latex()}")


def _cache(arguments: argparse.Namespace) -> int:
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
                said = f"d = {table.dim}  u-error {table.u_error:.0e}  {table.formula}"
            except (TableFileError, OSError):
                said = "damaged: it will be derived again"
            print(f"{path.stem[:12]}  {path.stat().st_size:8d} bytes  {said}")
    return 0


def _design(arguments: argparse.Namespace) -> int:
    from spectra.designs import design

    kernel = _radial(arguments)
    z_max = kernel.support if arguments.z_max is None else arguments.z_max
    if z_max == float("inf"):
        raise ParameterError(
            f"The kernel {kernel} has no end, and a design is right on a range of distances: give "
            "the largest one of your data with --z-max."
        )
    options = {name: getattr(arguments, name) for name in ("tol", "n_components", "objective")}
    made = design(kernel, arguments.dim, (0.0, z_max), **options)
    print(made)
    if arguments.plot is not None:
        from spectra.cli.plot_design import plot_design

        plot_design(made, path=arguments.plot)
        print(f"drew {arguments.plot}", file=sys.stderr)
    return 0


def _tour(arguments: argparse.Namespace) -> int:
    # The tour ends in features on data, which is the business of rf: an arrow upwards.
    tour = importlib.import_module("rf.papers.tour")
    return int(tour.run(arguments.out))


def _explore(arguments: argparse.Namespace) -> int:
    # The page ends in errors of features: the other arrow upwards.
    server = importlib.import_module("rf.explore.server")
    limit = getattr(arguments, "time_limit", None)
    return int(server.serve(port=arguments.port, limit=limit, opens=not arguments.no_browser))


def _radial(arguments: argparse.Namespace) -> Kernel:
    """The radial kernel that is asked for; a command that needs one refuses others."""
    from spectra.kernels import Kernel

    kernel = _kernel(arguments)
    if not isinstance(kernel, Kernel):
        raise ParameterError(
            f"{kernel} is no radial kernel, and a design is made for one: take rf.SpectralFeatures "
            "with domain='data', which makes features for the columns."
        )
    return kernel


def _kernel(arguments: argparse.Namespace) -> Kernel | GroupedKernel | L1Kernel:
    from spectra.kernels.catalogue import named_by_text

    return named_by_text(
        arguments.kernel,
        metric=arguments.metric,
        support=arguments.support,
        is_zonal=arguments.zonal,
        parameters=_settings("--set", "nu=1.5", arguments.set),
    )


def _check_outputs(arguments: argparse.Namespace) -> None:
    check_writable(getattr(arguments, "plot", None), PICTURES)
    if arguments.run is _tour:
        check_writable(arguments.out, PICTURES)
    if arguments.run is _derive:
        check_writable(arguments.out, (".npz",))


def _settings(option: str, example: str, settings: Sequence[str]) -> dict[str, str]:
    """The names and values of an option that is given as NAME=NUMBER, once for each name."""
    values: dict[str, str] = {}
    for setting in settings:
        name, found, value = setting.partition("=")
        if not found or not name.isidentifier():
            raise ParameterError(
                f"{option} takes NAME=NUMBER, for instance {option} {example}, not {setting!r}."
            )
        if name in values:
            raise ParameterError(f"{option} gives {name} twice, as {values[name]} and as {value}.")
        values[name] = value
    return values
