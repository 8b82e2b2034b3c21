"""Whose line a warning is about: that of the caller outside of this package and scikit-learn."""

from __future__ import annotations

import sys

__all__ = ["user_stacklevel"]

_INSIDE = ("rf", "sklearn", "joblib")


def user_stacklevel() -> int:
    """The ``stacklevel`` with which the caller's warning names the first line of other code.

    ``fit`` is called by users, and by ``fit_transform`` and pipelines through some frames of
    scikit-learn, so that no fixed number is right.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        if frame.f_back is None:
            break
        frame, level = frame.f_back, level + 1
    return level
