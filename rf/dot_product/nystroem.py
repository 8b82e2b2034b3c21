r"""Nystroem features of any symmetric kernel, with the signs of indefinite kernels.

Some of the fitted rows are the pivots P.  With an orthonormal basis Q of the columns of K(S, P) on
a sample S of the rows, the matrix :math:`Q'K(S, S)Q` is the best approximation of K(S, S) in their
span.  Its eigenvectors of largest \|lambda\| give the columns, and the signs of lambda the
signature.  Pivots are drawn by randomly pivoted Cholesky, of K or, if K is indefinite, of K^2.

References
----------
Y. Chen, E. N. Epperly, J. A. Tropp and R. J. Webber, "Randomly pivoted Cholesky: practical
approximation of a kernel matrix with few entry evaluations", Comm. Pure Appl. Math. 78 (2025) 995.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from rf.dot_product.candidate import Candidate, SymmetricMap
from rf.dot_product.problem import Problem, rows_to_fit
from rf.inputs.rows import dense
from spectra.base.arrays import FloatArray, IntArray

__all__ = ["NystroemMap", "draw_pivots", "nystroem_candidates", "nystroem_map"]

# Pivots drawn at one time; a pivot below this share of the largest diagonal entry is rounding.
_BLOCK, _LEAST_PIVOT = 64, 1e-13
# There are 128 to 256 more pivots than columns.  On letter, digits and three kernels twice as many
# pivots halve the error; beyond, the error decreases by a few percent.
_FEWEST_MORE, _MOST_MORE = 128, 256
# Eigenvalues of a basis, and of the kernel in it, below this share of the largest are rounding.
_ROUNDING = 1e-14
# Rows of which the eigenvalues tell whether a kernel is indefinite, and their rounding errors.
_PROBED_ROWS, _PROBE_ROUNDING = 256, 1e-10
# Rows whose features are computed at one time, and for the bound of the sum of absolute terms.
_ROWS_AT_ONCE, _BOUNDED_ROWS = 4096, 1024


@final
@dataclass(frozen=True, eq=False, repr=False)
class NystroemMap(SymmetricMap):
    """The columns k(x, pivots) @ factor."""

    kernel: Any
    pivots: FloatArray
    factor: FloatArray
    signature: FloatArray

    def cancellation_bound(self, X: Any) -> float:
        """As measured on at most 2048 rows, since each takes as long as its transform."""
        return super().cancellation_bound(X[:: max(1, X.shape[0] // _BOUNDED_ROWS)])

    def columns(self, X: Any) -> NDArray[Any]:
        blocks = (
            self.kernel.gram(dense(X[i : i + _ROWS_AT_ONCE]), self.pivots) @ self.factor
            for i in range(0, X.shape[0], _ROWS_AT_ONCE)
        )
        return np.concatenate(list(blocks)).astype(X.dtype, copy=False)


def nystroem_candidates(problem: Problem) -> list[Candidate]:
    """One candidate; its features are drawn from all rows if it is chosen."""
    n = problem.sample.shape[0]
    pivots, columns = (
        min(m, n) for m in (_number_of_pivots(problem.n_components), problem.n_components)
    )
    detail = f"{pivots} pivots, biased on rows unlike those of the fit"
    draw, final_draw = partial(_draw, problem, False), partial(_draw, problem, True)
    return [Candidate("Nystroem", columns, detail, draw, np.inf, final_draw=final_draw)]


def _draw(problem: Problem, from_all: bool, rng: np.random.Generator) -> NystroemMap:
    rows = dense(problem.sample) if from_all else problem.fit_rows
    return nystroem_map(problem.kernel, rows, problem.n_components, rng)


def nystroem_map(
    kernel: Any, rows: FloatArray, n_columns: int, rng: np.random.Generator
) -> NystroemMap:
    """Features with at most ``n_columns`` columns, fitted to rows."""
    most = rows_to_fit(n_columns)
    if len(rows) > most:
        rows = rows[rng.choice(len(rows), most, replace=False)]
    K = kernel.gram(rows)
    count = min(_number_of_pivots(n_columns), len(rows))
    probe = np.linalg.eigvalsh(K[:_PROBED_ROWS, :_PROBED_ROWS])
    if probe[0] < -_PROBE_ROUNDING * abs(probe[-1]) or np.any(np.diag(K) < 0.0):
        pivots, _ = draw_pivots(lambda J: K @ K[:, J], np.sum(K**2, axis=1), count, rng)
        whitened, basis = np.eye(len(pivots)), K[:, pivots]
    else:
        pivots, basis = draw_pivots(lambda J: K[:, J], np.diag(K).copy(), count, rng)
        whitened = solve_triangular(basis[pivots], np.eye(len(pivots)), lower=True).T
    squares, vectors = np.linalg.eigh(basis.T @ basis)
    kept = squares > _ROUNDING * squares[-1]
    vectors = vectors[:, kept] / np.sqrt(squares[kept])
    orthonormal = basis @ vectors
    values, rotation = np.linalg.eigh(orthonormal.T @ (K @ orthonormal))
    order = np.argsort(-np.abs(values))[:n_columns]
    order = order[np.abs(values[order]) > _ROUNDING * np.abs(values[order[0]])]
    factor = whitened @ (vectors @ (rotation[:, order] * np.sqrt(np.abs(values[order]))))
    return NystroemMap(kernel, rows[pivots], factor, np.sign(values[order]))


def draw_pivots(
    columns: Callable[[IntArray], FloatArray],
    diagonal: FloatArray,
    count: int,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray]:
    """Randomly pivoted Cholesky of a positive semidefinite matrix A, in blocks.

    ``columns``: returns A[:, J] for indices J; ``diagonal``: of A.  Returns at most ``count``
    indices J of pivots, and F (n, len(J)) with A ~ F F', exact in the rows and columns J.
    """
    residual, n = diagonal.copy(), len(diagonal)
    factor, pivots = np.zeros((n, count)), np.zeros(0, dtype=np.intp)
    least = _LEAST_PIVOT * float(diagonal.max())
    while len(pivots) < count and residual.max() > least:
        size, done = min(_BLOCK, count - len(pivots)), len(pivots)
        drawn = np.unique(rng.choice(n, size, p=residual / residual.sum()))
        block = columns(drawn) - factor[:, :done] @ factor[drawn, :done].T
        lower, order, rank, _ = lapack.dpstrf(block[drawn], lower=1, tol=least)
        chosen = order[:rank] - 1
        if not rank:
            residual[drawn] = 0.0
            continue
        new = solve_triangular(np.tril(lower)[:rank, :rank], block[:, chosen].T, lower=True).T
        pivots = np.concatenate([pivots, drawn[chosen]])
        factor[:, done : len(pivots)] = new
        residual = np.maximum(residual - np.sum(new**2, axis=1), 0.0)
        residual[pivots] = 0.0
    return pivots, factor[:, : len(pivots)]


def _number_of_pivots(n_columns: int) -> int:
    return n_columns + max(_FEWEST_MORE, min(n_columns, _MOST_MORE))
