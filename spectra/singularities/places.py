"""What the local analysis of a kernel finds: singularities, requirements on d, and gaps."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import sympy

from spectra.formula.expansions.exact_numbers import is_zero

__all__ = ["UNKNOWN", "Ending", "Gap", "LocalAnalysis", "Requirement", "Singularity"]

_NIL = sympy.Integer(0)
_EVERY = sympy.Integer(1)
#: The coefficient of a term that is there, of a size that was not asked for.
UNKNOWN = sympy.Symbol("c", nonzero=True)


@dataclass(frozen=True)
class Singularity:
    r"""One place where the kernel is not smooth, or one term of its behaviour at infinity.

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
        The coefficients of the two sides.
    """

    location: sympy.Expr
    exponent: sympy.Expr
    left: sympy.Expr = _NIL
    right: sympy.Expr = _NIL
    log_power: sympy.Expr = _NIL
    frequency: sympy.Expr = _NIL
    phase: sympy.Expr = _NIL
    degree: sympy.Expr = _EVERY

    @property
    def coefficient(self) -> sympy.Expr:
        """The coefficient of the singular side (of the left one where both are)."""
        return self.left if self.left != 0 else self.right

    @property
    def effective_log_power(self) -> sympy.Expr:
        """The power of log(w) in the spectrum: one less where the two sides cancel its lead."""
        s = self.exponent
        if self.location is sympy.oo or self.location == 0 or not s.is_Integer:
            return self.log_power
        cancels = is_zero(self.right - (-1) ** int(s) * self.left)
        return self.log_power - 1 if cancels else self.log_power

    @property
    def term(self) -> str:
        """The term as text in z."""
        s, q, at = self.exponent, self.log_power, self.location
        if at is sympy.oo:
            turn = self.frequency * _Z_TEXT**self.degree + self.phase
            wave = f" cos({turn})" if self.frequency != 0 else ""
            return _term_text(self.right, "z", -s, "z", q) + wave
        if at == 0:
            return _term_text(self.right, "z", s, "1/z", q)
        sides = (self.left, f"({at} - z)"), (self.right, f"(z - {at})")
        return " and ".join(_term_text(c, base, s, f"1/{base}", q) for c, base in sides if c != 0)

    def as_dict(self) -> dict[str, Any]:
        """The singularity as plain data; exact numbers are text."""
        data: dict[str, Any] = {f.name: str(_shown(getattr(self, f.name))) for f in fields(self)}
        return data | {"term": self.term}

    def __str__(self) -> str:
        place = "infinity" if self.location is sympy.oo else f"z = {self.location}"
        return f"{self.term} at {place}"

    def __repr__(self) -> str:
        return f"Singularity({self})"


_Z_TEXT = sympy.Symbol("z")


def _term_text(
    c: sympy.Expr, base: str, exponent: sympy.Expr, log_of: str, log_power: sympy.Expr
) -> str:
    log = f" log({log_of}){_power(log_power)}" if log_power != 0 else ""
    return f"{_factor(c)}{base}{_power(exponent)}{log}"


def _shown(c: sympy.Expr) -> sympy.Expr:
    """A number of many digits in a few."""
    return c.evalf(6) if c.has(sympy.Float) else c


def _power(exponent: sympy.Expr) -> str:
    """An exponent as text after its base."""
    if exponent == 1:
        return ""
    bare = exponent.is_Integer and not exponent.is_negative
    return f"^{exponent}" if bare else f"^({exponent})"


def _factor(c: sympy.Expr) -> str:
    """A coefficient as text before a term."""
    c = _shown(c)
    if c == 1:
        return ""
    if c == -1:
        return "-"
    return f"({c})*" if c.is_Add else f"{c}*"


@dataclass(frozen=True)
class Gap:
    """What could not be shown: finite mass is unproved for every d >= ``from_dim``.

    ``narrow`` says that more terms of the expansion would move it to a larger d.
    """

    reason: str
    from_dim: sympy.Expr = _EVERY
    location: sympy.Expr | None = None
    narrow: bool = False


@dataclass(frozen=True)
class Requirement:
    """A certain necessary condition: d < ``bound``, or d <= ``bound`` where ``closed``."""

    bound: sympy.Expr
    closed: bool
    reason: str
    singularity: Singularity | None = None

    @property
    def largest(self) -> sympy.Expr:
        """The largest integer d that meets the requirement (0 for none)."""
        if self.bound is sympy.oo:
            return sympy.oo
        top = sympy.floor(self.bound) if self.closed else sympy.ceiling(self.bound) - 1
        return max(top, _NIL)


@dataclass(frozen=True)
class Ending:
    """What is known of one place: requirements, gaps, singularities, and the limit there.

    Where no singularity was found, there is none of an exponent below ``regular_below``.
    """

    requirements: tuple[Requirement, ...] = ()
    gaps: tuple[Gap, ...] = ()
    singularities: tuple[Singularity, ...] = ()
    limit: sympy.Expr | None = None
    regular_below: sympy.Expr = sympy.oo


@dataclass(frozen=True)
class LocalAnalysis:
    """The local analysis of a kernel: at zero, at each radius, at infinity, and gaps of no place.

    ``exprs[i]`` is the kernel before the radius i, the last one beyond all.  There are none if the
    branches of the formula could not be told apart, or if its radii have no end.
    """

    exprs: tuple[sympy.Expr, ...]
    origin: Ending
    radii: tuple[tuple[sympy.Expr, Ending], ...]
    infinity: Ending
    gaps: tuple[Gap, ...] = ()

    @property
    def places(self) -> tuple[Ending, ...]:
        """Every place, from zero to infinity, after what is open of no place alone."""
        of_none = (Ending(gaps=self.gaps),) if self.gaps else ()
        return (*of_none, self.origin, *(e for _, e in self.radii), self.infinity)

    @property
    def singularities(self) -> tuple[Singularity, ...]:
        """All singularities, from zero to infinity."""
        return tuple(s for place in self.places for s in place.singularities)
