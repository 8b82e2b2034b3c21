r"""Complex-to-real sketches of powers of the inner product.

With independent vectors :math:`\omega_i` whose entries are uniform on 1, -1, i and -i,

.. math:: \langle x, y \rangle^n = E\, z(x) \overline{z(y)}, \qquad
          z(x) = \prod_{i \le n} \langle \omega_i, x \rangle,

and the real and imaginary parts of z are two columns.  The vectors come in blocks: rows of a
Hadamard matrix with random signs, orthogonal in each block, which lessens the variance.

References
----------
J. Wacker, M. Kanagawa and M. Filippone, "Improved random features for dot product kernels", 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from scipy.linalg import hadamard

from spectra.base.arrays import FloatArray

__all__ = ["PowerSketch", "sketch_variance"]


@final
@dataclass(frozen=True, eq=False)
class PowerSketch:
    """``pairs`` complex features of <x, y>^n: their real parts, and then their imaginary parts.

    ``projections``: n complex arrays of shape (d, pairs).
    """

    projections: tuple[Any, ...]
    pairs: int

    @classmethod
    def draw(
        cls, dim: int, degree: int, pairs: int, rng: np.random.Generator, *, blocks: bool = True
    ) -> Self:
        """Draw the vectors of each factor, in orthogonal ``blocks`` or independently."""
        make = _orthogonal_projections if blocks else _projections
        return cls(tuple(make(dim, pairs, rng) for _ in range(degree)), pairs)

    def columns(self, X: FloatArray) -> FloatArray:
        """The features of rows, shape (rows, 2 pairs), for the mean over all pairs."""
        product = np.full((len(X), self.pairs), self.pairs**-0.5, dtype=complex)
        for projection in self.projections:
            product *= X @ projection
        return np.concatenate([product.real, product.imag], axis=1)


def sketch_variance(X: FloatArray, Y: FloatArray, degree: int) -> FloatArray:
    """Variance of the real part of z(x) conj(z(y)) for pairs of rows, with independent vectors."""
    t, squares = np.sum(X * Y, axis=1), np.sum(X**2 * Y**2, axis=1)
    size = np.sum(X**2, axis=1) * np.sum(Y**2, axis=1)
    both = (size + t**2 - squares) ** degree + (2.0 * t**2 - squares) ** degree
    return np.asarray(0.5 * both - t ** (2 * degree))


def _projections(dim: int, pairs: int, rng: np.random.Generator) -> Any:
    return 1j ** rng.integers(0, 4, size=(dim, pairs))


def _orthogonal_projections(dim: int, pairs: int, rng: np.random.Generator) -> Any:
    size = 1 << (dim - 1).bit_length()
    matrix, blocks = hadamard(size), []
    for start in range(0, pairs, size):
        # Without random columns, rows of fewer than ``size`` entries would be correlated.
        rows, columns = rng.permutation(size)[: pairs - start], rng.permutation(size)[:dim]
        blocks.append(matrix[np.ix_(rows, columns)] * _projections(1, dim, rng))
    return np.concatenate(blocks).T
