"""Print a verdict in full, as text or as data for JSON."""

from __future__ import annotations

import math
from typing import Any

from spectra.base.limits import limit_in_force
from spectra.errors import TimeLimitError
from spectra.verdict.status import Definiteness, in_words
from spectra.verdict.verdict import Verdict

__all__ = ["as_data", "as_text"]

_ANSWER = {True: "yes", False: "no", None: "not settled"}


def as_text(verdict: Verdict) -> str:
    """The verdict as lines of text: the answer, the reasons, and positive definiteness."""
    lines = [str(verdict)]
    if verdict.dim is not None and verdict.condition is not None:
        lines.append(f"  For which d the mass is finite: {in_words(verdict.condition)}.")
    where = "for every d" if verdict.dim is None else f"in d = {verdict.dim}"
    definite = _definiteness_in_time(verdict)
    lines.append(f"  Positive definite {where}: {_ANSWER[definite.answer]}. {definite.reason}")
    return "\n".join(lines)


def as_data(verdict: Verdict) -> dict[str, Any]:
    """``verdict.as_dict()`` with positive definiteness, for JSON."""
    definite = _definiteness_in_time(verdict)
    largest = definite.max_dim
    data = verdict.as_dict()
    data["positive_definite"] = {
        "answer": definite.answer,
        "reason": definite.reason,
        "max_dim": "infinity" if largest == math.inf else largest,
    }
    return data


def _definiteness_in_time(verdict: Verdict) -> Definiteness:
    """Decide positive definiteness, unless the spectral masses take longer than the time limit."""
    try:
        return verdict.positive_definite
    except TimeLimitError:
        reason = f"masses: not computed within {limit_in_force():g} s (more with --time-limit)."
        return Definiteness(None, reason)
