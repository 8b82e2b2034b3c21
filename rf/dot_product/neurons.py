r"""Features of arc-cosine kernels and of the neural tangent kernel by their own neurons.

With a uniform direction s, :math:`\kappa_0 = \tfrac12 + \tfrac12 E\,\mathrm{sgn}(x \cdot s)\,
\mathrm{sgn}(y \cdot s)` and :math:`\kappa_1 = \tfrac u2 + \tfrac d2 E|x \cdot s||y \cdot s|`: the
parts of degree 0 and 1 of a step and a ramp are exact, and so is the mean of the absolute
value.  :math:`u\,\kappa_0` takes a second direction t, :math:`E\,d\,(x \cdot t)(y \cdot t) = u`.
Every kernel :math:`a\kappa_0 + b\kappa_1 + c\,u\kappa_0 + e_0 + e_1 u` has such features, without
bias and on the whole sphere.

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
from numpy.typing import NDArray

from rf.dot_product.candidate import Candidate, DrawnMap, monomial_part, unavailable
from rf.dot_product.problem import Problem
from rf.feature_maps.monomials import MonomialMap, monomial_columns
from rf.sampling.coupling import orthogonal
from spectra.base.arrays import FloatArray
from spectra.designs import wave_moment
from spectra.formula.reader.parsing import U

if TYPE_CHECKING:
    from spectra.kernels.kernel import Kernel

__all__ = ["NeuronMap", "arc_cosine_weights", "neuron_candidates"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class NeuronMap(DrawnMap):
    """Signs, absolute values less their mean, and signs times a second projection; monomials.

    ``directions``, ``seconds`` (n, d); ``scales``: of the three kinds of columns; 0 for a kind that
    is not used.
    """

    directions: FloatArray
    seconds: FloatArray
    scales: tuple[float, float, float]
    monomials: MonomialMap
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        step, ramp, product = self.scales
        t = np.asarray(X @ self.directions.T.astype(X.dtype))
        columns = []
        if step:
            columns.append(step * np.sign(t))
        if ramp:
            mean = wave_moment(X.shape[1], 1)
            columns.append(ramp * (np.abs(t) - mean))
        if product:
            columns.append(product * np.sign(t) * np.asarray(X @ self.seconds.T.astype(X.dtype)))
        monomials = monomial_part(self.monomials, X)
        return np.concatenate([*columns, monomials], axis=1).astype(X.dtype, copy=False)


def arc_cosine_weights(kernel: Kernel) -> tuple[float, float, float, float, float] | None:
    """(a, b, c, e_0, e_1) with k = a kappa_0 + b kappa_1 + c u kappa_0 + e_0 + e_1 u, or None.

    Decided exactly on the formula, as a polynomial in acos(u), sqrt(1 - u^2) and u.
    """
    if kernel.zonal is None:
        return None
    angle, root = sympy.symbols("angle root", real=True)
    formula = kernel.zonal.replace(sympy.asin(U), sympy.pi / 2 - sympy.acos(U))
    formula = formula.xreplace({sympy.acos(U): angle, sympy.sqrt(1 - U**2): root})
    if not formula.is_polynomial(angle, root, U):
        return None
    terms = sympy.Poly(formula, angle, root, U).as_dict()
    known = {(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 0)}
    if not set(terms) <= known or any(not c.is_number for c in terms.values()):
        return None

    def of(*powers: int) -> sympy.Expr:
        return terms.get(powers, sympy.Integer(0))

    a, b = -sympy.pi * of(1, 0, 0), sympy.pi * of(0, 1, 0)
    c = -sympy.pi * of(1, 0, 1) - b
    rest = of(0, 0, 0) - a, of(0, 0, 1) - b - c
    exact = [sympy.simplify(x) for x in (a, b, c, *rest)]
    if exact[0] == exact[1] == exact[2] == 0:
        return None  # nothing here needs a neuron
    first, second, third, constant, slope = (float(x) for x in exact)
    return first, second, third, constant, slope


def neuron_candidates(problem: Problem) -> list[Candidate]:
    """Features made of steps and ramps, or why there are none."""
    dim, name = problem.dim, "steps and ramps"
    found = arc_cosine_weights(problem.kernel)
    if found is None or dim < 2:
        return unavailable(name, "the kernel is not of the arc-cosine family")
    a, b, c, constant, slope = found
    kinds = np.array([a / 2.0, b * dim / 2.0, c / 2.0])
    mean = wave_moment(dim, 1)
    powers = [constant + a / 2.0 + b * dim / 2.0 * mean**2, slope + b / 2.0 + c / 2.0]
    used = np.flatnonzero(kinds)
    n = (problem.n_components - monomial_columns(dim, powers)) // used.size
    if n < 1:
        return unavailable(name, f"needs more than {problem.n_components} columns")
    scales = np.sqrt(np.abs(kinds) / n)
    scales[2] *= np.sqrt(dim)  # E (x.t)(y.t) = u / d
    monomials = MonomialMap.of(dim, powers)
    signature = np.concatenate([np.repeat(np.sign(kinds[used]), n), monomials.signature])
    step, ramp, product = scales.tolist()
    draw = partial(_draw, n, (step, ramp, product), monomials, signature)
    detail = f"{n} orthogonal directions, constant and linear part exact, no bias"
    return [Candidate(name, signature.size, detail, draw, everywhere=True)]


def _draw(
    n: int,
    scales: tuple[float, float, float],
    monomials: MonomialMap,
    signature: FloatArray,
    rng: np.random.Generator,
) -> NeuronMap:
    dim = monomials.dim
    directions, seconds = orthogonal(n, dim, rng), orthogonal(n, dim, rng)
    return NeuronMap(directions, seconds, scales, monomials, signature)
