"""Measure the error of every method on sampled rows, and choose the method with the smallest error.

Each method draws its features a few times, and the approximate kernel matrix of the sampled rows is
compared with the exact one.  The measured error includes bias, variance and rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import final

import numpy as np

from rf.dot_product.candidate import Candidate, SymmetricMap, not_applicable
from rf.dot_product.designed_waves import design_candidates
from rf.dot_product.exact_powers import exact_candidates
from rf.dot_product.neurons import neuron_candidates
from rf.dot_product.problem import Problem
from rf.inputs.rows import FITTING_ADVICE
from rf.schemes.scheme import DesignedScheme
from spectra.base.arrays import FloatArray
from spectra.base.limits import staged
from spectra.errors import ParameterError

__all__ = ["METHODS", "Comparison", "compare"]

Method = Callable[[Problem], list[Candidate]]

#: The methods by name, each a function that returns its candidates.  Equal errors: the first wins.
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "exact polynomial": exact_candidates,
        "designed waves": design_candidates,
        "steps and ramps": neuron_candidates,
    }
)

# Number of draws of each candidate: the errors of two draws differ by about ten percent.
_DRAWS = 4
# A relative error below this is a rounding error, so the other methods need not be tried.
_ROUNDING = 1e-12
# A fixed seed, any number: the comparison is the same for every random_state.
_SEED = 20_240_301
# Number of comparisons in the cache: a grid search, or several seeds, repeat the same one.
_CACHE_SIZE = 16


@final
@dataclass(frozen=True, eq=False)
class Comparison(DesignedScheme):
    """The candidates by ascending error, then those that do not apply; the first one is drawn."""

    problem: Problem
    compared: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        """The candidate with the smallest error."""
        return self.compared[0]

    @property
    def method(self) -> str:
        return self.best.name

    @property
    def z_max(self) -> float:
        """Largest distance at which the features approximate the kernel."""
        return 2.0 if self.best.on_whole_sphere else self.problem.z_max

    def draw(self, n_columns: int, rng: np.random.Generator) -> SymmetricMap:
        return _draw(self.best, rng)

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
    """Measure the errors of all candidates; cached, because they depend on the problem alone."""
    return _compare(problem)


@lru_cache(maxsize=_CACHE_SIZE)
def _compare(problem: Problem) -> Comparison:
    rows = problem.compared_rows
    kernel_matrix = problem.kernel.gram(rows)
    if not np.any(kernel_matrix):
        raise ParameterError(
            f"The kernel {problem.kernel} is 0 everywhere on the data, so there is nothing to "
            "approximate. Check the formula, and the unit of the distances."
        )
    positive = problem.positive and _is_positive_definite_on_sphere(problem)
    rng = np.random.default_rng(_SEED)
    measured: list[Candidate] = []
    excluded: list[Candidate] = []
    for name, method in _methods_for(problem).items():
        if measured and measured[0].error <= _ROUNDING:
            excluded += not_applicable(
                name, "not compared: an earlier method is exact up to rounding"
            )
            continue
        for candidate in method(replace(problem, positive=positive)):
            if candidate.draw is None:
                excluded.append(candidate)
            elif positive and np.any(candidate.draw(rng).signature < 0):
                excluded += not_applicable(candidate.name, "has columns of signature -1")
            else:
                error = _relative_error(candidate, rows, kernel_matrix, problem.n_rows, rng)
                measured.append(replace(candidate, error=error))
    if not measured:
        reasons = "; ".join(f"{c.name}: {c.detail}" for c in excluded)
        raise ParameterError(
            f"No method for {problem.kernel} works with n_components = {problem.n_components} for "
            f"n_samples = {problem.n_rows}, d = {problem.dim} ({reasons}). Allow more columns."
        )
    measured.sort(key=lambda candidate: candidate.error)
    return Comparison(problem, (*measured, *excluded))


def _is_positive_definite_on_sphere(problem: Problem) -> bool:
    """Whether the kernel is zonal, and its Gegenbauer coefficients are >= 0 within their errors."""
    if not problem.sphere or problem.dim < 2:
        return False
    from spectra.verdict.sphere_coefficients import sphere_coefficients

    coefficients = sphere_coefficients(problem.kernel, problem.dim)
    return bool(np.all(coefficients.values >= -coefficients.error))


def _methods_for(problem: Problem) -> Mapping[str, Method]:
    if problem.given_design is not None:
        return {"the given design": design_candidates}
    return METHODS


def _relative_error(
    candidate: Candidate, rows: FloatArray, exact: FloatArray, n_rows: int, rng: np.random.Generator
) -> float:
    """Relative error of the kernel matrix of all n_rows, estimated on the sampled ``rows``."""
    square_norm, square_error = _mean_entry(exact**2, n_rows), 0.0
    for _ in range(_DRAWS):
        feature_map = _draw(candidate, rng)
        Z = feature_map.columns(rows)
        approximation = (Z * feature_map.signature) @ Z.T
        square_error += _mean_entry((approximation - exact) ** 2, n_rows) / _DRAWS
    return float(np.sqrt(square_error / square_norm))


def _draw(candidate: Candidate, rng: np.random.Generator) -> SymmetricMap:
    assert candidate.draw is not None  # true for every candidate whose error was measured
    return candidate.draw(rng)


def _mean_entry(sampled: FloatArray, n_rows: int) -> float:
    """Mean entry of a matrix of size n_rows, estimated from the matrix of m sampled rows."""
    m = len(sampled)
    trace = float(np.trace(sampled))
    if m == 1:
        return trace
    off_diagonal = (float(sampled.sum()) - trace) / (m * (m - 1))
    return off_diagonal * (1.0 - 1.0 / n_rows) + trace / m / n_rows
