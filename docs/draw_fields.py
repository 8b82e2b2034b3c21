"""Draw the picture of docs/fields.md: ``python docs/draw_fields.py [FOLDER]``, with GSTools.

A field of the spherical model in space as GSTools draws it from its numerical spectrum, the same
from the exact law, and the variograms that both imply.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import gstools
import numpy as np

from spectra.base.bessel import plane_wave_mean
from spectra.cli.pictures import pyplot
from spectra.plugins.gstools import of

LAGS = np.linspace(0.0, 1.5, 61)
SEEDS, MODES, DPI = 20, 1000, 75


def implied_variograms(model: gstools.CovModel) -> np.ndarray:
    """What the waves of each seed imply, averaged over all directions."""
    rows = []
    for seed in range(SEEDS):
        waves = gstools.field.generator.RandMeth(model, mode_no=MODES, seed=seed)._cov_sample
        radii = np.linalg.norm(waves, axis=0)
        rows.append(1.0 - plane_wave_mean(model.dim, np.outer(LAGS, radii)).mean(axis=1))
    return np.array(rows)


def main(folder: Path) -> None:
    """Write ``fields.png`` to the folder, and print the numbers that it shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the numerical spectrum
        own = gstools.Spherical(dim=3, len_scale=1.0)
        right = of(own)
        plt = pyplot()
        figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
        line = np.linspace(0.0, 4.0, 200)
        titles = ("GSTools alone", "through its exact spectral law")
        for ax, model, title in zip(axes, (own, right), titles, strict=False):
            field = gstools.SRF(model, mode_no=MODES, seed=3)
            image = field.structured([line, line, [0.0]])[:, :, 0]
            ax.imshow(image.T, extent=(0, 4, 0, 4), origin="lower", vmin=-3, vmax=3)
            ax.set_title(title)
        for model, title in zip((own, right), titles, strict=True):
            found = implied_variograms(model)
            axes[2].plot(LAGS, found.mean(axis=0), label=title)
            at = np.searchsorted(LAGS, 0.05)
            print(f"{title}: {found.mean(axis=0)[at]:.4f} at the lag {LAGS[at]:.3f}")
        print(f"model: {own.variogram(LAGS)[at]:.4f}")
        axes[2].plot(LAGS, own.variogram(LAGS), "k--", label="the model")
        axes[2].set_xlabel("lag")
        axes[2].set_title("variogram, spherical model, d = 3")
        axes[2].legend()
        figure.savefig(folder / "fields.png", dpi=DPI)
        plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "gallery")
