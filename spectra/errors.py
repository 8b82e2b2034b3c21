"""The errors of ``spectra`` and ``rf``.  A message says what is wrong, why, and what to do.

All are subclasses of :class:`SpectraError`.  The errors for bad input are also subclasses of
``ValueError``, and :class:`MissingExtraError` is also a subclass of ``ImportError``.
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

#: Characters of a formula that are shown on each side of the marked ones, and in total.
_CONTEXT, _LINE = 24, 76


class SpectraError(Exception):
    """Base class of all errors that ``spectra`` and ``rf`` raise.

    Parameters
    ----------
    message : str
        What is wrong, and why.
    in_python, at_shell : str
        What to do, as a Python call and as a shell command; they are the ends of ``str(error)``
        and ``error.at_shell``.
    place : (str, int, int), optional
        Text in which the error was found, and the range [start, stop) of characters to mark.

    Attributes
    ----------
    at_shell : str
        The message as the command line prints it.
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
        """The text of ``place`` with carets under the marked characters; "" if there is none."""
        if self.place is None:
            return ""
        text, start, stop = self.place
        first = max(start - _CONTEXT, 0)
        shown = text[first : min(stop + _CONTEXT, first + _LINE)]
        marks = "^" * max(min(stop - first, len(shown)) - (start - first), 1)
        line = "".join(c if c.isprintable() else " " for c in shown)
        return f"{line}\n{' ' * (start - first)}{marks}"


class FormulaError(SpectraError, ValueError):
    """A text or expression is not an accepted formula; the message quotes the wrong part."""


class ParameterError(SpectraError, ValueError):
    """An argument, such as a parameter, dimension or tolerance, has an invalid value."""


class DataError(SpectraError, ValueError):
    """Data are invalid: wrong number of columns, not finite, off the sphere or too far apart."""


class NoRouteError(SpectraError):
    """No method gives the spectral density of this kernel in this dimension."""


class InfiniteMassError(SpectraError):
    """The spectral measure has infinite mass: k is no difference of positive definite kernels."""


class UndecidedError(SpectraError):
    """It is not known whether the total mass is finite; the message says what is missing."""


class AccuracyError(SpectraError):
    """The requested tolerance was not reached."""


class TimeLimitError(SpectraError):
    """A step exceeded its limit of processor time; see :func:`spectra.time_limit`."""


class TableFileError(SpectraError, ValueError):
    """A file is no table, or a damaged or edited one, or of an unknown version."""


class MissingExtraError(SpectraError, ImportError):
    """An optional dependency is missing; the message names the extra that installs it."""
