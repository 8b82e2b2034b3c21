r"""The verdict on a kernel f(|x - y|_1) of the l1 distance.

Sums of truncated distances :math:`(\tau - z)_+` and exponentials have finite mass for every number
of columns (proof in docs/l1.md).  With a truncated distance they are not positive definite in
d >= 2: at :math:`w_1 = w_2 = w`, the density of :math:`\sum_i c_i (\tau_i - z)_+` in two columns
tends to :math:`-\sum_i c_i \tau_i \cos(\tau_i w) / (2 \pi^2 w^2)`, which changes sign, and that of
exponentials falls like :math:`w^{-4}`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, final

from spectra.errors import InfiniteMassError, UndecidedError
from spectra.kernels.kernel import Kernel
from spectra.kernels.l1_kernel import L1Kernel
from spectra.verdict.composed.compositions import ComposedVerdict
from spectra.verdict.positive_definite import Definiteness
from spectra.verdict.status import Status
from spectra.verdict.verdict import Verdict

__all__ = ["L1Verdict", "verdict_by_l1"]


@final
@dataclass(frozen=True, repr=False)
class L1Verdict(ComposedVerdict):
    """Whether the measure of a kernel of the l1 distance has finite mass, and why.

    Attributes
    ----------
    kernel : L1Kernel
    dim : int or None
        The number of columns; None for every number of columns.
    status : Status
    reasons : tuple of str
        The deciding one first.
    line : Verdict or None
        The verdict on f in d = 1, if it was asked for.
    """

    kernel: L1Kernel
    dim: int | None
    status: Status
    reasons: tuple[str, ...]
    line: Verdict | None = None

    def _verdicts_as_data(self) -> dict[str, Any]:
        return {"line": None if self.line is None else self.line.as_dict()}

    def refuse(self) -> None:
        """Raise an InfiniteMassError or UndecidedError if the verdict is not FINITE."""
        if self.status is not Status.FINITE:
            error = InfiniteMassError if self.status is Status.INFINITE else UndecidedError
            raise error(f"{self}")

    @cached_property
    def positive_definite(self) -> Definiteness:
        """Whether it is positive definite, for the rows of so many columns."""
        if self.line is not None:
            line = self.line.positive_definite
            if self.dim == 1 or line.answer is False:
                return line
            return Definiteness(None, "No rule decides it in several columns.")
        truncated, exponentials = self.kernel.numeric_terms()
        if truncated:
            return Definiteness(False, "It has a kink at a positive distance and d > 1.")
        if all(c >= 0.0 for c, _ in exponentials):
            return Definiteness(True, "It is a mixture of products of exponentials exp(-t |x_i|).")
        # At large frequencies the density has the sign of sum c t^d; if d is large, of its last c.
        power = inf if self.dim is None else self.dim
        top = max(t for _, t in exponentials)
        if sum(c * (t / top) ** power for c, t in exponentials if t > 0.0) < 0.0:
            return Definiteness(False, "The density is negative at large frequencies.")
        if any(c < 0.0 and t == 0.0 for c, t in exponentials):
            return Definiteness(False, "The measure has a negative atom at the frequency 0.")
        return Definiteness(None, "Exponentials with weights of both signs: no rule decides it.")


def verdict_by_l1(
    kernel: L1Kernel, dim: int | None, ask: Callable[[Kernel, int], Verdict]
) -> L1Verdict:
    """Decide by the terms of f, or by the verdict that ``ask`` gives of f on the line."""
    if dim != 1 and kernel.terms is not None:
        why = "It is a sum of truncated distances and exponentials, of finite mass in every d."
        return L1Verdict(kernel, dim, Status.FINITE, (why,))
    line = ask(kernel.profile, 1)
    if dim == 1:
        return L1Verdict(kernel, dim, line.status, line.reasons, line)
    if line.status is Status.INFINITE:
        why = "If all columns but one agree, it is f on the line, whose mass is infinite."
        return L1Verdict(kernel, dim, Status.INFINITE, (why, *line.reasons), line)
    return L1Verdict(kernel, dim, Status.UNDECIDED, (kernel.why_refused(),), line)
