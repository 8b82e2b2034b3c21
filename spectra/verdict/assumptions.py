"""What a caller states about a kernel, and what a bare callable leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import sympy

from spectra.errors import ParameterError
from spectra.formula.reader.parameters import exact_parameter
from spectra.singularities.places import Ending, Gap
from spectra.singularities.rules import space_bound

__all__ = ["callable_places", "checked_assumptions", "with_assumptions"]

_ASSUMPTIONS = {
    "smoothness": (
        "every singularity at a finite radius that was not found has an exponent above {}"
    ),
    "decay": (
        "up to its limit the kernel decays, with its derivatives and unoscillating, like z^(-{})"
    ),
    "origin": "up to k(0) the kernel vanishes at z = 0, with its derivatives, like z^{}",
}


def checked_assumptions(assume: Mapping[str, float] | None) -> dict[str, sympy.Expr]:
    """The assumptions as exact numbers; ParameterError for others than these three."""
    if assume is not None and not isinstance(assume, Mapping):
        raise ParameterError(
            f"assume says what you know by name, for instance assume={{'smoothness': 3}}, and a "
            f"{type(assume).__name__} was passed. The names are {', '.join(_ASSUMPTIONS)}."
        )
    stated = {}
    for name, value in (assume or {}).items():
        if name not in _ASSUMPTIONS:
            raise ParameterError(
                f"{name!r} is not something to assume; the choices are {', '.join(_ASSUMPTIONS)}."
            )
        unbounded = not isinstance(value, str) and value == sympy.oo
        number = sympy.oo if unbounded else exact_parameter(name, value)
        if not number.is_extended_positive:
            raise ParameterError(f"The assumed {name} must be a positive exponent, not {value}.")
        stated[name] = number
    return stated


def callable_places() -> tuple[Ending, ...]:
    """A callable shows nothing: one gap at each kind of place."""
    at_zero = (
        "a callable shows no formula, so nothing is known at z = 0; write the kernel with "
        'radial(...), or state what you know with assume={"origin": ...}'
    )
    at_radii = 'where a callable is not smooth; state it with assume={"smoothness": ...}'
    far = 'what a callable does at infinity; state it with assume={"decay": ...}'
    gaps = Gap(at_zero, location=sympy.Integer(0)), Gap(at_radii), Gap(far, location=sympy.oo)
    return (Ending(gaps=gaps),)


def with_assumptions(
    places: Iterable[Ending], stated: Mapping[str, sympy.Expr]
) -> tuple[tuple[Ending, ...], tuple[str, ...]]:
    """Close the gaps that an assumption covers."""

    def close(gaps: tuple[Gap, ...]) -> tuple[Gap, ...]:
        left = []
        for gap in gaps:
            if gap.location == 0 and "origin" in stated:
                continue
            if gap.location is sympy.oo and "decay" in stated:
                continue
            if gap.location not in (0, sympy.oo) and "smoothness" in stated:
                bound = space_bound(stated["smoothness"])
                if bound is not sympy.oo:
                    text = f"beyond the assumed smoothness {stated['smoothness']}"
                    left.append(Gap(text, bound, gap.location))
                continue
            left.append(gap)
        return tuple(left)

    closed = tuple(replace(p, gaps=close(p.gaps)) for p in places)
    notes = tuple(f"Assumed, not shown: {_ASSUMPTIONS[n].format(v)}." for n, v in stated.items())
    return closed, notes
