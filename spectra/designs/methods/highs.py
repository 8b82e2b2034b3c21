"""A linear programme, solved by HiGHS within the time that is left to a step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from scipy.optimize import linprog

from spectra.base.limits import seconds_left
from spectra.base.numbers import FloatArray

__all__ = ["least_cost"]

# Methods and feasibilities of HiGHS, tried in turn: the strictest (1e-10 is its least) sometimes
# ends without a verdict on the nearly parallel columns of a fine grid of radii.
_ATTEMPTS = (("highs-ds", 1e-10), ("highs-ds", 1e-9), ("highs-ipm", 1e-9), ("highs-ds", 1e-8))
# What HiGHS is given first of the time on the wall, for each second that is left to the step, and
# at least (chosen); and the status by which scipy reports that it was not enough.
_WALL_PER_PROCESSOR_TIME = 2.0
_LEAST_PATIENCE = 0.1
_STOPPED = 1


def least_cost(
    cost: FloatArray, rows: FloatArray, limits: FloatArray
) -> tuple[FloatArray, float, FloatArray] | None:
    """Minimise cost x with rows x <= limits, x >= 0: x, the value and the marginals."""
    for method, feasibility in _ATTEMPTS:
        options = {
            "primal_feasibility_tolerance": feasibility,
            "dual_feasibility_tolerance": feasibility,
        }
        solver = partial(linprog, cost, A_ub=rows, b_ub=limits, bounds=(0, None), method=method)
        result = _within_the_time(solver, options)
        if result.status == 0:
            return result.x, float(result.fun), result.ineqlin.marginals
    return None


def _within_the_time(solver: Callable[..., Any], options: dict[str, float]) -> Any:
    """What a solver finds; it returns to Python, where its step can be ended, in due time.

    HiGHS looks at the clock on the wall, which a loaded machine moves faster than the processor
    time that is limited: where it stopped too early it begins again with more of it.
    """
    patience = _WALL_PER_PROCESSOR_TIME
    while True:
        left = seconds_left()
        if left is None:
            return solver(options=options)
        time_limit = max(patience * left, _LEAST_PATIENCE)
        result = solver(options={**options, "time_limit": time_limit})
        if result.status != _STOPPED:
            return result
        patience *= 2.0
