"""Compare all methods for a problem by their error on sampled rows, and choose the best one.

The error of a method is measured: it is drawn a few times, and its kernel matrix is compared with
the exact one on a sample of the data.  This includes bias, variance and rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import final

import numpy as np

from rf.dot_product.candidate import Candidate, DrawnMap, unavailable
from rf.dot_product.designed_waves import design_candidates
from rf.dot_product.exact_powers import exact_candidates
from rf.dot_product.neurons import neuron_candidates
from rf.dot_product.problem import Problem
from rf.inputs.rows import FITTING_ADVICE
from rf.schemes.scheme import DesignedScheme
from spectra.base.arrays import FloatArray
from spectra.base.limits import staged
from spectra.errors import ParameterError

__all__ = ["METHODS", "Comparison", "compare", "mean_square", "sampled_error"]

Method = Callable[[Problem], list[Candidate]]

#: The methods by name.  The first of equal error is chosen.
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "exact polynomial": exact_candidates,
        "designed waves": design_candidates,
        "steps and ramps": neuron_candidates,
    }
)

# The methods that need no unit rows.
_FOR_ANY_ROWS = ("exact polynomial", "designed waves")
# Draws of each candidate; the errors of two draws differ by some ten percent.
_DRAWS = 4
# A relative error below this is rounding, which no other method improves.
_ROUNDING = 1e-12
# The comparison is the same for every random_state.
_SEED = 20_240_301
# Comparisons kept in memory: a grid search, or several seeds, repeat the same one.
_RECENT = 16


@final
@dataclass(frozen=True, eq=False)
class Comparison(DesignedScheme):
    """All methods for a problem, and the best one, which is drawn.

    ``compared``: the best one first, those that do not apply last.
    """

    problem: Problem
    compared: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        """The method that was chosen."""
        return self.compared[0]

    @property
    def method(self) -> str:
        return self.best.name

    @property
    def z_max(self) -> float:
        """Largest distance at which the features approximate the kernel."""
        return 2.0 if self.best.everywhere else self.problem.z_max

    def draw(self, n_columns: int, rng: np.random.Generator) -> DrawnMap:
        return _drawn(self.best, rng)

    def expected_error(self, extra_variance: float = 0.0) -> float:
        return self.best.error

    def explain(self) -> str:
        """The candidates as a table in plain text."""
        lines = [self.problem.note, "  error     columns  method"]
        for c in self.compared:
            mark = "*" if c is self.best else " "
            error = "none" if c.columns is None else f"{c.error:.3g}"
            columns = "" if c.columns is None else str(c.columns)
            lines.append(f"{mark} {error:<9} {columns:>7}  {c.name}: {c.detail or 'no bias'}")
        return "\n".join(lines)


@staged("comparing methods", advice=FITTING_ADVICE)
def compare(problem: Problem) -> Comparison:
    """Ask all methods for candidates, and measure the error of each.

    The result depends on the problem alone.  Recent ones are kept in memory.
    """
    return _compare(problem)


@lru_cache(maxsize=_RECENT)
def _compare(problem: Problem) -> Comparison:
    rows = problem.compared_rows
    exact = problem.kernel.gram(rows)
    if not np.any(exact):
        raise ParameterError(
            f"The kernel {problem.kernel} is 0 everywhere on the data, so there is nothing to "
            "draw. Check the formula, and the unit of the distances."
        )
    wanted = replace(problem, positive=problem.positive and _is_definite(problem))
    rng = np.random.default_rng(_SEED)
    done: list[Candidate] = []
    without: list[Candidate] = []
    for name, method in _methods_for(problem).items():
        if done and done[0].error <= _ROUNDING:
            without += unavailable(name, "not compared: the error is rounding already")
            continue
        for candidate in method(wanted):
            if candidate.draw is None:
                without.append(candidate)
            elif wanted.positive and np.any(candidate.draw(rng).signature < 0):
                without += unavailable(candidate.name, "has columns of signature -1")
            else:
                error = sampled_error(candidate, rows, exact, problem.n_rows, rng)
                done.append(replace(candidate, error=error))
    if not done:
        reasons = "; ".join(f"{c.name}: {c.detail}" for c in without)
        raise ParameterError(
            f"No features of {problem.kernel} fit n_components = {problem.n_components} for "
            f"n_samples = {problem.n_rows}, d = {problem.dim} ({reasons}). Allow more columns."
        )
    done.sort(key=lambda candidate: candidate.error)
    return Comparison(problem, (*done, *without))


def _is_definite(problem: Problem) -> bool:
    """Whether the kernel is zonal, and no Gegenbauer coefficient is negative beyond its error."""
    if not problem.kernel.is_zonal or problem.dim < 2:
        return False
    from spectra.verdict.regions.sphere_coefficients import sphere_coefficients

    found = sphere_coefficients(problem.kernel, problem.dim)
    return bool(np.all(found.values >= -found.error))


def _methods_for(problem: Problem) -> Mapping[str, Method]:
    if problem.given is not None:
        return {"the given design": design_candidates}
    if problem.kernel.is_zonal:
        return METHODS
    return {name: METHODS[name] for name in _FOR_ANY_ROWS}


def sampled_error(
    candidate: Candidate, rows: FloatArray, exact: FloatArray, n_rows: int, rng: np.random.Generator
) -> float:
    """Relative error of a kernel matrix of n_rows, from drawn ones on a sample of the rows."""
    square, size = mean_square(exact**2, n_rows), 0.0
    for _ in range(_DRAWS):
        drawn = _drawn(candidate, rng)
        Z = drawn.columns(rows)
        size += mean_square(((Z * drawn.signature) @ Z.T - exact) ** 2, n_rows) / _DRAWS
    return float(np.sqrt(size / square))


def _drawn(candidate: Candidate, rng: np.random.Generator) -> DrawnMap:
    assert candidate.draw is not None  # of every candidate that was compared
    return candidate.draw(rng)


def mean_square(squares: FloatArray, n_rows: int) -> float:
    """Mean over all pairs of n_rows, of which the diagonal is one part in n_rows."""
    m = len(squares)
    diagonal = float(np.trace(squares))
    if m == 1:
        return diagonal
    off = (float(squares.sum()) - diagonal) / (m * (m - 1))
    return off * (1.0 - 1.0 / n_rows) + diagonal / m / n_rows
