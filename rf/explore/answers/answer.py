"""What the page shows of a kernel: the kernel, the verdict, the density, the table, the columns."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import cached_property
from typing import Protocol, final

from rf.explore.answers.grouped import GroupedAnswers
from rf.explore.answers.l1 import L1Answers
from rf.explore.answers.radial import RadialAnswers
from rf.explore.panel import Panel, answered
from rf.explore.question import Question
from spectra.kernels import GroupedKernel, L1Kernel

__all__ = ["ANSWERS", "Answers"]

#: What the panels are called; ``columns`` takes seconds, the others mostly less than one.
ANSWERS = ("kernel", "verdict", "density", "table", "columns")


class _Panels(Protocol):
    """A panel for each of :data:`ANSWERS`."""

    def kernel(self) -> Panel: ...
    def verdict(self) -> Panel: ...
    def density(self) -> Panel: ...
    def table(self) -> Panel: ...
    def columns(self) -> Panel: ...


@final
class Answers:
    """All answers to one question; what several of them need is found once.

    Parameters
    ----------
    question : Question

    Examples
    --------
    >>> answers = Answers(Question("(1 - z**2/4)**2", dim="3", support="2"))
    >>> answers("verdict").lines[0]
    '[(1 - z**2/4)**2 on z <= 2]: its spectral measure has finite mass in d = 3'
    >>> answers("kernel").facts[0]
    ('k(0)', '1')
    """

    def __init__(self, question: Question) -> None:
        self._question = question

    def __call__(self, name: str) -> Panel:
        """One panel of :data:`ANSWERS`; a refusal is an answer as well."""
        found = answered(lambda: getattr(self._panels, name)())
        if name != "kernel" or found.refusal is not None:
            return found
        asked = self._question
        return replace(found, commands=_commands(asked), fields=asked.fields)

    @cached_property
    def _panels(self) -> _Panels:
        asked = self._question
        kernel, dim = asked.kernel, asked.dimension
        if isinstance(kernel, GroupedKernel):
            return GroupedAnswers(kernel, dim, asked.reach_of)
        if isinstance(kernel, L1Kernel):
            return L1Answers(kernel, dim, asked.reach_of)
        return RadialAnswers(kernel, dim, asked.reach_of(kernel))


def _commands(asked: Question) -> tuple[tuple[str, str], ...]:
    """The same at a shell, and in Python."""
    options = [f"--dim {asked.dimension}"]
    given = [repr(asked.formula.strip())]
    if asked.metric == "l1":
        options.append("--metric l1")
        given.append("metric='l1'")
    if asked.support:
        options.append(f"--support {shlex.quote(asked.support)}")
        given.append(f"support={asked.support!r}")
    options += [f"--set {shlex.quote(f'{name}={value}')}" for name, value in asked.fields]
    if asked.fields:
        given.append(f"parameters={dict(asked.fields)}")
    words = " ".join([shlex.quote(asked.formula.strip()), *options])
    python = (
        "from rf import SpectralFeatures\n"
        "from spectra.kernels.catalogue.grouped_text import named_by_text\n\n"
        f"kernel = named_by_text({', '.join(given)})\n"
        "features = SpectralFeatures(kernel, n_components=512, random_state=0)"
    )
    return (
        ("At a shell", f"spectra check {words}\nspectra derive {words} --out k.npz"),
        ("In Python", python),
    )
