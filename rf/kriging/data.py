"""The data of a fit: coordinates, drift columns, values and errors, checked and in units."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from rf.fields import check_drift, checked_noise
from spectra.base.arrays import FloatArray
from spectra.base.numbers import real_array
from spectra.errors import DataError, ParameterError

__all__ = ["Data", "Layout", "warn"]

# Names of columns, in lower case, that are angles on the sphere.
_ANGLES = {"lon", "long", "lng", "longitude", "lat", "latitude"}
# Values whose deviation is below this part of their size are constant.
_CONSTANT = 1e-12


def warn(message: str) -> None:
    """Warn the caller of a method of the estimator."""
    warnings.warn(message, stacklevel=5)


@final
@dataclass(frozen=True)
class Layout:
    """Which columns of X are coordinates, and which belong to the drift."""

    names: tuple[str, ...] | None
    coordinates: tuple[int, ...]
    drift_columns: tuple[int, ...]
    kind: str | None  # of the drift of the coordinates

    @classmethod
    def of(cls, X: Any, drift: Any) -> Layout:
        """The layout for rows X (an array, or a data frame) and the option ``drift``."""
        columns = getattr(X, "columns", None)
        names = None if columns is None else tuple(map(str, columns))
        count = np.shape(X)[1] if np.ndim(X) == 2 else 1
        if drift is None or isinstance(drift, str):
            if drift not in (None, "constant", "linear"):
                raise ParameterError(
                    f"drift = {drift!r} must be None, 'constant', 'linear', or a list of columns "
                    "of X that explain the mean."
                )
            return cls(names, tuple(range(count)), (), drift)
        chosen = []
        for column in drift:
            if isinstance(column, str) and names is not None and column in names:
                column = names.index(column)
            if not isinstance(column, int | np.integer) or not -count <= column < count:
                raise ParameterError(
                    f"drift contains {column!r}, and X has the columns "
                    f"{', '.join(names) if names else f'0 to {count - 1}'}."
                )
            chosen.append(int(column) % count)
        rest = tuple(j for j in range(count) if j not in chosen)
        if not rest:
            raise ParameterError("All columns of X are in the drift: none is a coordinate.")
        return cls(names, rest, tuple(chosen), "constant")

    def read(self, X: Any, what: str = "X") -> FloatArray:
        """X as an array of the columns that the fit has seen."""
        rows = real_array(X, what, error=DataError)
        rows = rows[:, None] if rows.ndim == 1 else rows
        width = len(self.coordinates) + len(self.drift_columns)
        if rows.ndim != 2 or rows.shape[1] != width:
            raise DataError(f"{what} has the shape {rows.shape}: give rows of {width} column(s).")
        if not np.all(np.isfinite(rows)):
            row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise DataError(f"Row {row} of {what} is not finite: {rows[row]}. Omit it.")
        return rows


@final
@dataclass(frozen=True, eq=False)
class Data:
    """Points relative to ``centre`` in units of ``unit_z``, values in units of ``unit_y``."""

    layout: Layout
    X: FloatArray
    y: FloatArray
    noise: FloatArray  # variances
    F: FloatArray  # columns of the drift
    residuals: FloatArray  # of least squares on F
    extra_centre: FloatArray
    extra_size: FloatArray
    centre: FloatArray
    unit_z: float
    unit_y: float
    extent: float  # the diagonal of the box of the points
    nearest: float  # the least positive distance of two points
    spread: float  # the variance of the residuals

    @classmethod
    def read(
        cls,
        X: Any,
        y: ArrayLike,
        noise: ArrayLike | None,
        drift: Any,
        *,
        has_nugget: bool,
        keep_units: tuple[str, ...],
    ) -> Data:
        """Check the data; a DataError names the row that is wrong.

        ``keep_units`` has "z" or "k" if distances or values must keep their units.
        """
        layout = Layout.of(X, drift)
        rows, values = layout.read(X), real_array(y, "y", error=DataError)
        if values.shape != (len(rows),):
            raise DataError(f"y has the shape {values.shape} for {len(rows)} row(s) of X.")
        if not np.all(np.isfinite(values)):
            raise DataError(
                f"y in row {int(np.flatnonzero(~np.isfinite(values))[0])} is not finite."
            )
        errors = checked_noise(0.0 if noise is None else noise, len(rows))
        points = rows[:, layout.coordinates]
        centre = points.mean(axis=0)
        extent = float(np.linalg.norm(np.ptp(points, axis=0)))
        if len(rows) < 2 or extent == 0.0:
            raise DataError("There are too few rows: a fit needs at least two different points.")
        unit_z = 1.0 if "z" in keep_units else extent
        extra = rows[:, layout.drift_columns]
        extra_centre, extra_size = extra.mean(axis=0), np.ptp(extra, axis=0)
        extra_size = np.where(extra_size > 0, extra_size, 1.0)
        scaled = (points - centre) / unit_z
        F = cls._columns(layout, scaled, (extra - extra_centre) / extra_size)
        freedom = len(rows) - F.shape[1]
        if freedom < 3:
            raise DataError(
                f"{len(rows)} rows are too few for a drift of {F.shape[1]} coefficient(s) and a "
                "covariance: give at least three more."
            )
        check_drift(F)
        rest = values - values.mean() if layout.kind else values
        if F.shape[1]:
            rest = rest - F @ np.linalg.lstsq(F, rest, rcond=None)[0]
        spread = float(np.linalg.norm(rest) / np.sqrt(freedom))
        if spread <= _CONSTANT * np.abs(values).max(initial=0.0):
            what = "are constant" if np.ptp(values) == 0.0 else "are explained by the drift exactly"
            raise DataError(f"The values y {what}, so that no covariance can be fitted.")
        unit_y = 1.0 if "k" in keep_units else spread
        nearest = _nearest(scaled, errors, has_nugget)
        _warn_of_degrees(layout, points)
        return cls(
            layout, scaled, values / unit_y, (errors / unit_y) ** 2, F, rest / unit_y,
            extra_centre, extra_size, centre, unit_z, unit_y,
            extent=extent / unit_z, nearest=nearest, spread=(spread / unit_y) ** 2,
        )  # fmt: skip

    @staticmethod
    def _columns(layout: Layout, points: FloatArray, extra: FloatArray) -> FloatArray:
        if layout.kind is None:
            return np.empty((len(points), 0))
        parts = [np.ones((len(points), 1)), extra]
        return np.concatenate([*parts, points] if layout.kind == "linear" else parts, axis=1)

    def at(self, X: Any, what: str = "X") -> tuple[FloatArray, FloatArray]:
        """Points in units, and the columns of the drift there."""
        rows = self.layout.read(X, what)
        points = (rows[:, self.layout.coordinates] - self.centre) / self.unit_z
        extra = (rows[:, self.layout.drift_columns] - self.extra_centre) / self.extra_size
        return points, self._columns(self.layout, points, extra)

    def coefficients(self, beta: FloatArray) -> dict[str, float]:
        """The coefficients of the drift in the units of the user, by name."""
        if self.layout.kind is None:
            return {}
        beta = beta * self.unit_y
        names, sizes, centres = [], [], []
        for columns, size, centre in (
            (self.layout.drift_columns, self.extra_size, self.extra_centre),
            (
                self.layout.coordinates if self.layout.kind == "linear" else (),
                np.full(len(self.centre), self.unit_z),
                self.centre,
            ),
        ):
            names += [self.layout.names[j] if self.layout.names else f"x{j}" for j in columns]
            sizes += list(size[: len(columns)])
            centres += list(centre[: len(columns)])
        slopes = beta[1:] / np.array(sizes) if sizes else beta[1:]
        intercept = float(beta[0] - slopes @ np.array(centres)) if sizes else float(beta[0])
        return {"constant": intercept} | dict(zip(names, slopes.tolist(), strict=True))


def _nearest(points: FloatArray, errors: FloatArray, has_nugget: bool) -> float:
    """The least positive distance; coincident points without errors and nugget are refused."""
    distances, near = KDTree(points).query(points, k=2)
    same = distances[:, 1] == 0.0
    exact = same & (errors == 0.0)
    if exact.any() and not has_nugget:
        row = int(np.flatnonzero(exact)[0])
        other = int(near[row, 0] if near[row, 0] != row else near[row, 1])
        raise DataError(
            f"The points in rows {row} and {other} coincide, and there is neither a nugget nor "
            "noise, so that the covariance matrix is singular. Use nugget=True, or give noise=."
        )
    positive = distances[~same, 1]
    return float(positive.min()) if positive.size else 1.0


def _warn_of_degrees(layout: Layout, points: FloatArray) -> None:
    """Warn if two coordinates look like longitude and latitude."""
    if points.shape[1] != 2:
        return
    names = [layout.names[j].lower() for j in layout.coordinates] if layout.names else []
    size, spread = np.abs(points).max(axis=0), np.ptp(points, axis=0)
    offset = np.abs(points.mean(axis=0))
    looks = sorted(size)[0] <= 90.0 and size.max() <= 180.0 and (
        spread.max() > 180.0 or (np.all(offset > 0.7 * spread) and np.all(size > 3.0))
    )  # fmt: skip
    if _ANGLES & set(names) or (not names and looks):
        warn(
            "The coordinates look like degrees of longitude and latitude. Distances of degrees are "
            "no distances: project the points to a plane first (for instance to UTM, in metres)."
        )
