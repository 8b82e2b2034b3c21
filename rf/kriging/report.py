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
    """Leave-one-out predictions: each datum is predicted from all others.

    Attributes
    ----------
    predictions, std, errors : ndarray of shape (n,)
        The predictions, their standard deviations (with the noise of the datum), and data minus
        predictions.
    """

    predictions: FloatArray
    std: FloatArray
    errors: FloatArray

    @property
    def rmse(self) -> float:
        """The root mean square of the errors."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def mean_square_ratio(self) -> float:
        """The mean of (error/std)^2, which is about 1 if the standard deviations are right."""
        return float(np.mean((self.errors / self.std) ** 2))

    def __repr__(self) -> str:
        return (
            f"CrossValidation({len(self.errors)} rows, rmse {self.rmse:.4g}, mean of "
            f"(error/std)^2 {self.mean_square_ratio:.3g})"
        )


def summary_text(model: Any, level: float) -> str:
    """The table of a fitted :class:`rf.Kriging`."""
    has_intervals = model.method != "variogram"
    intervals = model.intervals(level) if has_intervals else {}
    head = f"{'parameter':<16}{'estimate':>12}"
    rows = [head + (f"{f'{100 * level:g} % interval':>28}" if has_intervals else "")]
    for name, value in model.parameters_.items():
        row = f"{name:<16}{value:>12.6g}"
        if name in intervals:
            low, high = intervals[name]
            row += f"{f'{low:.4g} to {high:.4g}':>28}"
        rows.append(row)
    rows += [f"{'drift ' + name:<16}{value:>12.6g}" for name, value in model.coef_.items()]
    how = {"reml": "restricted log likelihood", "ml": "log likelihood"}.get(model.method, "")
    near = model.n_neighbors_
    how = (how or "restricted log likelihood at the fit of the variogram") + (
        f" (Vecchia, {near} neighbours)" if near else ""
    )
    return "\n".join([*rows, f"{how}: {model.log_likelihood_:.4f}"])


def draw(model: Any, path: Any) -> Any:
    """The figure of :meth:`rf.Kriging.plot`."""
    from matplotlib.figure import Figure

    data = model._data
    has_map = data.X.shape[1] <= 2 and not data.layout.drift_columns
    figure = Figure(figsize=(5.5 * (1 + has_map), 4.2), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, 1 + has_map))
    empirical = empirical_variogram(data.X * data.unit_z, data.residuals * data.unit_y)
    lengths = np.asarray(model.length_scale_, dtype=float)
    if lengths.ndim == 0:
        kernel, nugget = model.kernel_.rescale(float(lengths)), model.nugget_
        draw_variogram(
            empirical, lambda z: kernel.at_zero - kernel(z) + nugget * (z > 0), axes=panels[0]
        )
    else:
        draw_variogram(empirical, None, axes=panels[0])
    panels[0].set_title("variogram of the residuals of the drift")
    if has_map:
        _draw_predictions(model, panels[1])
    if path is not None:
        figure.savefig(path, dpi=110)
    return figure


def _draw_predictions(model: Any, axes: Any) -> None:
    """The mean and two standard deviations in one column, a map of the mean in two."""
    data = model._data
    points = data.X * data.unit_z + data.centre
    low, high = points.min(axis=0), points.max(axis=0)
    names = [data.layout.names[j] if data.layout.names else f"x{j}" for j in range(len(low))]
    if len(low) == 1:
        x = np.linspace(low[0], high[0], 5 * _SIDE)
        mean, std = model.predict(x[:, None], return_std=True)
        axes.fill_between(x, mean - 2 * std, mean + 2 * std, alpha=0.25, label="± 2 std")
        axes.plot(x, mean, label="kriging mean")
        axes.plot(points[:, 0], data.y * data.unit_y, "k.", markersize=4, label="data")
        axes.legend(frameon=False)
        axes.set(xlabel=names[0], ylabel="y")
        return
    grid = [np.linspace(a, b, _SIDE) for a, b in zip(low, high, strict=True)]
    rows = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
    mean = model.predict(rows).reshape(_SIDE, _SIDE)
    image = axes.pcolormesh(*grid, mean.T, shading="nearest")
    axes.scatter(*points.T, c=data.y * data.unit_y, edgecolors="k", linewidths=0.4, s=14,
                 norm=image.norm)  # fmt: skip
    axes.figure.colorbar(image, ax=axes)
    axes.set(xlabel=names[0], ylabel=names[1], aspect="equal", title="kriging mean and data")
