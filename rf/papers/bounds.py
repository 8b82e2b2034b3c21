r"""The uniform bounds of the papers: how many columns make every entry accurate to eps?

Liu et al. (Proposition 3.1) and He et al. (Proposition 6) follow Sutherland and Schneider (UAI
2015): with probability at least 1 - delta, the largest error over a ball is at most eps.  Neither
holds as stated, see :data:`BOUNDS`.  :func:`rf.variance.bounds.n_components_for` has bounds over
the pairs of N rows, which need far fewer columns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rf.variance import VarianceModel
from spectra.base.numbers import positive_number
from spectra.errors import ParameterError

if TYPE_CHECKING:
    from spectra.table import SpectralTable

__all__ = ["BOUNDS", "uniform_columns"]

#: "liu": Proposition 3.1 of Liu et al., which ignores the masses and has the radius in place of
#: the diameter; "he": Proposition 6 of He et al., whose Lipschitz step (of Rahimi and Recht) takes
#: the random point of largest slope as fixed; "repaired": twice the slope, the exact variance.
BOUNDS = ("liu", "he", "repaired")

# Points of the grid of distances on which the variance is maximized.
_GRID = 512


def uniform_columns(
    table: SpectralTable, eps: float, delta: float, *, diameter: float, bound: str = "repaired"
) -> int:
    r"""Number of columns that a uniform bound asks for, on a set of the given diameter.

    With s frequencies of each part, l = diameter, the masses m and second moments sigma^2 of the
    parts, M = sum m, :math:`\beta_d = ((d/2)^{-d/(d+2)} + (d/2)^{2/(d+2)}) 2^{(6d+2)/(d+2)}`:

    * liu: :math:`s = \frac{32 (d+2)}{\epsilon^2} \ln \frac{66 (\sigma l/\epsilon)^2}{\delta}`, for
      a ball of radius R = l/2 and sigma^2 the sum over the parts;
    * he: :math:`s = \frac{4 (d+2) M^2}{\epsilon^2} (\ln\frac{\beta_d}{\delta} + \frac{2d}{d+2}
      \ln\frac{\alpha l}{\epsilon})`, :math:`\alpha^2 = \sum m^2 \sum \sigma^2`;
    * repaired: he with :math:`\alpha = 2 \sum m \sigma` and, in place of M^2, the smaller of M^2
      and max_z v(z) + M eps / 3, v the exact variance of one frequency of each part.

    Parameters
    ----------
    table : SpectralTable
        A radial table.
    eps : float
        Largest absolute error.
    delta : float
        Probability of failure, below 1.
    diameter : float
        Largest distance of two rows.
    bound : str
        One of :data:`BOUNDS`.

    Returns
    -------
    int
        2 columns for each of s frequencies of each part; independent frequencies.

    Raises
    ------
    ParameterError
        For an unknown bound, a table that is not radial, or an infinite second moment.

    References
    ----------
    Liu, Huang, Chen, Suykens, AISTATS 2021; He, He, Liu, Huang, 2022; Sutherland and Schneider, "On
    the error of random Fourier features", UAI 2015.

    Examples
    --------
    >>> import spectra as sp
    >>> table = sp.derive("exp(-z**2/2) - exp(-z**2/200)", 16)
    >>> [round(uniform_columns(table, 0.1, 0.05, diameter=4.0, bound=b), -4) for b in BOUNDS]
    [4000000, 1930000, 290000]
    """
    if bound not in BOUNDS:
        raise ParameterError(f"There is no bound {bound!r}: choose one of {', '.join(BOUNDS)}.")
    groups = [group for part in table.parts for group in part.groups]
    if not table.is_radial or not all(group.mean_square_is_finite for group in groups):
        raise ParameterError(
            f"A uniform bound needs a radial kernel with a finite mean square of the frequencies, "
            f"unlike {table.formula}. Use n_components_for, which bounds the error on N rows."
        )
    eps = positive_number(eps, "eps", why=", the error")
    delta = positive_number(delta, "delta", why=" below 1, the probability of failure")
    length = positive_number(diameter, "diameter", why=", the largest distance")
    dim, parts = table.dim, table.parts
    masses = np.array([float(p.mass) for p in parts])
    squares = np.array([_mean_square(p.law) for p in parts])
    if bound == "liu":
        logarithm = math.log(66.0 * squares.sum() * (length / eps) ** 2 / delta)
        needed = 32.0 * (dim + 2) / eps**2 * logarithm
    else:
        h, total = dim / 2, float(masses.sum())
        beta = (h ** (-dim / (dim + 2)) + h ** (2 / (dim + 2))) * 2 ** ((6 * dim + 2) / (dim + 2))
        slope, size = math.sqrt(float(np.sum(masses**2) * squares.sum())), total**2
        if bound == "repaired":
            slope = 2.0 * float(masses @ np.sqrt(squares))
            distances = np.linspace(0.0, length, _GRID)
            variance = VarianceModel(table, distances).part_variance.sum(axis=0).max()
            size = min(size, float(variance) + total * eps / 3.0)
        power = 2.0 * dim / (dim + 2)
        logarithm = math.log(beta / delta) + power * math.log(slope * length / eps)
        needed = 4.0 * (dim + 2) * size / eps**2 * logarithm
    return 2 * len(parts) * math.ceil(max(needed, 1.0))


def _mean_square(law: Any) -> float:
    radii, weights, _ = law.nodes()
    return float(weights @ radii**2)
