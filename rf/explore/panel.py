"""What one part of the page says: sentences, facts, a picture, and the same numbers as tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from spectra.errors import InfiniteMassError, ParameterError, SpectraError, UndecidedError

__all__ = ["Grid", "Panel", "Refusal", "answered"]


@final
@dataclass(frozen=True)
class Grid:
    """A table; the first column names the rows.

    Attributes
    ----------
    caption : str
    head : tuple of str
    rows : tuple of tuples of str
    is_open : bool
        Whether it is shown at once, or when it is asked for, beside its picture.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_open: bool = False


@final
@dataclass(frozen=True)
class Refusal:
    """Why there is no answer.

    Attributes
    ----------
    kind : str
        The name of the error.
    message : str
        What was found, why it matters, what to do.
    text, start, stop :
        What was read, and the characters that the message is about; ``text`` is empty where it is
        about no character.
    pointer : str
        What was read, and under it a mark at these characters.
    unknown : str
        A name that may be meant as a parameter; else empty.

    Examples
    --------
    >>> from spectra.formula.reader.parsing import parse_formula
    >>> try:
    ...     parse_formula("exp(-q*z)", variable="z")
    ... except SpectraError as error:
    ...     refusal = Refusal.of(error)
    >>> print(refusal.pointer)
    exp(-q*z)
         ^
    >>> refusal.unknown
    'q'
    """

    kind: str
    message: str
    text: str = ""
    start: int = 0
    stop: int = 0
    pointer: str = ""
    unknown: str = ""

    @classmethod
    def of(cls, error: SpectraError) -> Refusal:
        """What an error says, with commands in place of calls."""
        text, start, stop = error.place or ("", 0, 0)
        # The lines that show the place are those of the page itself.
        lines = [x for x in error.at_shell.splitlines() if not (text and x.startswith("    "))]
        meant = text[start:stop]
        is_name = isinstance(error, ParameterError) and meant.isidentifier()
        unknown = meant if is_name else ""
        # The page has a field in place of the option.
        message = " ".join(lines)
        if unknown:
            message = message.replace(" if it is a parameter, give its value with --set;", "")
        return cls(type(error).__name__, message, text, start, stop, error.pointer, unknown)


@final
@dataclass(frozen=True)
class Panel:
    """The answer to one question.

    Attributes
    ----------
    lines : tuple of str
        Sentences, the answer first.
    facts : tuple of (str, str)
        Names and values.
    picture : str
        SVG; what it shows is in ``tables``.
    tables : tuple of Grid
    commands : tuple of (str, str)
        What gives the same elsewhere: where, and what to type there.
    fields : tuple of (str, str) or None
        Parameters that the formula has; None where that is not known.
    refusal : Refusal or None
    pieces : tuple of (str, Panel)
        The answers on what a kernel is made of, each with its heading.
    """

    lines: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    picture: str = ""
    tables: tuple[Grid, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, str], ...] | None = None
    refusal: Refusal | None = None
    pieces: tuple[tuple[str, Panel], ...] = ()


def answered(asked: Callable[[], Panel]) -> Panel:
    """What is asked, or why there is no answer, which is an answer as well."""
    try:
        return asked()
    except (InfiniteMassError, UndecidedError):
        # The panel of the density says why, and what to do.
        return Panel(lines=("There is no finite measure to draw from: see the density.",))
    except SpectraError as error:
        return Panel(refusal=Refusal.of(error))
