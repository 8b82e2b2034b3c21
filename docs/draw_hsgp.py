"""Draw the picture of docs/plugins.md: ``python docs/draw_hsgp.py [FOLDER]``, with PyMC.

The prior of a Hilbert space Gaussian process whose kernel PyMC has not: a product, and a model of
geostatistics; its covariance beside the exact one, and the error beside the number of functions.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import spectra as sp
from spectra.cli.pictures import pyplot
from spectra.plugins.pymc import covariance

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc as pm

DPI, LENGTH, HALF = 75, 1.0, 6.0
KERNELS = {
    "Matern 3/2 times Gaussian": sp.catalogue["matern"](nu=1.5) * sp.radial("exp(-z**2/8)"),
    "cubic model": sp.catalogue["cubic"](length=2),
}
NUMBERS = (10, 20, 40, 80)


def features(kernel: sp.Kernel, X: np.ndarray, m: int) -> np.ndarray:
    """Functions of the process times the roots of their spectral densities."""
    with pm.Model():
        gp = pm.gp.HSGP(m=[m], L=[HALF], cov_func=covariance(kernel, 1, ls=LENGTH))
        phi, root = gp.prior_linearized(X)
    return np.asarray(phi.eval() * root.eval())


def main(folder: Path) -> None:
    """Write ``hsgp.png`` to the folder, and print the errors that it shows."""
    X, line = np.linspace(-2.5, 2.5, 201)[:, None], np.linspace(0.0, 2.5, 101)
    plt = pyplot()
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for ax, (title, kernel) in zip(panels, KERNELS.items(), strict=False):
        exact = kernel.gram(X / LENGTH)
        errors = []
        for m in NUMBERS:
            made = features(kernel, X, m)
            errors.append(np.abs(made @ made.T - exact).max())
            if m <= NUMBERS[1]:
                ax.plot(line, (made @ made[100])[100:], label=f"{m} functions")
        ax.plot(line, kernel(line / LENGTH), "k--", label="the kernel")
        ax.set_title(title)
        ax.set_xlabel("distance from the middle")
        ax.legend()
        panels[2].loglog(NUMBERS, errors, "o-", label=title)
        print(title, *(f"{m}: {e:.1e}" for m, e in zip(NUMBERS, errors, strict=True)))
    panels[2].set_title("largest error of the covariance")
    panels[2].set_xlabel("functions")
    panels[2].set_xticks(NUMBERS, [str(m) for m in NUMBERS])
    panels[2].set_xticks([], minor=True)
    panels[2].legend()
    figure.savefig(folder / "hsgp.png", dpi=DPI)
    plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "gallery")
