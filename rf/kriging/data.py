"""The data of a fit: coordinates, drift, values and errors, checked."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from rf.fields import Drift, checked_noise
from rf.inputs import user_stacklevel
from spectra.base.arrays import FloatArray
from spectra.base.numbers import real_array
from spectra.derivation import DataScale
from spectra.errors import DataError, ParameterError

__all__ = ["Data", "warn"]

# Names of columns, in lower case, that are angles on the sphere.
_ANGLES = {"lon", "long", "lng", "longitude", "lat", "latitude"}
# Values whose deviation is below this part of their size are constant.
_CONSTANT = 1e-12


def warn(message: str) -> None:
    """Warn the caller of a method of the estimator."""
    warnings.warn(message, stacklevel=user_stacklevel())


@final
@dataclass(frozen=True, eq=False)
class Data:
    """Points relative to ``centre``, their drift, and values with variances of their errors."""

    names: list[str]
    coordinates: list[int]
    columns: list[int]  # of the drift
    centre: FloatArray
    X: FloatArray
    y: FloatArray
    noise: FloatArray
    drift: Drift
    residuals: FloatArray  # of least squares on the drift
    scale: DataScale

    @classmethod
    def read(
        cls, X: Any, y: ArrayLike, noise: ArrayLike | None, drift: Any, *, has_nugget: bool
    ) -> Data:
        """Check the data; a DataError names the row that is wrong."""
        rows, values = _read(X), real_array(y, "y", error=DataError)
        if values.shape != (len(rows),):
            raise DataError(f"y has the shape {values.shape} for {len(rows)} row(s) of X.")
        if not np.all(np.isfinite(values)):
            raise DataError(f"y in row {np.flatnonzero(~np.isfinite(values))[0]} is not finite.")
        names = [str(c) for c in getattr(X, "columns", [f"x{j}" for j in range(rows.shape[1])])]
        columns = _find_columns(drift, names)
        coordinates = [j for j in range(len(names)) if j not in columns]
        if not coordinates:
            raise ParameterError("All columns of X are in the drift: none is a coordinate.")
        errors = checked_noise(0.0 if noise is None else noise, len(rows))
        points = rows[:, coordinates]
        centre, extent = points.mean(axis=0), float(np.linalg.norm(np.ptp(points, axis=0)))
        if len(rows) < 4 or extent == 0.0:
            raise DataError("There are too few rows: a fit needs four or more, at several points.")
        kind = np.column_stack([np.ones(len(rows)), rows[:, columns]]) if columns else drift
        made = Drift.at(kind, points - centre)
        F = made.columns
        if (freedom := len(rows) - F.shape[1]) < 3:
            raise DataError(
                f"{len(rows)} rows are too few for a drift of {F.shape[1]} coefficient(s) and a "
                "covariance: give at least three more."
            )
        rest = values - F @ np.linalg.lstsq(F, values, rcond=None)[0]
        variance = float(rest @ rest / freedom)
        if variance <= (_CONSTANT * np.abs(values).max()) ** 2:
            what = "are constant" if np.ptp(values) == 0.0 else "are explained by the drift exactly"
            raise DataError(f"The values y {what}, so that no covariance can be fitted.")
        scale = DataScale(extent, _nearest(points, errors, has_nugget), variance)
        _warn_of_degrees([names[j].lower() for j in coordinates], points, hasattr(X, "columns"))
        return cls(
            names, coordinates, columns, centre, points - centre, values, errors**2, made, rest,
            scale,
        )  # fmt: skip

    def at(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Points relative to the centre, and the columns of the drift there."""
        rows = _read(X)
        if rows.shape[1] != len(self.names):
            raise DataError(f"X has {rows.shape[1]} column(s): give {', '.join(self.names)}.")
        points = rows[:, self.coordinates] - self.centre
        given = np.column_stack([np.ones(len(rows)), rows[:, self.columns]])
        return points, self.drift.of(points, given if self.columns else None)

    def coefficients(self, beta: FloatArray) -> dict[str, float]:
        """The coefficients of the drift by name."""
        if not len(beta):
            return {}
        slopes, names = beta[1:], [self.names[j] for j in self.columns]
        constant = beta[0]
        if self.drift.kind == "linear":
            slopes, names = slopes / self.drift.size, [self.names[j] for j in self.coordinates]
            constant = beta[0] - slopes @ (self.centre + self.drift.centre)
        return {"constant": float(constant)} | dict(zip(names, slopes.tolist(), strict=True))


def _read(X: Any) -> FloatArray:
    """Finite rows of numbers."""
    rows = real_array(X, "X", error=DataError)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2:
        raise DataError(f"X has the shape {rows.shape}: give one point to a row.")
    if not np.all(np.isfinite(rows)):
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise DataError(f"Row {row} of X is not finite: {rows[row]}. Omit it.")
    return rows


def _find_columns(drift: Any, names: list[str]) -> list[int]:
    """The columns that the option ``drift`` names or counts."""
    if drift is None or isinstance(drift, str):
        return []
    found = [names.index(c) if c in names else c for c in drift]
    for column in found:
        if not isinstance(column, int | np.integer) or not -len(names) <= column < len(names):
            raise ParameterError(
                f"drift contains {column!r}, and X has the columns {', '.join(names)} (0 to "
                f"{len(names) - 1})."
            )
    return [int(c) % len(names) for c in found]


def _nearest(points: FloatArray, errors: FloatArray, has_nugget: bool) -> float:
    """The least positive distance; coincident points without errors and nugget are refused."""
    distances, near = KDTree(points).query(points, k=2)
    same = distances[:, 1] == 0.0
    if not has_nugget and (exact := np.flatnonzero(same & (errors == 0.0))).size:
        row = exact[0]
        other = near[row, 0] if near[row, 0] != row else near[row, 1]
        raise DataError(
            f"The points in rows {row} and {other} coincide, and there is neither a nugget nor "
            "noise, so that the covariance matrix is singular. Use nugget=True, or give noise=."
        )
    return float(np.min(distances[~same, 1], initial=np.inf)) if not same.all() else 0.0


def _warn_of_degrees(names: list[str], points: FloatArray, has_names: bool) -> None:
    """Warn if two coordinates look like longitude and latitude."""
    size, spread = np.abs(points).max(axis=0), np.ptp(points, axis=0)
    is_far = np.all(np.abs(points.mean(axis=0)) > 0.7 * spread) and np.all(size > 3.0)
    looks = min(size) <= 90.0 and max(size) <= 180.0 and (is_far or max(spread) > 180.0)
    if len(size) == 2 and ((looks and not has_names) or _ANGLES & set(names)):
        warn(
            "The coordinates look like degrees of longitude and latitude. Distances of degrees are "
            "no distances: project the points to a plane first (for instance to UTM, in metres)."
        )
