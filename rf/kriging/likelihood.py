r"""The log likelihood, restricted or not, of a model with a drift, with its gradient.

.. math:: -2\ell = \log\det V + r^T V^{-1} r + [\log\det(F^T V^{-1} F) - \log\det(F^T F)]
                   + (n - [p]) \log 2\pi

r are the residuals of generalised least squares on the p columns of F; the restricted likelihood
(REML) has the terms in brackets.  ``ExactLikelihood`` factors V, ``VecchiaLikelihood`` uses the
conditionals of :mod:`rf.fields.vecchia`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cholesky, lapack, solve_triangular
from scipy.spatial.distance import pdist, squareform

from rf.fields import neighbour_blocks
from rf.kriging.model import Model
from spectra.base.arrays import FloatArray

__all__ = ["ExactLikelihood", "VecchiaLikelihood"]

#: The loss of q for which V is not positive definite in doubles.
_IMPOSSIBLE = 1e25


@dataclass(eq=False)
class _Likelihood:
    """Minus two times the log likelihood of values y at points X with the drift F.

    ``noise`` has the variances of the errors of y.
    """

    model: Model
    X: FloatArray
    y: FloatArray
    F: FloatArray
    noise: FloatArray
    reml: bool
    #: The best loss and its q so far, for fits that are interrupted.
    best: tuple[float, FloatArray | None] = field(default=(np.inf, None), init=False)

    def _value(self, white: FloatArray, log_det: float) -> tuple[float, FloatArray, Any, Any]:
        """The loss from white values and drift, the residuals, and the QR factors of the drift."""
        n, p = self.F.shape
        Q, T = np.linalg.qr(white[:, 1:])
        rest = white[:, 0] - Q @ (Q.T @ white[:, 0])
        value = log_det + rest @ rest + n * np.log(2 * np.pi)
        if self.reml and p:
            value += 2.0 * np.log(np.abs(np.diag(T))).sum() - p * np.log(2 * np.pi)
            value -= np.linalg.slogdet(self.F.T @ self.F)[1]
        return float(value), rest, Q, T

    def loss(self, q: FloatArray) -> tuple[float, FloatArray]:
        """-2 log likelihood, and its gradient in q."""
        value, gradient = np.nan, np.zeros(len(q))
        with suppress(np.linalg.LinAlgError):
            value, gradient = self._evaluate(q)
        if not np.isfinite(value):
            return _IMPOSSIBLE, np.zeros(len(q))
        if value < self.best[0]:
            self.best = value, np.array(q)
        return value, gradient

    def _evaluate(self, q: FloatArray) -> tuple[float, FloatArray]:
        raise NotImplementedError

    def hessian(self, q: FloatArray, step: float = 1e-3) -> FloatArray:
        """Second derivatives of the loss, by differences of gradients."""
        rows = [self.loss(q + e)[1] - self.loss(q - e)[1] for e in np.eye(len(q)) * step]
        return (np.array(rows) + np.array(rows).T) / (4 * step)


class ExactLikelihood(_Likelihood):
    """The likelihood by the Cholesky factor of V."""

    @cached_property
    def _distances(self) -> FloatArray:
        return pdist(self.X)

    def _at(self, matrix: FloatArray) -> FloatArray:
        if self.model.anisotropy is None:
            return self._distances * matrix[0, 0]
        return pdist(self.X @ matrix)

    def factor(self, q: FloatArray) -> FloatArray:
        """The lower Cholesky factor of V."""
        return self._factor(q, self.model.with_derivatives(q, self._at)[0])

    def _factor(self, q: FloatArray, values: FloatArray) -> FloatArray:
        V = squareform(values)
        V[np.diag_indices_from(V)] = self.model.variance(q) + self.model.nugget(q) + self.noise
        return cholesky(V, lower=True, overwrite_a=True, check_finite=False)

    def _evaluate(self, q: FloatArray) -> tuple[float, FloatArray]:
        values, derivatives = self.model.with_derivatives(q, self._at)
        L = self._factor(q, values)
        right = np.column_stack([self.y, self.F])
        white = solve_triangular(L, right, lower=True, check_finite=False)
        value, rest, Q, _ = self._value(white, 2.0 * np.log(np.diag(L)).sum())
        solved = solve_triangular(
            L, np.column_stack([rest, Q]), lower=True, trans=1, check_finite=False
        )
        outer = solved if self.reml else solved[:, :1]
        # The derivative is the sum over entries of dV times V^-1 - outer outer'.
        G = np.ascontiguousarray(lapack.dpotri(L, lower=1, overwrite_c=1)[0].T)  # upper triangle
        G -= outer @ outer.T
        on, off = float(np.trace(G)), squareform(G, checks=False)
        gradient = [
            on * diagonal + (0.0 if entries is None else 2.0 * float(off @ entries))
            for entries, diagonal in derivatives
        ]
        return value, np.array(gradient)


@dataclass(eq=False)
class VecchiaLikelihood(_Likelihood):
    """The likelihood from the conditionals of each point given m near predecessors."""

    m: int = 30

    @cached_property
    def _blocks(self) -> list[Any]:
        return neighbour_blocks(self.X, self.m)

    def coefficients(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The coefficients of the drift, and a root R of their covariance R R'."""
        white = self._white(q)[0]
        Q, T = np.linalg.qr(white[:, 1:])
        return np.linalg.solve(T, Q.T @ white[:, 0]), np.linalg.inv(T)

    def _white(self, q: FloatArray) -> tuple[FloatArray, FloatArray, float, FloatArray]:
        """White values and drift, their derivatives, log det V and its derivatives."""
        n, p = self.F.shape
        Y = np.column_stack([self.y, self.F])
        white, moved = np.empty((n, 1 + p)), np.empty((len(q), n, 1 + p))
        log_det, log_det_slope = 0.0, np.zeros(len(q))
        diagonal = self.model.variance(q) + self.model.nugget(q) + self.noise
        for block in self._blocks:
            at = block[:, -1]
            pieces = self._conditionals(q, block, diagonal[block], Y[block])
            white[at], moved[:, at], logs, slopes = pieces
            log_det += logs
            log_det_slope += slopes
        return white, moved, log_det, log_det_slope

    def _evaluate(self, q: FloatArray) -> tuple[float, FloatArray]:
        white, moved, log_det, gradient = self._white(q)
        value, rest, Q, T = self._value(white, log_det)
        coefficients = np.linalg.solve(T, Q.T @ white[:, 0])
        gradient = gradient + 2.0 * (moved @ np.r_[1.0, -coefficients]) @ rest
        if self.reml:
            # The derivative of log det F'F is 2 tr((F'F)^-1 F' dF) = 2 tr(T^-1 Q' dF).
            gradient += 2.0 * np.einsum("kij,ij->k", moved[:, :, 1:], np.linalg.solve(T, Q.T).T)
        return value, gradient

    def _conditionals(
        self, q: FloatArray, block: Any, diagonal: FloatArray, Y: FloatArray
    ) -> tuple[FloatArray, FloatArray, float, FloatArray]:
        """White values of the last points, their derivatives, and those of log det.

        With g the last row of the inverse factor and a = V^-1 y: the white value is g.y, with the
        derivative (g.dV g) g.y / 2 - a.dV g, and that of log V_ii is g.dV g / 2.
        """
        width = block.shape[1]
        i, j = np.triu_indices(width, 1)

        def at(matrix: FloatArray) -> FloatArray:
            points = (self.X @ matrix).T[:, block]
            return np.sqrt(sum((x[:, i] - x[:, j]) ** 2 for x in points))

        values, derivatives = self.model.with_derivatives(q, at)
        V = np.empty((len(block), width, width))
        V[:, i, j] = V[:, j, i] = values
        V[:, range(width), range(width)] = diagonal
        right = np.zeros((*block.shape, 1 + Y.shape[-1]))
        right[:, -1, 0] = 1.0
        right[:, :, 1:] = Y
        solved = np.linalg.solve(V, right)
        last, a = solved[..., 0], solved[..., 1:]
        if not np.all(last[:, -1] > 0.0):
            raise np.linalg.LinAlgError("a conditional variance is not positive")
        g = last / np.sqrt(last[:, -1:])
        white = np.einsum("bi,bic->bc", g, Y)
        columns = a.transpose(2, 0, 1)
        # Sums over pairs of dV_ij times these are g.dV g and a.dV g, the diagonal apart.
        square = 2.0 * g[:, i] * g[:, j]
        crosses = [c[:, i] * g[:, j] + c[:, j] * g[:, i] for c in columns]
        on_square, on_cross = np.sum(g * g, axis=1), np.einsum("cbi,bi->bc", columns, g)
        moved, slopes = [], []
        for off, on in derivatives:
            by_g, by_a = on * on_square, on * on_cross
            if off is not None:
                by_g = by_g + np.einsum("bk,bk->b", off, square)
                by_a = by_a + np.stack([np.einsum("bk,bk->b", off, c) for c in crosses], axis=1)
            slopes.append(by_g.sum())
            moved.append(0.5 * by_g[:, None] * white - by_a)
        return white, np.array(moved), -float(np.log(last[:, -1]).sum()), np.array(slopes)
