"""A verdict in full, for a person and for a program: answer, reasons, condition, masses."""

from __future__ import annotations

import math
from typing import Any

from spectra.errors import AccuracyError, NoRouteError
from spectra.kernels.kernel import Kernel
from spectra.verdict.composed.compositions import ComposedVerdict
from spectra.verdict.partial_masses import Ladder
from spectra.verdict.positive_definite import Definiteness
from spectra.verdict.status import in_words
from spectra.verdict.verdict import Verdict

__all__ = ["as_data", "as_text", "with_ladder"]

_ANSWER = {True: "yes", False: "no", None: "not settled"}


def with_ladder(verdict: Verdict) -> tuple[Verdict, Ladder | None]:
    """The verdict that its partial masses do not contradict, and the masses where they are known.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> from spectra.verdict import existence
    >>> verdict, ladder = with_ladder(existence(radial("(1 - z)**2", support=1), 7))
    >>> verdict.status.name, ladder.predicted, ladder.agrees
    ('INFINITE', 1.0, True)
    """
    if verdict.dim is None or not isinstance(verdict.kernel, Kernel):
        return verdict, None
    try:
        ladder = verdict.ladder
    except (NoRouteError, AccuracyError):
        return verdict, None
    return verdict.confirmed(), ladder


def as_text(verdict: Verdict | ComposedVerdict, ladder: Ladder | None) -> str:
    """The verdict as lines of text: the answer first, then what decides it."""
    lines = [str(verdict)]
    if verdict.dim is not None and verdict.condition is not None:
        lines.append(f"  For which d the mass is finite: {in_words(verdict.condition)}.")
    lines.append(_definite_text(verdict, verdict.positive_definite))
    if ladder is not None:
        lines.append(_ladder_text(ladder))
    elif verdict.dim is not None and isinstance(verdict, Verdict):
        lines.append("  No route knows its spectral density, so no partial masses confirm this.")
    return "\n".join(lines)


def as_data(verdict: Verdict | ComposedVerdict, ladder: Ladder | None) -> dict[str, Any]:
    """``verdict.as_dict()`` with positive definiteness and the masses, for JSON."""
    definite = verdict.positive_definite
    largest = definite.max_dim
    data = verdict.as_dict()
    data["positive_definite"] = {
        "answer": definite.answer,
        "reason": definite.reason,
        "max_dim": "infinity" if largest == math.inf else largest,
    }
    data["ladder"] = None
    if ladder is not None:
        data["ladder"] = {
            "radii": ladder.radii.tolist(),
            "log_masses": [x if math.isfinite(x) else None for x in ladder.log_masses.tolist()],
            "fitted": _number(ladder.fitted),
            "predicted": None if ladder.predicted is None else _number(ladder.predicted),
            "agrees": ladder.agrees,
        }
    return data


def _number(x: float) -> float | str:
    """A number that JSON has; the infinities as text."""
    return x if math.isfinite(x) else ("-infinity" if x < 0 else "infinity")


def _definite_text(verdict: Verdict | ComposedVerdict, definite: Definiteness) -> str:
    where = "for every d" if verdict.dim is None else f"in d = {verdict.dim}"
    return f"  Positive definite {where}: {_ANSWER[definite.answer]}. {definite.reason}"


def _ladder_text(ladder: Ladder) -> str:
    masses = ", ".join(
        f"M({w:.4g}) = {_mass_text(m)}"
        for w, m in zip(ladder.radii, ladder.log_masses, strict=True)
    )
    growth = f"each doubling of W adds 2^{ladder.fitted:.2f} times what the one before added"
    if ladder.fitted == -math.inf:
        growth = "doubling W adds nothing any more"
    if ladder.predicted is None:
        told = "the local analysis predicts no simple rate"
    elif ladder.predicted == -math.inf:
        told = "as predicted" if ladder.agrees else "against the prediction that they converge fast"
    else:
        told = f"predicted 2^{ladder.predicted:g}" + ("" if ladder.agrees else ", which disagrees")
    return f"  Partial masses: {masses}; {growth} ({told})."


def _mass_text(log: float) -> str:
    """exp(log) in four digits, also where it leaves the range of a double."""
    if -9.0 < log < 9.0 or not math.isfinite(log):
        return f"{math.exp(log):.4g}"
    power = math.floor(log / math.log(10.0))
    return f"{math.exp(log - power * math.log(10.0)):.3f}e{power:+d}"
