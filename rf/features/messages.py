"""Warnings and errors about fitted features, and parts of the text of ``explain()``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rf.inputs.arrays import user_stacklevel
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = [
    "USELESS_ERROR",
    "SignatureWarning",
    "UselessFeaturesWarning",
    "describe_error",
    "describe_lengths",
    "warn_of_error",
    "warn_of_signs",
]

# Fit warns if the expected relative error of the kernel matrix (Frobenius norm) is at least this.
# A matrix of zeros has the error 1.
USELESS_ERROR = 0.5


class UselessFeaturesWarning(UserWarning):
    """The expected relative error of the kernel matrix is at least 50 %; that of zeros is 100 %."""


class SignatureWarning(UserWarning):
    """Some columns have the signature -1, which a model given Z alone ignores."""


def warn_of_error(error: float, n: int, formula: str) -> None:
    """Warn that n features have an expected relative error of the kernel matrix of 50 % or more."""
    half, tenth = (float(f"{n * (error / goal) ** 2:.2g}") for goal in (USELESS_ERROR, 0.1))
    warnings.warn(
        f"The {n} features of {formula} for these rows are expected to err by "
        f"{100 * error:.3g} % of the kernel matrix (Frobenius norm), and a matrix of zeros errs "
        "by 100 %: few rows are near one another, in units of the kernel's length. You have three "
        f"options: allow more columns (the error falls like 1/sqrt(n_components): about "
        f"{half:g} for {100 * USELESS_ERROR:g} %, {tenth:g} for 10 %), use a kernel "
        "that varies less over the distances of the rows (a larger length_scale, or "
        "length_scale='median'), or reduce the number of dimensions. explain() shows how the "
        "features were made.",
        UselessFeaturesWarning,
        stacklevel=user_stacklevel(),
    )


def warn_of_signs(signature: FloatArray, *, refuse: bool) -> None:
    """Warn of columns with the signature -1; with ``refuse``, raise an error."""
    text = (
        f"{np.sum(signature < 0)} of {len(signature)} columns of Z have signature -1, because the "
        "kernel, or the measure designed for it, has negative mass. The kernel matrix is "
        "(Z * signature_) @ Z.T; a model that is given Z alone learns with Z @ Z.T, which is "
        "a different kernel. Use gram(), or a model that takes signature_ (rf.KreinRidge); "
        "mixed_signature='ignore' ends this warning."
    )
    if refuse:
        raise ParameterError(text)
    warnings.warn(text, SignatureWarning, stacklevel=user_stacklevel())


def describe_lengths(lengths: Any) -> str:
    """The lengths that rows are divided by, as text; ``lengths`` is an array of any library."""
    if lengths.ndim == 2:
        return "a matrix of lengths"
    values = [float(length) for length in lengths]
    if len(set(values)) == 1:
        return f"{values[0]:.6g}"
    shown = ", ".join(f"{value:.6g}" for value in values[:6])
    return f"the lengths {shown}{', ...' if len(values) > 6 else ''}"


def describe_error(error: float) -> str:
    """The expected error of sampled features as a sentence; empty if it is not known (nan)."""
    if np.isnan(error):
        return ""
    zeros = ", and a matrix of zeros errs by 100 %" if error >= USELESS_ERROR else ""
    return (
        f"The features are expected to err by {100 * error:.3g} % of the kernel matrix of the "
        f"fitted rows (Frobenius norm){zeros}."
    )
