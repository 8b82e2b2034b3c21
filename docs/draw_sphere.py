"""Draw the picture of docs/sphere.md: ``python docs/draw_sphere.py [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import rf
import spectra as sp
from spectra.cli.pictures import pyplot

DPI = 75


def main(folder: Path) -> None:
    """Write ``sphere.png``: a path of a rough field, and the mean and deviation given 40 values."""
    kernel = sp.great_circle("exp(-z)", length=3000, radius=6371)
    field = rf.SphereField(kernel, random_state=2)
    rng = np.random.default_rng(0)
    sites = np.c_[np.degrees(np.arcsin(rng.uniform(-1, 1, 40))), rng.uniform(-180, 180, 40)]
    lat, lon = np.arange(-89.0, 90.0, 2.0), np.arange(-179.0, 180.0, 2.0)
    grid = np.stack(np.meshgrid(lat, lon, indexing="ij"), axis=-1).reshape(-1, 2)
    given = field.condition(sites, field(sites))
    images = {
        "one path, and the 40 sites": field.on_grid(lat, lon),
        "kriging mean": given.mean(grid).reshape(lat.size, lon.size),
        "kriging standard deviation": given.std(grid).reshape(lat.size, lon.size),
    }
    plt = pyplot()
    figure, axes = plt.subplots(
        1, 3, figsize=(15, 3.2), layout="constrained", subplot_kw={"projection": "mollweide"}
    )
    for ax, (title, image) in zip(axes, images.items(), strict=True):
        drawn = ax.pcolormesh(np.radians(lon), np.radians(lat), image, rasterized=True)
        ax.plot(*np.radians(sites.T[::-1]), "k.", markersize=4)
        ax.set(title=title, xticks=[], yticks=[])
        figure.colorbar(drawn, ax=ax, shrink=0.7)
    figure.savefig(folder / "sphere.png", dpi=DPI)
    plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "gallery")
