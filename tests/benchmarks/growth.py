"""How the cost grows with the dimension, with the frequency and with the error asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

import spectra as sp

from .timing import Table, best_time, number, say, seconds

__all__ = ["run"]

_DIMS = (1, 3, 16, 64, 256, 1000)


def run() -> list[Table]:
    """Three tables; each counts in units of its first row."""
    return [_dimensions(), _frequencies(), _tolerances()]


def _tabulated(kernel: Any, dim: int, **options: Any) -> tuple[float, float, Any]:
    """Seconds for measure and table together, seconds of a draw, and the table."""

    def made() -> Any:
        return sp.tabulate(sp.spectral_measure(kernel, dim=dim), **options)

    made()
    setup, table = min((seconds(made) for _ in range(3)), key=lambda x: x[0])
    law = table.parts[0].law
    u = np.random.default_rng(0).random(200_000)
    return setup, best_time(lambda: law.ppf(u)) / u.size, table


def _dimensions() -> Table:
    table = Table(
        "Growth with the dimension",
        "Verdict, masses and table of exp(-z²/2) and of its difference with exp(-z²/200).",
        ("d", "Gaussian: set-up", "a draw", "u-error", "delta-Gaussian: set-up", "a draw",
         "u-error"),
        [],
    )  # fmt: skip
    say(table.title)
    first: list[float] = []
    for dim in _DIMS:
        cells = []
        for i, kernel in enumerate((sp.catalogue["gaussian"](), sp.catalogue["delta_gaussian"]())):
            setup, each, made = _tabulated(kernel, dim)
            if len(first) < 4:
                first += [setup, each]
            cells += [number(setup / first[2 * i]), number(each / first[2 * i + 1]),
                      number(made.u_error)]  # fmt: skip
        table.add(str(dim), *cells)
    return table


def _frequencies() -> Table:
    table = Table(
        "Growth with the frequency",
        "Time of one value of the density of (1 - z²/4)² on z ≤ 2, and the error that it states, "
        "relative to the envelope.",
        ("w", "d = 3", "stated", "d = 16", "stated"),
        [],
    )
    say(table.title)
    first: dict[int, float] = {}
    for w in (1e-3, 1.0, 1e2, 1e4, 1e8, 1e12):
        cells = []
        for dim in (3, 16):
            density = sp.spectral_density(sp.radial("(1 - z**2/4)**2", support=2), dim)
            at = w * np.linspace(1.0, 1.1, 2000)
            density.radial(at)
            time = best_time(lambda d=density, x=at: d.radial(x))
            first.setdefault(dim, time)
            # The lobes of the density pass through zero: its size is the largest value nearby.
            size = np.abs(density.radial(at)).max()
            cells += [number(time / first[dim]), number(float(density.error(at).max() / size))]
        table.add(f"{w:g}", *cells)
    return table


def _tolerances() -> Table:
    table = Table(
        "Growth with the error asked for",
        "Table of the delta-Gaussian, d = 16, and of (1 - z²/4)² on z ≤ 2, d = 3.",
        ("u_error", "panels", "set-up", "a draw", "stated", "lobed: panels", "set-up", "a draw",
         "stated"),
        [],
    )  # fmt: skip
    say(table.title)
    kernels = ((sp.catalogue["delta_gaussian"](), 16),
               (sp.radial("(1 - z**2/4)**2", support=2), 3))  # fmt: skip
    first: list[float] = []
    for u_error in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 2e-14):
        cells = []
        for i, (kernel, dim) in enumerate(kernels):
            measure = sp.spectral_measure(kernel, dim=dim)
            measure.parts()
            setup, made = min(
                (seconds(lambda m=measure, e=u_error: sp.tabulate(m, u_error=e)) for _ in range(3)),
                key=lambda x: x[0],
            )
            law = made.parts[0].law
            u = np.random.default_rng(0).random(200_000)
            each = best_time(lambda law=law, u=u: law.ppf(u)) / u.size
            if len(first) < 4:
                first += [setup, each]
            cells += [str(law.left.size + law.right.size), number(setup / first[2 * i]),
                      number(each / first[2 * i + 1]), number(made.u_error)]  # fmt: skip
        table.add(f"{u_error:g}", *cells)
    return table
