"""Measure the error of every method on sampled rows, and choose the method with the smallest error.

Each method draws its features a few times, and the approximate kernel matrix of the sampled rows is
compared with the exact one.  The measured error includes bias, variance and rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from time import process_time
from types import MappingProxyType
from typing import Any, final

import numpy as np

from rf.dot_product.candidate import Candidate, not_applicable
from rf.dot_product.designed_waves import design_candidates
from rf.dot_product.exact_powers import exact_candidates
from rf.dot_product.neurons import neuron_candidates
from rf.dot_product.nystroem import nystroem_candidates
from rf.dot_product.problem import Problem
from rf.dot_product.split_powers import split_candidates
from rf.feature_maps.feature_map import FeatureMap
from rf.inputs.rows import FITTING_ADVICE
from rf.inputs.tables import resolve_spectrum
from rf.schemes.scheme import Scheme
from rf.schemes.table_scheme import scheme_for
from spectra.base.arrays import FloatArray
from spectra.base.limits import staged
from spectra.errors import (
    InfiniteMassError,
    NoRouteError,
    ParameterError,
    TimeLimitError,
    UndecidedError,
)
from spectra.kernels.metrics import InnerProduct

__all__ = ["METHODS", "Comparison", "compare", "describe_nystroem"]

Method = Callable[[Problem], list[Candidate]]


def table_candidates(problem: Problem) -> list[Candidate]:
    """Features from the table of the kernel, if it has one."""
    name, n, options = "random frequencies", problem.n_components, problem.options
    if problem.kernel.is_zonal or options is None:
        return not_applicable(name, "the kernel is defined on the unit sphere")
    try:
        table = resolve_spectrum(problem.kernel, problem.dim).table
    except (InfiniteMassError, NoRouteError, TimeLimitError, UndecidedError) as error:
        return not_applicable(name, str(error).partition(". ")[0])
    if not table.parts:
        return not_applicable(name, "the spectral measure is 0 within its error")
    scheme = scheme_for(table, -(-n // 2), options, problem.fit_rows)
    columns = min(n, 2 * sum(scheme.counts))
    detail = f"coupling {scheme.coupling!r}" + ("" if scheme.is_unbiased else ", biased")
    draw = partial(scheme.draw, columns)
    return [
        Candidate(name, columns, detail, draw, np.inf, scheme.is_unbiased, scheme=scheme),
    ]


#: The methods by name, each a function that returns its candidates.  Equal errors: the first wins.
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "exact polynomial": exact_candidates,
        "designed waves": design_candidates,
        "steps and ramps": neuron_candidates,
        "split powers": split_candidates,
        "random frequencies": table_candidates,
        "Nystroem": nystroem_candidates,
    }
)
# Methods for kernels of every metric, compared if biased features are asked for.
_FOR_ALL = {"random frequencies", "Nystroem"}

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
class Comparison(Scheme):
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
        return self.problem.z_max if self.best.z_max is None else self.best.z_max

    @property
    def rows(self) -> Any:
        """The sampled rows, unless biased methods were compared already."""
        return None if self.problem.compares_all else self.problem.sample

    @property
    def is_unbiased(self) -> bool:
        return self.best.is_unbiased

    def draw(self, n_columns: int, rng: np.random.Generator) -> FeatureMap:
        return _draw(replace(self.best, draw=self.best.final_draw or self.best.draw), rng)

    def expected_error(self, extra_variance: float = 0.0) -> float:
        return self.best.error

    def explain(self) -> str:
        """The candidates as a table in plain text."""
        lines = [self.problem.note, "  error     columns      ms  method"]
        for c in self.compared:
            mark = "*" if c is self.best else " "
            error = "none" if c.columns is None else f"{c.error:.3g}"
            columns, ms = ("", "") if c.columns is None else (c.columns, f"{1e3 * c.seconds:.3g}")
            detail = c.detail or "no bias"
            lines.append(f"{mark} {error:<9} {columns:>7} {ms:>7}  {c.name}: {detail}")
        if n := self.problem.n_held_out:
            lines.append(f"Errors are those on {n} rows that were held out.")
        lines.append("ms: processor time of a transform of 1000 rows.")
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
                measured.append(_measured(candidate, rows, kernel_matrix, problem.n_rows, rng))
    if not measured:
        reasons = "; ".join(f"{c.name}: {c.detail}" for c in excluded)
        raise ParameterError(
            f"No method for {problem.kernel} works with n_components = {problem.n_components} for "
            f"n_samples = {problem.n_rows}, d = {problem.dim} ({reasons}). Allow more columns."
        )
    measured.sort(key=lambda candidate: candidate.error)
    return Comparison(problem, (*measured, *excluded))


def describe_nystroem(kernel: Any, rows: Any, n_components: int) -> str:
    """A line on what biased features could do: the error of Nystroem on a third of the rows."""
    problem = Problem.of(kernel, rows, n_components, np.inf, compares_all=True)
    held_out, rng = problem.compared_rows, np.random.default_rng(_SEED)
    (candidate,) = nystroem_candidates(problem)
    found = _measured(candidate, held_out, kernel.gram(held_out), problem.n_rows, rng)
    return (
        "domain='data' also compares biased methods: Nystroem features fitted to "
        f"{len(problem.fit_rows)} of the rows err by {100 * found.error:.3g} % of the kernel "
        f"matrix of {len(held_out)} others."
    )


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
    names = set(METHODS) if problem.compares_all else set(METHODS) - _FOR_ALL - {"split powers"}
    if isinstance(problem.kernel.metric, InnerProduct):
        names = names & _FOR_ALL - {"random frequencies"} | {"exact polynomial", "split powers"}
    elif np.isinf(problem.z_max):
        names &= _FOR_ALL
    return {name: method for name, method in METHODS.items() if name in names}


def _measured(
    candidate: Candidate, rows: FloatArray, exact: FloatArray, n_rows: int, rng: np.random.Generator
) -> Candidate:
    """The candidate with its error for all n_rows, estimated on the sampled ``rows``, and time."""
    square_norm, square_errors, seconds = _mean_entry(exact**2, n_rows), [], []
    # Errors of Nystroem features, which take long to fit, differ little between draws.
    for _ in range(_DRAWS if candidate.final_draw is None else 1):
        feature_map, start = _draw(candidate, rng), process_time()
        Z = feature_map.left(rows)
        seconds.append((process_time() - start) * 1000.0 / len(rows))
        approximation = (Z * feature_map.signature) @ Z.T
        square_errors.append(_mean_entry((approximation - exact) ** 2, n_rows))
    error = float(np.sqrt(np.mean(square_errors) / square_norm))
    return replace(candidate, error=error, seconds=min(seconds))


def _draw(candidate: Candidate, rng: np.random.Generator) -> FeatureMap:
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
