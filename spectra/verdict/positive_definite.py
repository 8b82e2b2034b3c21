"""Is the kernel positive definite on R^d: proved, refuted, or neither?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import sympy
from mpmath import mp

from spectra.errors import AccuracyError, FormulaError, NoRouteError, SpectraError, UndecidedError
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import sign
from spectra.formula.expansions.expansion import compare
from spectra.formula.reader.parsing import Z
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.kernel import Kernel
from spectra.singularities.definiteness import Proof, proved_on_space
from spectra.singularities.places import LocalAnalysis, Singularity
from spectra.verdict.status import D, Status

__all__ = ["Definiteness", "definiteness"]

_PROBES = 60
#: The largest distance probed where the kernel has no edge.
_REACH = 1e3
_DIGITS = 30
#: A claim of excess is repeated with these: cancellation that deceives 30 digits does not them.
_CHECKING_DIGITS = 120
#: An excess below this is left to other rules.
_MARGIN = 1e-12


@dataclass(frozen=True, repr=False)
class Definiteness:
    """Whether a kernel is positive definite on R^d.

    Attributes
    ----------
    answer : bool or None
        True (proved), False (refuted), or None (neither).  Where no dimension was given, the
        question is whether it is positive definite for every d.
    reason : str
    max_dim : float or None
        The largest d for which it is positive definite: ``math.inf`` for every d, 0 for none, and
        None where that is not known.
    """

    answer: bool | None
    reason: str
    max_dim: float | None = None

    def __repr__(self) -> str:
        answer = {True: "proved", False: "refuted", None: "not settled"}[self.answer]
        return f"Definiteness: {answer}. {self.reason}"

    def __bool__(self) -> NoReturn:
        raise SpectraError(
            "Definiteness has three answers, and as a truth value one that is not settled would "
            "be read as yes or no. Compare its .answer with True, False or None."
        )


def definiteness(verdict: Any) -> Definiteness:
    """Decide positive definiteness from the verdict's kernel in its dimension."""
    kernel, dim = verdict.kernel, verdict.dim
    if isinstance(kernel, AsymmetricKernel):
        return _of_asymmetric(kernel, dim)
    if not isinstance(kernel, Kernel):
        return Definiteness(None, "A callable shows no formula.")
    analysis: LocalAnalysis = verdict.analysis  # every radial kernel has one
    if verdict.condition == sympy.false:
        return Definiteness(
            False,
            "A continuous positive definite kernel has finite mass; this one has it for no d.",
            0,
        )
    proof = proved_on_space(kernel, analysis)
    if proof is not None:
        proof = _completed(proof, verdict.condition, analysis)
        if proof.exact or (dim is not None and dim <= proof.largest):
            answer = proof.largest == math.inf if dim is None else dim <= proof.largest
            return Definiteness(answer, proof.reason, proof.largest if proof.exact else None)
    else:
        nowhere = _refuted_everywhere(kernel, analysis)
        if nowhere is not None:
            return Definiteness(False, nowhere, 0)
    if verdict.status is Status.INFINITE:
        return Definiteness(
            False,
            "A continuous positive definite kernel has the finite mass k(0), this one has not.",
        )
    if dim is None:
        bounded = verdict.condition not in (None, sympy.true)
        refuted = "It is not for every d, because its mass is not finite for every d."
        return Definiteness(False, refuted) if bounded else Definiteness(None, _NO_RULE)
    tail = _sign_of_tail(analysis, dim)
    if tail is not None:
        return Definiteness(False, tail)
    if verdict.status is Status.UNDECIDED:
        return Definiteness(None, "No rule decides it, and its mass is not known to be finite.")
    return _by_masses(verdict)


def _of_asymmetric(kernel: AsymmetricKernel, dim: int | None) -> Definiteness:
    """A real positive definite kernel is even: one difference D with K(D) != K(-D) refutes it."""
    d = dim or kernel.dim or 1  # single numbers stand for every coordinate, also in one dimension
    largest = max((abs(v) for t in kernel.terms for v in t.offset), default=0.0)
    for length in (0.3, 1.0, 3.0, largest + 0.5):
        for line in (np.ones(d) / np.sqrt(d), np.eye(d)[0]):
            there, back = kernel([length * line, -length * line])
            if abs(there - back) > _ASYMMETRY * (abs(there) + abs(back)):
                text = f"It is not even: K(D) = {there:.6g} and K(-D) = {back:.6g} at one D."
                return Definiteness(False, text, 0)
    return Definiteness(None, "No rule decides it for sums of shifted and tilted kernels.")


#: A relative difference of K(D) and K(-D) above this is none of rounding.
_ASYMMETRY = 1e-6
_NO_RULE = "No rule that holds in every dimension decides it."


def _completed(proof: Proof, condition: sympy.Basic | None, analysis: LocalAnalysis) -> Proof:
    """The proof with what excludes the next dimension, where its own theorem does not say so."""
    if proof.exact or proof.largest == math.inf:
        return replace(proof, exact=True)
    following = int(proof.largest) + 1
    if condition is not None and condition.subs(D, following) == sympy.false:
        text = f" In d = {following} its mass is infinite."
    elif (tail := _sign_of_tail(analysis, following)) is not None:
        text = f" In d = {following} it is not: {tail}"
    else:
        return proof
    return replace(proof, reason=proof.reason + text, exact=True)


def _refuted_everywhere(kernel: Kernel, analysis: LocalAnalysis) -> str | None:
    """Why a kernel is positive definite in no dimension at all."""
    exceeded = _exceeds_its_value_at_zero(kernel, analysis.origin.limit)
    if exceeded is not None:
        return exceeded
    on_the_line = _sign_of_tail(analysis, 1)
    return None if on_the_line is None else f"Even for d = 1 it is not. {on_the_line}"


def _exceeds_its_value_at_zero(kernel: Kernel, limit: sympy.Expr | None) -> str | None:
    """A point where |k(z)| > k(0), which positive definiteness excludes."""
    if not kernel.pieces or limit is None:
        return None
    functions = [(float(p.support), mpmath_function(p.expr, Z)) for p in kernel.pieces]
    reach = kernel.support if kernel.support != math.inf else _REACH

    def excess(z: mp.mpf, digits: int) -> tuple[mp.mpf, mp.mpf]:
        with mp.workdps(digits):
            top = mp.mpf(str(limit.evalf(digits)))
            return abs(mp.fsum(f(z) for s, f in functions if z <= s)), top

    for i in range(1, _PROBES):
        fraction = mp.mpf(i) / _PROBES
        for z in (fraction * reach, fraction**8 * reach):
            try:
                value, top = excess(z, _DIGITS)
                if value <= top + _MARGIN * (1 + abs(top)):
                    continue
                # Formulas such as (sin(z) - z cos(z))/z^3 lose most digits at small z.
                again, top = excess(z, _CHECKING_DIGITS)
            except (AccuracyError, FormulaError):
                return None
            if again > top + _MARGIN * (1 + abs(top)):
                more = mp.nstr(again - top, 3)
                return f"|k({mp.nstr(z, 6)})| exceeds k(0) = {mp.nstr(top, 6)} by {more}."
    return None


def _sign_of_tail(analysis: LocalAnalysis, dim: int) -> str | None:
    """A spectrum that is negative at large w: it oscillates, or its power tail is negative."""
    if any(p.gaps for p in analysis.places):
        return None
    if not analysis.profile.exprs:  # its radii have no end, and are not listed
        return None
    if any(s.degree > 1 for s in analysis.infinity.singularities):  # chirps reach every frequency
        return None
    rough = [s for _, e in analysis.radii for s in e.singularities]
    origin = analysis.origin.singularities
    if any(s.log_power != 0 for s in (*rough, *origin)):
        return None
    edge: Singularity | None = None
    for s in rough:
        if edge is None or sign(s.exponent - edge.exponent) < 0:
            edge = s
    source = origin[0] if origin else None
    if edge is not None:
        lead = edge.exponent - sympy.Rational(dim - 1, 2)
        rival = source.exponent if source is not None else analysis.origin.regular_below
        if compare((lead, _NIL), (rival, _NIL)) < 0:
            return f"At large w its spectrum oscillates in sign, because of {edge}."
        if compare((lead, _NIL), (rival, _NIL)) == 0:
            return None
    if source is None:
        return None
    s = source.exponent
    if sign(source.coefficient) * sign(1 / sympy.gamma(-s / 2)) < 0:
        return f"At large w its spectrum is negative, because of {source}."
    return None


_NIL = sympy.Integer(0)


def _by_masses(verdict: Any) -> Definiteness:
    """A negative part that is larger than its error refutes; none found proves nothing."""
    try:
        negative = verdict.measure.negative_mass
    except (NoRouteError, UndecidedError, AccuracyError) as error:
        return Definiteness(None, f"No rule decides it, and its masses are not known: {error}")
    if negative.mid > negative.rad:
        text = f"Its spectrum has the negative mass {negative.mid:.6g} in d = {verdict.dim}."
        return Definiteness(False, text, 0 if verdict.dim == 1 else None)
    return Definiteness(None, "No negative part of its spectrum was found, which is no proof.")
