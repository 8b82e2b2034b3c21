r"""Split powers: features of f(t), t = <x, y>, for rows of any length.

Rows are split along their main direction v into x = s v + r, with a number s and r orthogonal to v.
A polynomial f is

.. math:: f(\langle x, y \rangle) = \sum_j f_j(s_x s_y) \langle r_x, r_y \rangle^j,
          \qquad f_j = f^{(j)} / j!,

and each f_j is a signed sum of few products of functions of s.  A product of such a function
and a power of r is a block: its features are exact (monomials) or sketches.  Columns go to
the blocks by their exact variances; blocks without columns share a few features of random blocks,
so that no block adds a bias.  Without a main direction these are Maclaurin features of
optimised degrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, Self, final

import numpy as np
import sympy
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from rf.dot_product.candidate import Candidate, SymmetricMap, not_applicable
from rf.dot_product.problem import Problem
from rf.feature_maps.monomials import MonomialMap
from rf.feature_maps.sketches import PowerSketch, sketch_variance
from rf.inputs.rows import dense
from spectra.base.arrays import FloatArray, IntArray
from spectra.formula.parsing import T, U
from spectra.kernels.dot_product import DotProductKernel
from spectra.kernels.metrics import InnerProduct
from spectra.kernels.profile_terms import gaussian_components

__all__ = ["SplitFit", "SplitMap", "power_coefficients", "split_candidates"]

_NAME = "split powers"
# Pairs of columns for all blocks that have no columns of their own.
_SHARED_PAIRS = 2
# Pairs of rows over which variances are averaged, and the seed of these pairs, any number.
_PAIRS, _SEED = 4000, 20_240_304
# Eigenvalues of a function of s, and coefficients of a series, below this are rounding errors.
_ROUNDING = 1e-15
# A series keeps its accuracy for inner products up to this multiple of the largest of the rows,
# those of rows that are longer by its root.
_REACH = 2.0
# Largest degree of a polynomial, and the error of one in place of a function that is no series,
# relative to the root mean square of its values on the range.
_MOST_DEGREES, _POLYNOMIAL_ERROR = 60, 1e-3


@final
@dataclass(frozen=True, eq=False)
class _Blocks:
    """Blocks: the degree of r, sign, coefficients of the function of s; and means over pairs.

    ``energy``: mean square of its kernel; ``variance``: of one sketch; ``exact``: columns of the
    exact map.
    """

    degree: IntArray
    sign: FloatArray
    weights: FloatArray
    energy: FloatArray
    variance: FloatArray
    exact: FloatArray


@final
@dataclass(frozen=True, eq=False)
class SplitFit:
    """Blocks and the numbers of their columns.

    ``direction`` (d, 0 or 1): the main direction; ``exact``: whether the features of a block are
    exact; ``pairs``: its own sketches; ``square_error``: predicted mean square error; ``rate``: of
    the factor exp(-rate <x, x>) of the features of a row.
    """

    direction: FloatArray
    rate: float
    blocks: _Blocks
    exact: NDArray[np.bool_]
    pairs: IntArray
    square_error: float

    @classmethod
    def of(
        cls,
        coefficients: Sequence[float] | FloatArray,
        X: FloatArray,
        columns: int,
        *,
        split: bool,
        rate: float = 0.0,
    ) -> Self:
        """The fit to rows for sum_n coefficients[n] t^n, with the main direction if ``split``."""
        dim = X.shape[1]
        direction = np.linalg.svd(X, full_matrices=False)[2][:1].T if split else np.zeros((dim, 0))
        blocks = _make_blocks(coefficients, X, direction, rate)
        return cls(direction, rate, blocks, *_allocate(blocks, columns))

    @property
    def shares(self) -> FloatArray:
        """Probabilities of the blocks that share features."""
        shared = ~self.exact & (self.pairs == 0)
        size = shared * np.sqrt(self.blocks.energy + self.blocks.variance)
        # Blocks that the rows do not show have a probability too: other rows may have them.
        return np.asarray(
            0.9 * size / max(size.sum(), 1e-300) + 0.1 * shared / max(shared.sum(), 1)
        )

    def draw(self, rng: np.random.Generator) -> SplitMap:
        """Draw the sketches, and the blocks that get the shared features."""
        blocks, dim = self.blocks, len(self.direction)
        pieces: list[tuple[FloatArray, PowerSketch | MonomialMap]] = []
        signs: list[FloatArray] = []

        def add(block: int, features: PowerSketch | MonomialMap, n: int, factor: float) -> None:
            pieces.append((factor * blocks.weights[block], features))
            signs.append(np.full(n, blocks.sign[block]))

        for i in np.flatnonzero(self.exact | (self.pairs > 0)).tolist():
            degree, pairs = int(blocks.degree[i]), int(self.pairs[i])
            if pairs:
                add(i, PowerSketch.draw(dim, degree, pairs, rng), 2 * pairs, 1.0)
            else:
                exact = MonomialMap.of(dim, [*[0.0] * degree, 1.0])
                add(i, exact, exact.signature.size, 1.0)
        shares = self.shares
        if shares.any():
            for i in rng.choice(shares.size, _SHARED_PAIRS, p=shares / shares.sum()).tolist():
                sketch = PowerSketch.draw(dim, int(blocks.degree[i]), 1, rng)
                add(i, sketch, 2, (_SHARED_PAIRS * shares[i] / shares.sum()) ** -0.5)
        return SplitMap(self.direction, self.rate, tuple(pieces), np.concatenate(signs))


@final
@dataclass(frozen=True, eq=False, repr=False)
class SplitMap(SymmetricMap):
    """Products of a polynomial of s and features of r, for each block."""

    direction: FloatArray
    rate: float
    pieces: tuple[tuple[FloatArray, PowerSketch | MonomialMap], ...]
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        powers, rest = _split(dense(X), self.direction, self.pieces[0][0].size, self.rate)
        found = [(powers @ w)[:, None] * features.columns(rest) for w, features in self.pieces]
        return np.concatenate(found, axis=1).astype(X.dtype, copy=False)


def _split(
    X: FloatArray, direction: FloatArray, count: int, rate: float
) -> tuple[FloatArray, FloatArray]:
    """``count`` powers of s, s = 1 without a direction, times the factor of the row; and r."""
    s = X @ direction if direction.size else np.ones((len(X), 1))
    factor = np.exp(-rate * np.sum(X**2, axis=1, keepdims=True))
    return factor * s ** np.arange(count), X - s @ direction.T if direction.size else X


def _make_blocks(
    coefficients: Sequence[float] | FloatArray, X: FloatArray, direction: FloatArray, rate: float
) -> _Blocks:
    a, (n, dim) = np.asarray(coefficients, dtype=float), X.shape
    all_powers, rest = _split(X, direction, np.size(coefficients) if direction.size else 1, rate)
    rng = np.random.default_rng(_SEED)
    i, k = rng.integers(n, size=_PAIRS), rng.integers(n, size=_PAIRS)
    k = np.where(i == k, (k + 1) % n, k)
    u = np.sum(rest[i] * rest[k], axis=1)
    found: list[tuple[Any, ...]] = []
    for j in range(a.size):
        if direction.size:
            own = np.array([a[m] * comb(m, j) for m in range(j, a.size)])
            powers = all_powers[:, : own.size]
            # The functions s^0, s^1, ... are scaled, and their Gram matrix on the rows is that of
            # R'R: the eigenvectors of R diag(own) R' are orthogonal functions on the rows.
            scale = np.sqrt(np.mean(powers**2, axis=0)) + 1e-300
            R: Any = np.linalg.qr(powers / scale / np.sqrt(n), mode="r")
            values, vectors = np.linalg.eigh((R * own * scale**2) @ R.T)
            with_kernel = np.linalg.lstsq(R, vectors, rcond=1e-13)[0] / scale[:, None]
        else:
            values, with_kernel, powers = a[j : j + 1], np.ones((1, 1)), all_powers
        variance = np.maximum(sketch_variance(rest[i], rest[k], j), 0.0)
        for value, w in zip(values, with_kernel.T, strict=True):
            f = powers @ w
            square = (value * f[i] * f[k]) ** 2
            weights = np.zeros(a.size if direction.size else 1)
            weights[: w.size] = w * np.sqrt(abs(value))
            energy, of_sketch = np.mean(square * u ** (2 * j)), np.mean(square * variance)
            found.append(
                (j, np.sign(value), weights, energy, of_sketch, comb(dim + j - 1, j) if j else 1)
            )
    degree, sign, weights, energy, variances, exact = map(np.array, zip(*found, strict=True))
    kept = energy + variances > _ROUNDING**2 * (energy + variances).max()
    arrays = (degree, sign, weights, energy, variances, exact.astype(float))
    return _Blocks(*(array[kept] for array in arrays))


def _allocate(blocks: _Blocks, columns: int) -> tuple[NDArray[np.bool_], IntArray, float]:
    """Exact blocks, own pairs of the others, and the predicted mean square error; the least one."""
    size = blocks.energy + blocks.variance
    by_worth = np.argsort(-size / blocks.exact, kind="stable")
    # Sketches of degree 0 and 1-column maps are exact anyway.
    by_worth = by_worth[blocks.exact[by_worth] <= columns]
    best = np.inf, np.zeros(size.size, dtype=bool), np.zeros(size.size, dtype=np.intp)
    for n_exact in range(by_worth.size + 1):
        exact = np.zeros(size.size, dtype=bool)
        exact[by_worth[:n_exact]] = True
        left = int(columns - blocks.exact[exact].sum()) // 2
        if left < 0:
            break
        others = np.flatnonzero(~exact)
        others = others[np.argsort(-size[others], kind="stable")]
        for n_own in range(max(min(others.size, left), 0) + 1):
            own, shared = others[:n_own], others[n_own:]
            budget = left - (_SHARED_PAIRS if shared.size else 0)
            if budget < n_own:
                break
            root = np.sqrt(blocks.variance[own])
            extra = (budget - n_own) * root / root.sum() if root.any() else np.zeros(n_own)
            pairs = 1 + extra.astype(np.intp)
            error = float(np.sum(blocks.variance[own] / pairs))
            error += float(np.sum(np.sqrt(size[shared]))) ** 2 / _SHARED_PAIRS
            if error < best[0]:
                allotted = np.zeros(size.size, dtype=np.intp)
                allotted[own] = pairs
                best = error, exact, allotted
    error, exact, allotted = best
    return exact, allotted, error


def power_coefficients(kernel: Any, least: float, largest: float) -> tuple[FloatArray, float]:
    """Coefficients of 1, t, t^2, ... of a kernel of t, and the error for t in [least, largest].

    A power series has no error but rounding for |t| up to twice ``largest``; other functions are
    replaced by a polynomial that interpolates them in Chebyshev nodes.  The error is infinite if
    the degree is not sufficient.
    """
    if kernel.expr.is_polynomial(T):
        return np.array(sympy.Poly(kernel.expr, T).all_coeffs()[::-1], dtype=float), 0.0
    if kernel.is_entire:
        n, radius = 2 * _MOST_DEGREES, _REACH * largest
        circle = radius * np.exp(2j * np.pi * np.arange(n) / n)
        values = np.broadcast_to(sympy.lambdify(T, kernel.expr, "numpy")(circle), n)
        scaled = np.fft.fft(values).real[:_MOST_DEGREES] / n
        kept = np.abs(scaled) > _ROUNDING * np.abs(scaled).max()
        if kept[-1]:
            return scaled, np.inf
        last = int(np.flatnonzero(kept)[-1]) + 1
        return np.where(kept, scaled, 0.0)[:last] / radius ** np.arange(last), 0.0
    t = np.linspace(least, largest, 1001)
    exact = kernel(t)
    for degree in range(1, _MOST_DEGREES):
        found = Chebyshev.interpolate(kernel, degree, domain=[least, largest])
        error = float(np.abs(found(t) - exact).max())
        if error <= _POLYNOMIAL_ERROR * float(np.sqrt(np.mean(exact**2))):
            break
    return np.asarray(found.convert(kind=Polynomial).coef, dtype=float), error


def split_candidates(problem: Problem) -> list[Candidate]:
    """The fit with the least predicted error, with or without a main direction."""
    X, columns = problem.fit_rows, problem.n_components
    if columns < 2 * _SHARED_PAIRS + 1:
        return not_applicable(_NAME, f"needs at least {2 * _SHARED_PAIRS + 1} columns")
    if (of_product := _as_power_series(problem)) is None:
        return not_applicable(_NAME, "no power series of the kernel is known")
    kernel, rate, (least, largest) = of_product
    coefficients, error = power_coefficients(kernel, least, largest)
    if np.isinf(error):
        reason = f"inner products of up to {largest:.3g} need a degree above {_MOST_DEGREES}"
        return not_applicable(_NAME, f"{reason}: divide the rows (length_scale)")
    fits = [SplitFit.of(coefficients, X, columns, split=s, rate=rate) for s in (False, True)]
    best = min(fits, key=lambda fit: fit.square_error)
    exact, own = int(best.exact.sum()), int(np.count_nonzero(best.pairs))
    mean_square = np.mean(problem.kernel.gram(X[: _PAIRS // 8]) ** 2)
    detail = (
        f"{'main direction, ' if best.direction.size else ''}degree {coefficients.size - 1}, "
        f"{exact} exact and {own} sketched terms, predicted error "
        f"{np.sqrt(best.square_error / mean_square):.3g}, "
    )
    detail += f"error of the polynomial at most {error:.2g}" if error else "no bias"
    # A polynomial in place of another function is one for these rows only.
    z_max = np.inf if error == 0.0 else None
    used = int(best.blocks.exact[best.exact].sum()) + 2 * int(best.pairs.sum())
    used += 2 * _SHARED_PAIRS * bool(best.shares.any())
    return [Candidate(_NAME, used, detail, best.draw, z_max, is_unbiased=error == 0.0)]


def _as_power_series(
    problem: Problem,
) -> tuple[DotProductKernel, float, tuple[float, float]] | None:
    """f, rate and the range of t if the kernel is f(t) exp(-rate |x|^2) exp(-rate |y|^2)."""
    kernel, (least, largest) = problem.kernel, problem.row_range.products
    if kernel.is_zonal:
        return DotProductKernel(kernel.zonal.subs(U, T)), 0.0, (max(least, -1.0), min(largest, 1.0))
    if isinstance(kernel.metric, InnerProduct):
        return kernel, 0.0, (least, largest)
    terms = gaussian_components(kernel) or ()
    if len(terms) != 1:
        return None
    ((c, rate),) = terms
    return DotProductKernel(c * sympy.exp(2 * rate * T)), float(rate), (least, largest)
