"""Results of the local analysis of a kernel: singularities, requirements on d, and gaps."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import sympy
from sympy import Expr

from spectra.formula.expansions.exact_numbers import is_zero
from spectra.formula.functions import is_supported

__all__ = [
    "UNKNOWN", "Gap", "LocalAnalysis", "PointAnalysis", "Requirement", "Singularity", "number_text",
]  # fmt: skip

_ZERO, _ONE = sympy.Integer(0), sympy.Integer(1)
#: The coefficient of a singular term that is not 0 and was not computed.
UNKNOWN = sympy.Symbol("c", nonzero=True)
#: Characters of a radius from which on it is printed with six digits.
_LONG = 24


@dataclass(frozen=True)
class Singularity:
    r"""A radius at which the kernel is not smooth, or one term of its expansion at infinity.

    At a radius R > 0 the kernel is a smooth function plus
    ``left`` * (R - z)_+^s log^q(1/(R - z)) + ``right`` * (z - R)_+^s log^q(1/(z - R)) + smaller.
    At 0 it has the term ``right`` * z^s log^q(1/z).  At infinity the term is
    ``right`` * z^(-s) log^q(z) cos(``frequency`` z^``degree`` + ``phase``).

    Attributes
    ----------
    location : sympy expression
        0, a radius, or ``oo``.
    exponent, log_power : sympy expressions
        s and q.
    left, right : sympy expressions
        The coefficients on the left and on the right of R.
    """

    location: Expr
    exponent: Expr
    left: Expr = _ZERO
    right: Expr = _ZERO
    log_power: Expr = _ZERO
    frequency: Expr = _ZERO
    phase: Expr = _ZERO
    degree: Expr = _ONE

    @property
    def coefficient(self) -> Expr:
        """The left coefficient, or the right one if the left one is 0."""
        return self.left if self.left != 0 else self.right

    @property
    def effective_log_power(self) -> Expr:
        """The power of log(w) in the spectrum: q - 1 if the leading terms of both sides cancel."""
        s = self.exponent
        if self.location is sympy.oo or self.location == 0 or not s.is_Integer:
            return self.log_power
        cancels = is_zero(self.right - (-1) ** int(s) * self.left)
        return self.log_power - 1 if cancels else self.log_power

    @property
    def term(self) -> str:
        """The term as text in z."""
        s, q, location = self.exponent, self.log_power, self.location
        if location is sympy.oo:
            argument = self.frequency * sympy.Symbol("z") ** self.degree + self.phase
            wave = f" cos({argument})" if self.frequency != 0 else ""
            return _format_term(self.right, "z", -s, "z", q) + wave
        if location == 0:
            return _format_term(self.right, "z", s, "1/z", q)
        place = number_text(location)
        sides = (self.left, f"({place} - z)"), (self.right, f"(z - {place})")
        return " and ".join(_format_term(c, base, s, f"1/{base}", q) for c, base in sides if c != 0)

    @property
    def name(self) -> str:
        """The term as a noun, and a jump by its size."""
        if self.location is sympy.oo or self.location == 0 or self.exponent or self.log_power:
            return f"the term {self.term}"
        return f"a jump of {sympy.Abs(self.right - self.left).evalf(6)}"

    def as_dict(self) -> dict[str, Any]:
        """The singularity as plain data, with exact numbers as text."""
        data = {f.name: str(_round_floats(getattr(self, f.name))) for f in fields(self)}
        return data | {"term": self.term}

    def __str__(self) -> str:
        location = "infinity" if self.location is sympy.oo else f"z = {number_text(self.location)}"
        return f"{self.term} at {location}"

    def __repr__(self) -> str:
        return f"Singularity({self})"


def _format_term(c: Expr, base: str, exponent: Expr, log_of: str, log_power: Expr) -> str:
    log = f" log({log_of}){_format_exponent(log_power)}" if log_power != 0 else ""
    return f"{_format_coefficient(c)}{base}{_format_exponent(exponent)}{log}"


def number_text(c: Expr) -> str:
    """An exact number as text; six digits if it is long, or a formula cannot contain it."""
    return str(_round_floats(c)) if len(str(c)) < _LONG else str(c.evalf(6))


def _round_floats(c: Expr) -> Expr:
    """Round to six digits if the number contains floats, or functions that a formula cannot."""
    is_exact = all(is_supported(node) for node in sympy.preorder_traversal(c))
    return c if is_exact or c.is_infinite else c.evalf(6)


def _format_exponent(exponent: Expr) -> str:
    if exponent == 1:
        return ""
    needs_no_brackets = exponent.is_Integer and not exponent.is_negative
    return f"^{exponent}" if needs_no_brackets else f"^({exponent})"


def _format_coefficient(c: Expr) -> str:
    c = _round_floats(c)
    if c == 1:
        return ""
    if c == -1:
        return "-"
    return f"({c})*" if c.is_Add else f"{c}*"


@dataclass(frozen=True)
class Gap:
    """A fact that could not be proved, so that finite mass is not proved for d >= ``from_dim``.

    If ``improvable``, an expansion with more terms increases ``from_dim`` or closes the gap.
    ``location`` is None if the gap belongs to no single point.
    """

    reason: str
    from_dim: Expr = _ONE
    location: Expr | None = None
    improvable: bool = False


@dataclass(frozen=True)
class Requirement:
    """A proved necessary condition: d < ``dim_bound``, or d <= ``dim_bound`` if ``inclusive``.

    A bound of 0 excludes every dimension.  ``singularity`` is the term that implies the condition.
    """

    dim_bound: Expr
    inclusive: bool
    reason: str
    singularity: Singularity | None = None

    @property
    def largest_dim(self) -> Expr:
        """The largest integer d that meets the requirement (0 for none)."""
        if self.dim_bound is sympy.oo:
            return sympy.oo
        dim = sympy.floor(self.dim_bound) if self.inclusive else sympy.ceiling(self.dim_bound) - 1
        return max(dim, _ZERO)


@dataclass(frozen=True)
class PointAnalysis:
    """The analysis at one point: zero, a radius, or infinity.

    ``limit`` is the limit of the kernel there, if it is known.  If the analysis at zero has no
    requirement, gap or singularity, no singular term at 0 has an exponent below ``regular_below``.
    """

    requirements: tuple[Requirement, ...] = ()
    gaps: tuple[Gap, ...] = ()
    singularities: tuple[Singularity, ...] = ()
    limit: Expr | None = None
    regular_below: Expr = sympy.oo


@dataclass(frozen=True)
class LocalAnalysis:
    """The analysis of a kernel at zero, at each radius and at infinity.

    ``radii`` has pairs of a radius and the analysis there, in ascending order.  ``exprs[i]`` is the
    formula up to the i-th radius, the last one beyond all radii; ``exprs`` is empty if a formula is
    unknown or the radii are infinitely many.  ``gaps`` are those that belong to no single point.
    """

    exprs: tuple[Expr, ...]
    origin: PointAnalysis
    radii: tuple[tuple[Expr, PointAnalysis], ...]
    infinity: PointAnalysis
    gaps: tuple[Gap, ...] = ()

    @property
    def points(self) -> tuple[PointAnalysis, ...]:
        """The analyses from zero to infinity, preceded by one for the gaps without a location."""
        general = (PointAnalysis(gaps=self.gaps),) if self.gaps else ()
        return (*general, self.origin, *(point for _, point in self.radii), self.infinity)

    @property
    def singularities(self) -> tuple[Singularity, ...]:
        """All singularities, from zero to infinity."""
        return tuple(s for point in self.points for s in point.singularities)
