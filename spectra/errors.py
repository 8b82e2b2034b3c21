"""Every error of the toolkit says what was found, why it matters and what to do.

The children of :class:`SpectraError` also inherit the built-in error that a caller would
expect (``ValueError`` for bad input, ``ImportError`` for a missing extra), so that generic
code keeps working.
"""

from __future__ import annotations

__all__ = [
    "AccuracyError",
    "DataError",
    "FormulaError",
    "InfiniteMassError",
    "MissingExtraError",
    "NoRouteError",
    "ParameterError",
    "SpectraError",
    "TableFileError",
    "TimeLimitError",
    "UndecidedError",
]

#: Characters of a text that are shown before and after those that are meant, and in all (chosen: a
#: line of a page or of a terminal).
_BEFORE, _AFTER, _LINE = 24, 24, 76


class SpectraError(Exception):
    """Base class of every error that this package raises on purpose.

    Parameters
    ----------
    message : str
        What was found and why it matters.
    in_python, at_shell : str
        What to do, where the two differ: in Python, which the message ends in, and at a shell.
    place : (str, int, int), optional
        What the message is about: the text that was read, and its characters [start, stop).

    Attributes
    ----------
    at_shell : str
        The message for who typed a command: it names commands and options, not calls.
    place : (str, int, int) or None

    Examples
    --------
    >>> print(SpectraError("What is y?", place=("exp(-y)", 5, 6)).pointer)
    exp(-y)
         ^
    >>> error = SpectraError("No.", in_python="Ask design(...).", at_shell="Ask spectra design.")
    >>> str(error), error.at_shell
    ('No. Ask design(...).', 'No. Ask spectra design.')
    """

    def __init__(
        self,
        message: str = "",
        *,
        in_python: str = "",
        at_shell: str = "",
        place: tuple[str, int, int] | None = None,
    ) -> None:
        super().__init__(f"{message} {in_python}" if in_python else message)
        self.at_shell = f"{message} {at_shell}" if at_shell else str(self)
        self.place = place

    @property
    def pointer(self) -> str:
        """What was read, and under it a mark at the characters that are meant; else empty."""
        if self.place is None:
            return ""
        text, start, stop = self.place
        first = max(start - _BEFORE, 0)
        shown = text[first : min(stop + _AFTER, first + _LINE)]
        marks = "^" * max(min(stop - first, len(shown)) - (start - first), 1)
        line = "".join(c if c.isprintable() else " " for c in shown)
        return f"{line}\n{' ' * (start - first)}{marks}"


class FormulaError(SpectraError, ValueError):
    """A text or expression is not a formula that the toolkit accepts; the offender is named."""


class ParameterError(SpectraError, ValueError):
    """A parameter, dimension, length or tolerance is outside its meaning."""


class DataError(SpectraError, ValueError):
    """Rows of data do not fit: wrong width, not finite, off the sphere, or too far apart."""


class NoRouteError(SpectraError):
    """No transform route knows the spectral density of this kernel in this dimension."""


class InfiniteMassError(SpectraError):
    """The spectral measure has infinite total mass, so no positive decomposition exists."""


class UndecidedError(SpectraError):
    """Whether the total mass is finite could not be decided; the message names what is missing."""


class AccuracyError(SpectraError):
    """A result could not be brought within the tolerance that was asked for."""


class TimeLimitError(SpectraError):
    """A step took more processor time than is allowed; see :func:`spectra.time_limit`."""


class TableFileError(SpectraError, ValueError):
    """A saved table is truncated, edited, foreign, or of an unknown version."""


class MissingExtraError(SpectraError, ImportError):
    """An optional dependency is needed; the message names the extra that installs it."""
