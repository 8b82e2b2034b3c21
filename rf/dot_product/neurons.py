r"""Features of arc-cosine kernels and of the neural tangent kernel from random neurons.

For unit rows, u = <x, y> and a uniform unit vector s, the arc-cosine kernels of order 0 and 1 are

.. math:: \kappa_0 = 1 - \tfrac{\arccos u}{\pi}
            &= \tfrac12 + \tfrac12 E\,\mathrm{sgn}(x \cdot s)\,\mathrm{sgn}(y \cdot s), \\
          \kappa_1 = \tfrac1\pi \bigl(u\,(\pi - \arccos u) + \sqrt{1 - u^2}\bigr)
            &= \tfrac u2 + \tfrac d2 E|x \cdot s||y \cdot s|.

Monomials give the constant and the linear part exactly.  For :math:`u\,\kappa_0` an independent
unit vector t is used, :math:`u = d\,E(x \cdot t)(y \cdot t)`.  So all kernels
:math:`a\kappa_0 + b\kappa_1 + c\,u\kappa_0 + e_0 + e_1 u` have unbiased features.

References
----------
Y. Cho and L. K. Saul, "Kernel methods for deep learning", NIPS 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
import sympy
from numpy.random import Generator
from numpy.typing import NDArray

from rf.dot_product.candidate import Candidate, SymmetricMap, evaluate_monomials, not_applicable
from rf.dot_product.problem import Problem
from rf.feature_maps.monomials import MonomialMap, count_monomials
from rf.sampling.coupling import orthogonal
from spectra.base.arrays import FloatArray
from spectra.designs import wave_moment
from spectra.formula.parsing import U

if TYPE_CHECKING:
    from spectra.kernels.kernel import Kernel

__all__ = ["NeuronMap", "arc_cosine_weights", "neuron_candidates"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class NeuronMap(SymmetricMap):
    """Columns sgn(x.s), |x.s| - E|x.s| and sgn(x.s) (x.t) for directions s, t; then monomials.

    ``directions``, ``second_directions`` (n, d): the vectors s and t; ``scales``: factors of the
    three kinds of columns; a kind with factor 0 has no columns.
    """

    directions: FloatArray
    second_directions: FloatArray
    scales: FloatArray
    monomials: MonomialMap
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        step, ramp, product = self.scales.tolist()
        projections = np.asarray(X @ self.directions.T.astype(X.dtype))
        columns = []
        if step:
            columns.append(step * np.sign(projections))
        if ramp:
            columns.append(ramp * (np.abs(projections) - wave_moment(X.shape[1], 1)))
        if product:
            second = np.asarray(X @ self.second_directions.T.astype(X.dtype))
            columns.append(product * np.sign(projections) * second)
        monomials = evaluate_monomials(self.monomials, X)
        return np.concatenate([*columns, monomials], axis=1).astype(X.dtype, copy=False)


def arc_cosine_weights(kernel: Kernel) -> tuple[float, float, float, float, float] | None:
    """(a, b, c, e_0, e_1) if k = a kappa_0 + b kappa_1 + c u kappa_0 + e_0 + e_1 u, else None."""
    if kernel.zonal is None:
        return None
    # These kernels are polynomials in acos(u), sqrt(1 - u^2) and u.
    angle, root = sympy.symbols("angle root", real=True)
    formula = kernel.zonal.replace(sympy.asin(U), sympy.pi / 2 - sympy.acos(U))
    formula = formula.xreplace({sympy.acos(U): angle, sympy.sqrt(1 - U**2): root})
    if not formula.is_polynomial(angle, root, U):
        return None
    terms = sympy.Poly(formula, angle, root, U).as_dict()
    allowed = {(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 0)}
    if not set(terms) <= allowed or any(not c.is_number for c in terms.values()):
        return None

    def coefficient(*powers: int) -> sympy.Expr:
        return terms.get(powers, sympy.Integer(0))

    a, b = -sympy.pi * coefficient(1, 0, 0), sympy.pi * coefficient(0, 1, 0)
    c = -sympy.pi * coefficient(1, 0, 1) - b
    constant, slope = coefficient(0, 0, 0) - a, coefficient(0, 0, 1) - b - c
    a, b, c, constant, slope = (sympy.simplify(x) for x in (a, b, c, constant, slope))
    if a == b == c == 0:
        return None  # a polynomial of degree 1
    return float(a), float(b), float(c), float(constant), float(slope)


def neuron_candidates(problem: Problem) -> list[Candidate]:
    """Steps and ramps for a kernel of the arc-cosine family, or why they do not apply.

    A step is sgn(x.s), a ramp max(x.s, 0) = (x.s + |x.s|)/2.
    """
    dim, name = problem.dim, "steps and ramps"
    weights = arc_cosine_weights(problem.kernel)
    if weights is None or dim < 2:
        return not_applicable(name, "the kernel is not of the arc-cosine family")
    a, b, c, constant, slope = weights
    factors = np.array([a / 2.0, b * dim / 2.0, c / 2.0])  # of E sgn sgn, E|x.s||y.s|, u E sgn sgn
    mean = wave_moment(dim, 1)  # E|x.s|
    powers = [constant + a / 2.0 + b * dim / 2.0 * mean**2, slope + b / 2.0 + c / 2.0]
    used = np.flatnonzero(factors)
    n = (problem.n_components - count_monomials(dim, powers)) // used.size  # directions
    if n < 1:
        return not_applicable(name, f"needs more than {problem.n_components} columns")
    scales = np.sqrt(np.abs(factors) / n)
    scales[2] *= np.sqrt(dim)  # E (x.t)(y.t) = u / d
    monomials = MonomialMap.of(dim, powers)
    signature = np.concatenate([np.repeat(np.sign(factors[used]), n), monomials.signature])
    draw = partial(_draw, n, scales, monomials, signature)
    detail = f"{n} orthogonal directions, constant and linear part exact, no bias"
    return [Candidate(name, signature.size, detail, draw, 2.0, is_unbiased=True)]


def _draw(
    n: int, scales: FloatArray, monomials: MonomialMap, signature: FloatArray, rng: Generator
) -> NeuronMap:
    dim = monomials.dim
    directions, second_directions = orthogonal(n, dim, rng), orthogonal(n, dim, rng)
    return NeuronMap(directions, second_directions, scales, monomials, signature)
