"""Draw the pictures of docs/gallery.md: ``python docs/make_gallery.py [FOLDER]``, a few minutes.

No data are needed: errors against columns are measured on random unit rows around one direction.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from rf import GORF, GRFF, SignatureWarning, SpectralFeatures
from rf.papers.baselines import PublishedGRFF
from rf.papers.baselines.samplers import grid_mean
from spectra import design, radial, spectral_density, zonal
from spectra.cli.pictures import draw_atoms, draw_certificate, draw_error, pyplot
from spectra.designs import checked_distances, design_for_columns
from spectra.errors import AccuracyError
from spectra.kernels.kernel import Kernel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEP = zonal("1 - acos(u)/pi")
RAMP = zonal("(u*(pi - acos(u)) + sqrt(1 - u**2))/pi")
NTK = zonal("(2*u*(pi - acos(u)) + sqrt(1 - u**2))/pi")
SQUARE = radial("(1 - z**2/4)**2")
TL2 = radial("1 - z/2", support=2)
TANH = zonal("tanh(2*u + 1)")
DIFFERENCE = radial("exp(-z**2/2) - exp(-z**2/200)")
ROOT = float(np.sqrt(2.0))
DIM = 16
DPI = 75


def sheet(folder: Path, name: str, orders: Iterable[tuple[str, Kernel, float, float]]) -> None:
    """One row of pictures for each design of least mass."""
    orders = list(orders)
    plt = pyplot()
    figure, axes = plt.subplots(
        len(orders), 3, figsize=(12, 2.9 * len(orders)), layout="constrained", squeeze=False
    )
    for row, (title, kernel, z_max, tol) in zip(axes, orders, strict=True):
        made = design(kernel, DIM, domain=(0.0, z_max), tol=tol, objective="mass")
        draw_error(row[0], made)
        row[0].set_title(f"{title}, $z \\leq {z_max:.3g}$")
        draw_atoms(row[1], made)
        draw_certificate(row[2], made)
    figure.savefig(folder / name, dpi=DPI)
    plt.close(figure)


def least_masses(kernel: Kernel, z_max: float, tols: list[float]) -> list[float]:
    """Least mass for each tolerance, nan where none that float32 allows is within it."""
    masses = [float("nan")] * len(tols)
    for i, tol in enumerate(tols):
        try:
            made = design(kernel, DIM, (0.0, z_max), tol=tol, objective="mass")
        except AccuracyError:
            break  # smaller tolerances need more mass
        masses[i] = made.mass
    return masses


def prices(folder: Path) -> None:
    """Price curves: with room at the end of the domain, at a root or kink, and across it."""
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    tols = [0.1, 0.05, 0.03, 0.02, 0.01, 5e-3, 3e-3]
    for label, kernel, z_max in (
        ("step, $z \\leq \\sqrt{2}$", STEP, ROOT),
        ("step, $z \\leq 1.9$", STEP, 1.9),
        ("step, $z \\leq 2$: a root", STEP, 2.0),
        ("ramp, $z \\leq 2$", RAMP, 2.0),
    ):
        left.plot(tols, least_masses(kernel, z_max, tols), "o-", ms=4, label=label)
    for z_max, where in ((1.6, "inside"), (2.0, "up to"), (2.5, "across")):
        label = f"$z \\leq {z_max}$, {where} its kink"
        right.plot(tols, least_masses(TL2, z_max, tols), "o-", ms=4, label=label)
    right.set_title("max(1 - z/2, 0)")
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel="tolerance", ylabel="least total mass")
        axes.invert_xaxis()
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(folder / "prices.png", dpi=DPI)
    plt.close(figure)


def rows(n: int) -> np.ndarray:
    """Unit rows around one direction, with inner products from about -0.5 to 1."""
    x = np.random.default_rng(0).standard_normal((n, DIM))
    x[:, 0] += 3.0
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def errors(folder: Path) -> None:
    """Relative error of the kernel matrix against the number of columns, for every way."""
    plt = pyplot()
    X = rows(500)
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained", sharey=True)
    kernels = [("NTK", NTK), ("((1 + u)/2)^2", zonal("((1 + u)/2)**2")), ("tanh(2u + 1)", TANH)]
    for axes, (title, kernel) in zip(panels, kernels, strict=True):
        seen: dict[str, list[tuple[int, float]]] = {}
        chosen = []
        for columns in (32, 64, 128, 256, 512, 1024):
            features = SpectralFeatures(kernel, n_components=columns, random_state=0).fit(X)
            for p in features.report_:
                if p.columns is not None:
                    way = p.name.split(", exact")[0].split(" of degree")[0]
                    way = "exact powers + designed waves" if "powers" in way else way
                    seen.setdefault(way, []).append((columns, max(p.error, 1e-6)))
            exact = kernel.gram(X)
            error = np.linalg.norm(features.gram(X) - exact) / np.linalg.norm(exact)
            chosen.append((columns, max(float(error), 1e-6)))
        for way, points in seen.items():
            best = {n: min(e for m, e in points if m == n) for n, _ in points}
            axes.plot(list(best), list(best.values()), "o-", ms=3, lw=1, label=way)
        axes.plot(*zip(*chosen, strict=True), "kx", ms=7, label="chosen, as seen")
        axes.set(xscale="log", yscale="log", xlabel="columns", title=title)
        axes.legend(frameon=False, fontsize=7, loc="lower left")
    panels[0].set_ylabel("relative error")
    figure.savefig(folder / "errors.png", dpi=DPI)
    plt.close(figure)


def budgets(folder: Path) -> None:
    """What a budget buys: few radii on many directions, and exact low powers."""
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(9, 5.6), layout="constrained")
    for row, (kernel, degree) in zip(axes, ((RAMP, 0), (TANH, 2)), strict=True):
        served = checked_distances(kernel, (0.0, 1.9))
        made = design_for_columns(kernel, DIM, *served, n_components=481, exact_degree=degree)
        draw_error(row[0], made)
        powers = f" + powers of u to {degree}" if degree else ""
        row[0].set_title(f"481 columns: expected error {made.expected_error:.2g}")
        draw_atoms(row[1], made)
        row[1].set_title(
            f"{made.radii.size} atoms{powers}, {made.n_directions} directions", fontsize=10
        )
    figure.savefig(folder / "budgets.png", dpi=DPI)
    plt.close(figure)


def published(folder: Path) -> None:
    """What the published samplers estimate: kernels, their means, and errors against columns."""
    plt = pyplot()
    figure, (gaussians, square, errors) = plt.subplots(
        1, 3, figsize=(13, 4.0), layout="constrained"
    )
    z = np.linspace(0.0, 4.0, 81)
    _means(gaussians, DIFFERENCE, DIM, z, ("published",))
    gaussians.set_title("$e^{-z^2/2} - e^{-z^2/200}$, d = 16")
    _means(square, radial("(1 - z**2/4)**2", support=2), 3, z, ("published", "exact"))
    square.set_title("$(1 - z^2/4)^2$ up to z = 2, d = 3")
    X = rows(500)
    exact = DIFFERENCE.gram(X)
    columns = [32, 64, 128, 256, 512, 1024, 2048]
    for label, make in (
        ("GRFF as published", lambda n: PublishedGRFF(DIFFERENCE, n_components=n)),
        ("GRFF", lambda n: GRFF(DIFFERENCE, n_components=n)),
        ("GORF, coupling='haar'", lambda n: GORF(DIFFERENCE, n_components=n, coupling="haar")),
        ("SpectralFeatures", lambda n: SpectralFeatures(DIFFERENCE, n_components=n)),
    ):
        seen = []
        for n in columns:
            runs = [make(n).set_params(random_state=seed).fit(X).gram(X) for seed in range(5)]
            seen.append(np.mean([np.linalg.norm(K - exact) for K in runs]) / np.linalg.norm(exact))
        errors.plot(columns, seen, "o-", ms=3, lw=1, label=label)
    errors.set(
        xscale="log", yscale="log", xlabel="columns", title="relative error on 500 unit rows"
    )
    for axes in (gaussians, square, errors):
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(folder / "published.png", dpi=DPI)
    plt.close(figure)


def _means(
    axes: Axes,
    kernel: Kernel,
    dim: int,
    z: np.ndarray,
    laws: Iterable[Literal["published", "exact"]],
) -> None:
    """A kernel, the mean of each law on the published grid, and draws of the published one."""
    density = spectral_density(kernel, dim)
    axes.plot(z, kernel(z), "k", lw=1.5, label="kernel")
    for law in laws:
        value = density.density if law == "published" else density.radial
        mean = grid_mean(value, dim, z, law=law)
        axes.plot(z, mean, "--", lw=1.2, label=f"grid to w = 10, {law} law")
    drawn = PublishedGRFF(kernel, n_components=160_000, random_state=0)
    dots = z[4::8, None] * np.eye(1, dim)
    drawn.fit(dots)
    axes.plot(dots[:, 0], drawn.gram(dots, np.zeros((1, dim)))[:, 0], "C0o", ms=4, label="as drawn")
    axes.set_xlabel("z")


def main(folder: Path) -> None:
    """Draw all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", SignatureWarning)
    polynomials = [
        ("$(1 - z^2/4)^2$", SQUARE, 2.0, 1e-3),
        ("$(1 - z^2/16)^{10}$", radial("(1 - z**2/16)**10"), 2.0, 1e-3),
    ]
    sheet(folder, "polynomials.png", polynomials)
    arcs = [("arc-cosine 1", RAMP, 1.83, 1e-3), ("NTK", NTK, ROOT, 1e-3)]
    sheet(folder, "arc_cosines.png", arcs)
    sheet(folder, "kink.png", [("$\\max(1 - z/2, 0)$", TL2, 1.8, 1e-2)])
    prices(folder)
    budgets(folder)
    errors(folder)
    published(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "gallery")
