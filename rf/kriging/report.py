"""What a fit says: its table, its leave-one-out errors and its pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from spectra.base.arrays import FloatArray
from spectra.variograms import draw_variogram, empirical_variogram

__all__ = ["CrossValidation", "draw", "summary_text"]

_SIDE = 80  # points of the picture along each side


@final
@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Leave-one-out predictions, their standard deviations (of the data), and data minus these."""

    predictions: FloatArray
    std: FloatArray
    errors: FloatArray

    def __repr__(self) -> str:
        return (
            f"CrossValidation({len(self.errors)} rows, rmse {self.rmse:.4g}, mean of "
            f"(error/std)^2 {np.mean((self.errors / self.std) ** 2):.3g})"
        )

    @property
    def rmse(self) -> float:
        """The root mean square of the errors."""
        return float(np.sqrt(np.mean(self.errors**2)))


def summary_text(model: Any, level: float) -> str:
    """The table of a fitted :class:`rf.Kriging`."""
    intervals = {} if model.method == "variogram" else model.intervals(level)
    head = f"{f'{100 * level:g} % interval':>28}" if intervals else ""
    rows = [f"{'parameter':<16}{'estimate':>12}{head}"]
    for name, value in model.parameters_.items():
        ends = "{:.4g} to {:.4g}".format(*intervals[name]) if name in intervals else ""
        rows.append(f"{name:<16}{value:>12.6g}{ends:>28}".rstrip())
    rows += [f"{'drift ' + name:<16}{value:>12.6g}" for name, value in model.coef_.items()]
    kind = "log likelihood" if model.method == "ml" else "restricted log likelihood"
    near = f" (Vecchia, {model.n_neighbors_} neighbours)" if model.n_neighbors_ else ""
    return "\n".join([*rows, f"{kind}{near}: {model.log_likelihood_:.4f}"])


def draw(model: Any, path: Any) -> Any:
    """The figure of :meth:`rf.Kriging.plot`."""
    from matplotlib.figure import Figure

    data = model._data
    has_map = len(data.names) == 2 and not data.columns
    figure = Figure(figsize=(5.5 * (1 + has_map), 4.2), layout="constrained")
    panels = figure.subplots(1, 1 + has_map, squeeze=False)[0]
    fitted = None
    if np.ndim(model.length_scale_) == 0:
        kernel, nugget = model.kernel_.rescale(model.length_scale_), model.nugget_
        fitted = lambda z: kernel.at_zero - kernel(z) + nugget * (z > 0)  # noqa: E731
    draw_variogram(empirical_variogram(data.X, data.residuals), fitted, axes=panels[0])
    panels[0].set_title("variogram of the residuals of the drift")
    if has_map:
        points = data.X + data.centre
        grid = np.linspace(points.min(axis=0), points.max(axis=0), _SIDE).T
        rows = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
        mean = model.predict(rows).reshape(_SIDE, _SIDE)
        image = panels[1].pcolormesh(*grid, mean.T, shading="nearest")
        panels[1].scatter(*points.T, c=data.y, edgecolors="k", linewidths=0.4, s=14,
                          norm=image.norm)  # fmt: skip
        figure.colorbar(image, ax=panels[1])
        panels[1].set(xlabel=data.names[0], ylabel=data.names[1], aspect="equal",
                      title="kriging mean and data")  # fmt: skip
    if path is not None:
        figure.savefig(path, dpi=110)
    return figure
