r"""The verdict on a kernel f(|x - y|_1) of the l1 distance.

*Finite in every d.*  With the truncated distance :math:`(\tau - z)_+`, whose measure has the mass
:math:`C_d\,\tau` with a finite C_d (docs/l1.md has the proof),

.. math:: f(z) = f(\infty) + \int_0^\infty (\tau - z)_+\,df'(\tau), \qquad
          \|\mu\| \le |f(\infty)| + C_d \int_0^\infty \tau\,|df'(\tau)|.

*The companion.*  In an odd d, f(|x|_1) has the frequencies of the radial kernel g on R^d under the
directions of :class:`spectra.table.L1Table`,

.. math:: g(z) = \frac{z^d}{(1/2)_m} \Bigl(-\frac{1}{2z}\frac{d}{dz}\Bigr)^m \frac{f(z)}{z}

so that f(|x|_1) is positive definite exactly where g is (S. Cambanis, R. Keener and G.
Simons, On alpha-symmetric multivariate distributions, J. Multivariate Anal. 13, 1983, theorem 3.1),
and has finite mass where g has.  An even d takes that of d + 1, whose rows it may hold at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import sympy

from spectra.base.enclosures import Enclosure
from spectra.errors import (
    InfiniteMassError,
    NoRouteError,
    ParameterError,
    SpectraError,
    UndecidedError,
)
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel
from spectra.kernels.l1_kernel import L1Kernel
from spectra.measure.l1_masses import hat_mass
from spectra.singularities.definiteness import proved_in_l1
from spectra.singularities.places import Ending, LocalAnalysis
from spectra.verdict.composed.compositions import ComposedVerdict
from spectra.verdict.positive_definite import Definiteness
from spectra.verdict.status import Status
from spectra.verdict.verdict import Verdict

__all__ = ["L1Verdict", "companion_of", "hats_and_rest", "verdict_by_l1"]

_ONE = sympy.Integer(1)
# A remainder O(z^-A) at infinity that turns like exp(i z^p) has A > 2p where its gap begins beyond
# d = 4 (spectra.singularities.rules.unseen_wave).
_FAR_GAP = 4

Ask = Callable[[Kernel, int], Verdict]


@final
@dataclass(frozen=True, repr=False)
class L1Verdict(ComposedVerdict):
    """Whether the measure of a kernel of the l1 distance has finite mass, and why.

    Attributes
    ----------
    kernel : L1Kernel
    dim : int or None
        The number of columns; None where every number of them was asked for.
    status : Status
    reasons : tuple of str
        The deciding one first.
    line : Verdict
        On f in d = 1, which every row of other columns is held at.
    companion : Verdict or None
        On the radial kernel g in the odd dimension of ``dim``, or one more; None where there is
        none.  In no given number of columns it is that of 3.
    lower : Verdict or None
        Likewise in the odd dimension below an even one of at least 4.
    """

    kernel: L1Kernel
    dim: int | None
    status: Status
    reasons: tuple[str, ...]
    line: Verdict
    companion: Verdict | None
    lower: Verdict | None = None

    def _verdicts_as_data(self) -> dict[str, Any]:
        companion = None if self.companion is None else self.companion.as_dict()
        return {"line": self.line.as_dict(), "companion": companion}

    @cached_property
    def mass(self) -> Enclosure:
        """The total variation of the measure, where it is known.

        It is f(0) where the kernel is positive definite, and a multiple of that of (1 - |x|_1)_+,
        beside an atom, for a + b max(r - z, 0) (:mod:`spectra.measure.l1_masses`).

        Raises
        ------
        InfiniteMassError, UndecidedError
            Where the verdict is not FINITE.
        ParameterError
            Where it is for every number of columns.
        NoRouteError
            For any other kernel; the mass of its table is a bound.
        """
        self.refuse()
        if self.dim is None:
            raise ParameterError("A mass belongs to one dimension: ask existence(kernel, dim=...).")
        if self.dim == 1:
            return self.line.measure.mass
        if self.positive_definite.answer:
            at_zero = self.kernel.at_zero
            return Enclosure(at_zero, 2.0**-50 * at_zero)
        assert self.line.analysis is not None  # every radial kernel has one
        split = hats_and_rest(self.line.analysis)
        hats, rest = split or ([], self.kernel.profile)
        if len(hats) != 1 or any(p.support != sympy.oo or p.expr.has(Z) for p in rest.pieces):
            raise NoRouteError(
                f"The mass of {self.kernel} in d = {self.dim} is known where it is positive "
                "definite, or one truncated distance and a constant. A bound of it is the mass of "
                "its table, derive(kernel, dim).mass."
            )
        ((weight, radius),) = hats
        unit, size = hat_mass(self.dim), abs(weight * radius)
        total = size * unit.mid + sum(abs(float(p.expr)) for p in rest.pieces)
        return Enclosure(total, size * unit.rad + 2.0**-50 * total)

    @cached_property
    def positive_mass(self) -> Enclosure:
        """The mass of the positive Jordan part, (mass + f(0))/2; as :attr:`mass`."""
        return self._jordan(1.0)

    @cached_property
    def negative_mass(self) -> Enclosure:
        """The mass of the negative Jordan part, (mass - f(0))/2; as :attr:`mass`."""
        return self._jordan(-1.0)

    def _jordan(self, sign: float) -> Enclosure:
        mass, at_zero = self.mass, self.kernel.at_zero
        rounding = 2.0**-52 * (mass.mid + abs(at_zero))
        return Enclosure(0.5 * (mass.mid + sign * at_zero), 0.5 * mass.rad + rounding)

    def refuse(self) -> None:
        """Raise what says why there is no measure.

        Raises
        ------
        InfiniteMassError, UndecidedError
            Where the verdict is not FINITE.
        """
        if self.status is Status.FINITE:
            return
        error = InfiniteMassError if self.status is Status.INFINITE else UndecidedError
        way_out = "Make features to order for the range of the data (domain='data')."
        raise error(f"{self}", in_python=way_out, at_shell="")

    @cached_property
    def positive_definite(self) -> Definiteness:
        """Whether it is positive definite, for the rows of so many columns."""
        where = "for every number of columns" if self.dim is None else f"in d = {self.dim}"
        line = self.line.positive_definite
        if line.answer is False:
            return Definiteness(False, f"Not on one column alone: {line.reason}")
        if self.dim == 1:
            return line
        assert self.line.analysis is not None  # every radial kernel has one
        proof = proved_in_l1(self.kernel.profile, self.line.analysis)
        if proof is not None:
            answer = proof.largest >= (float("inf") if self.dim is None else self.dim)
            return Definiteness(answer, proof.reason, proof.largest)
        # Rows of fewer columns are rows of more: what fails in a lower dimension fails here.
        below = self.lower if self.lower is not None else self.companion
        asked = 3 if self.dim is None else self.dim
        for verdict, told in ((self.companion, True), (below, False)):
            if verdict is None or (told and self.dim is None):
                continue
            found = verdict.positive_definite
            reason = f"Its companion {verdict.kernel} on R^{verdict.dim}: {found.reason}"
            assert verdict.dim is not None  # a companion has one
            if found.answer is told and (told or verdict.dim <= asked):
                return Definiteness(told, reason)
        return Definiteness(None, f"No rule decides it {where}.")


def verdict_by_l1(kernel: L1Kernel, dim: int | None, ask: Ask) -> L1Verdict:
    """Decide by the verdicts that ``ask`` gives of radial kernels."""
    line = ask(kernel.profile, 1)
    companion = None if dim == 1 else _asked(line, 3 if dim is None else dim + 1 - dim % 2, ask)
    lower = _asked(line, dim - 1, ask) if dim is not None and dim % 2 == 0 and dim > 2 else None
    status, why = _decided(line, None if dim is None else companion, dim)
    # Those of f as a radial kernel speak of Euclidean distances in more dimensions.
    more = line.reasons if dim == 1 or line.status is Status.INFINITE else ()
    return L1Verdict(kernel, dim, status, (why, *more), line, companion, lower)


def _decided(line: Verdict, companion: Verdict | None, dim: int | None) -> tuple[Status, str]:
    if line.status is Status.INFINITE:
        return Status.INFINITE, (
            "Where all columns but one agree it is f on the line, whose mass is infinite, and a "
            "finite measure stays finite there."
        )
    if dim == 1:
        return line.status, "In one column it is the radial kernel."
    assert line.analysis is not None  # every radial kernel has one
    lack = _not_of_hats(line.analysis)
    if lack is None:
        return Status.FINITE, (
            "f is a mixture of truncated distances, the integral of tau |df'(tau)| is finite, and "
            "the measure of (1 - |x|_1)_+ is finite for every number of columns."
        )
    if companion is not None and companion.status is Status.FINITE:
        return Status.FINITE, (
            f"The radial kernel {companion.kernel} on R^{companion.dim}, of whose waves it is a "
            "mean, has finite mass."
        )
    return Status.UNDECIDED, (
        f"No theorem here covers it: {lack}, so that the integral of tau |df'(tau)| is not finite "
        "or not known, and no radial companion of finite mass was found. Neither is necessary."
    )


def _not_of_hats(analysis: LocalAnalysis) -> str | None:
    """Why the integral of tau |df'(tau)| may be infinite; None where it is finite."""
    origin, infinity = analysis.origin, analysis.infinity
    if analysis.gaps or origin.gaps or origin.limit is None:
        return "the behaviour of f is not known everywhere"
    if any(not s.exponent > 0 for s in origin.singularities):
        return "f comes to f(0) more slowly than any power"
    for radius, ending in analysis.radii:
        if (
            ending.gaps
            or not ending.regular_below > 1
            or not all(map(_bends, ending.singularities))
        ):
            return f"at z = {radius} the slope of f is not of bounded variation"
    if infinity.limit is None:
        return "f has no known limit at infinity"
    return _at_infinity(infinity)


def _bends(s: Any) -> bool:
    """Whether the slope of a term at a radius has bounded variation: a kink, or smoother."""
    return bool(s.exponent > 1 or (s.exponent == 1 and s.log_power == 0))


def _at_infinity(ending: Ending) -> str | None:
    for s in ending.singularities:
        least = 2 * max(s.degree, _ONE) if s.frequency != 0 else 0
        if not s.exponent > least:
            return f"at infinity f has the term {s.term}"
    if any(not (gap.narrow and gap.from_dim > _FAR_GAP) for gap in ending.gaps):
        return "f is not known well enough at infinity"
    return None if ending.singularities or ending.regular_below > 2 else "f may turn at infinity"


def _asked(line: Verdict, dim: int, ask: Ask) -> Verdict | None:
    """The verdict on the companion, where there is one that the analysis reads."""
    assert line.analysis is not None  # every radial kernel has one
    try:
        radial = companion_of(line.analysis, dim)
        return None if radial is None else ask(radial, dim)
    except SpectraError:  # too long a formula, or one without a limit at 0: no theorem from here
        return None


def companion_of(analysis: LocalAnalysis, dim: int) -> Kernel | None:
    """The radial kernel g on R^dim of the l1 kernel f, for an odd dim; None where it is none.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> from spectra.verdict import existence
    >>> f = existence(radial("(1 - z)**5", support=1), 1).analysis
    >>> g = companion_of(f, 3)      # Wendland's function: positive definite exactly for d <= 3
    >>> (g - radial("(1 - z)**4*(1 + 4*z)", support=1)).pieces
    ()
    """
    half = (dim - 1) // 2
    bends = [s for s in analysis.singularities if s.location not in (0, sympy.oo)]
    smooth = all(s.exponent >= half for s in bends)
    if not (smooth and analysis.profile.exprs and not analysis.profile.gaps):
        return None
    found = [_companion(expr, dim) for expr in analysis.profile.exprs]
    exprs = [expr for expr in found if expr is not None]
    if len(exprs) < len(found):
        return None
    return _kernel_of(analysis.profile.radii, exprs)


def _companion(expr: sympy.Expr, dim: int) -> sympy.Expr | None:
    for i in range(1, dim - 1, 2):
        expr = sympy.factor(expr - Z * expr.diff(Z) / i)
    return None if expr.has(sympy.Derivative, sympy.DiracDelta, sympy.Heaviside) else expr


def hats_and_rest(
    analysis: LocalAnalysis,
) -> tuple[list[tuple[float, float]], Kernel] | None:
    """The weights and radii of truncated distances, and what is left without the kinks of f.

    None for a kernel whose branches are not known, or that is not continuous.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> from spectra.verdict import existence
    >>> f = radial("exp(-z) + 3*Max(2 - z, 0)")
    >>> hats, rest = hats_and_rest(existence(f, 1).analysis)
    >>> hats, str(rest)
    ([(3.0, 2.0)], 'exp(-z)')
    """
    radii, exprs = analysis.profile.radii, analysis.profile.exprs
    if not exprs or analysis.profile.gaps:
        return None
    hats, left = [], list(exprs)
    for i, (r, a, b) in enumerate(zip(radii, exprs, exprs[1:], strict=False)):
        if sympy.simplify((a - b).subs(Z, r)) != 0:
            return None
        weight = sympy.simplify((b - a).diff(Z).subs(Z, r))
        if weight == 0:
            continue
        if not weight.is_real or not weight.is_finite:
            return None
        hats.append((float(weight), float(r)))
        left[: i + 1] = [expr - weight * (r - Z) for expr in left[: i + 1]]
    return hats, _kernel_of(radii, [sympy.simplify(expr) for expr in left])


def _kernel_of(radii: Sequence[sympy.Expr], exprs: Sequence[sympy.Expr]) -> Kernel:
    """The kernel of branches between radii, the last without end."""
    pieces = [
        Piece(radius, sympy.factor(inner - outer))
        for radius, inner, outer in zip(radii, exprs, exprs[1:], strict=False)
    ]
    pieces.append(Piece(sympy.oo, exprs[-1]))
    return Kernel(tuple(piece for piece in pieces if piece.expr != 0))
