"""The ``rf`` command, which loads only the subcommand that is run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module

from spectra.base.console import Command, run_commands

__all__ = ["main"]


def _add(name: str, module: str = "rf.cli.commands") -> Callable[[argparse.ArgumentParser], None]:
    """A function of a module that is imported on use: scikit-learn loads slowly."""
    return lambda parser: getattr(import_module(module), name)(parser)


_COMMANDS = {
    "approximate": Command(
        "errors of each coupling on a data set",
        (
            "digits --kernel 'exp(-z**2/2)' --columns 64 256",
            "digits --kernel 'matern(nu=1.5)' --columns 128 --coupling iid orthogonal --runs 5",
        ),
        _add("add_approximate"),
    ),
    "fit": Command(
        "fit kernels to a table of points and values, and predict (kriging)",
        (
            "data.csv --x east north --y zinc --log --plot map.png",
            "data.csv --x east north --y zinc --family spherical laplace --out grid.csv",
        ),
        _add("add_fit", "rf.cli.fit"),
    ),
    "reproduce": Command(
        "recompute a published table",
        ("gorf-errors --quick", "all --folder results"),
        _add("add_reproduce"),
    ),
    "datasets": Command("list the data sets and where they come from", ("",), _add("add_datasets")),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    return run_commands(
        "rf",
        "Random features of kernels: errors on data, kriging, and published tables.",
        _COMMANDS,
        argv,
        if_interrupted="finished results of reproduce are kept in --folder",
    )
