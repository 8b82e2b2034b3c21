"""Draw the pictures of docs/conditioned.md: ``python docs/draw_conditioned.py [FOLDER]``.

Zinc in the soil by the river Meuse, a data set that the package scikit-gstat carries, is kriged and
drawn with its uncertainty; and a maximum is sought by Thompson sampling on paths.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import skgstat

import spectra as sp
from rf import GaussianField, Kriging
from spectra.cli.pictures import pyplot

DPI, SIDE, SEED = 75, 90, 0


def meuse(folder: Path) -> None:
    """Kriging, its standard deviation, and two fields through the data."""
    places, zinc = skgstat.data.meuse(variable="zinc")["sample"]
    X, y = (places - places.mean(axis=0)) / 1000.0, np.log(zinc[:, 0])
    model = Kriging("matern(nu=3/2)", random_state=SEED).fit(X, y)
    print(model.summary())
    axes = [np.linspace(*np.quantile(X[:, j], [0, 1]), SIDE) for j in range(2)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    shown = [
        *model.predict(points, return_std=True),
        *model.sample(points, n_paths=2),
    ]
    plt = pyplot()
    figure, panels = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
    titles = ("kriging mean of log zinc", "its standard deviation", "one path", "another")
    for ax, image, title in zip(panels, shown, titles, strict=True):
        limits = {} if title.startswith("its") else {"vmin": y.min(), "vmax": y.max()}
        extent = (axes[0][0], axes[0][-1], axes[1][0], axes[1][-1])
        drawn = ax.imshow(image.reshape(SIDE, SIDE).T, origin="lower", extent=extent, **limits)
        ax.plot(*X.T, "k.", markersize=2)
        ax.set_title(title)
        figure.colorbar(drawn, ax=ax, shrink=0.8)
    figure.savefig(folder / "meuse.png", dpi=DPI)
    plt.close(figure)


def target(x: np.ndarray) -> np.ndarray:
    """What is maximised, at a price for every value."""
    return np.sin(3 * x) + 0.5 * np.cos(7 * x) - 0.1 * (x - 1.5) ** 2


def thompson(folder: Path) -> None:
    """Each step draws a path through what is known, and asks at its maximum, by its gradient."""
    field = GaussianField(
        sp.catalogue["matern"](nu=2.5), 1, n_components=512, length_scale=0.5, random_state=SEED
    )
    line, X = np.linspace(0, 4, 401), np.array([[0.3], [3.5]])
    plt = pyplot()
    figure, panels = plt.subplots(1, 4, figsize=(13, 3.2), layout="constrained", sharey=True)
    for step in range(13):
        y = target(X[:, 0])
        given = field.condition(X, y, noise=1e-2)
        path = given.sample(line[:, None], n_paths=step + 1)[step]
        asked = line[np.argmax(path)]
        if step % 4 == 0:
            ax, mean, std = panels[step // 4], given.mean(line[:, None]), given.std(line[:, None])
            ax.fill_between(line, mean - 2 * std, mean + 2 * std, alpha=0.2)
            ax.plot(line, target(line), "k--", linewidth=1, label="the function")
            ax.plot(line, path, label="a path through what is known")
            ax.plot(X[:, 0], y, "ko", markersize=4)
            ax.axvline(asked, color="C3", linewidth=1, label="asked next")
            ax.set_title(f"after {len(X)} values")
        X = np.append(X, [[asked]], axis=0)
    panels[0].legend(fontsize=7)
    best, true = target(X[:, 0]).max(), target(line).max()
    print(f"Thompson sampling: {best:.4f} found after {len(X)} values, the largest is {true:.4f}")
    figure.savefig(folder / "thompson.png", dpi=DPI)
    plt.close(figure)


if __name__ == "__main__":
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "gallery"
    meuse(into)
    thompson(into)
