"""The entries of the asymmetric kernels of He et al.: moved Gaussians of the difference D = x - y.

Their vector has one number for each column of the data, or one for all of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import sympy

from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.catalogue.entry import Entry, positive
from spectra.kernels.kernel import Kernel, radial

__all__ = ["ASYMMETRIC"]


def _move(vector: str, move: Any, *, sigma: sympy.Expr, **values: Any) -> AsymmetricKernel:
    gaussian = radial("exp(-z**2/(2*sigma**2))", sigma=sigma)
    moved: AsymmetricKernel = move(gaussian, np.array(values[vector], dtype=float))
    return moved


def _entry(name: str, title: str, formula: str, vector: str, move: Any) -> Entry:
    default = (sympy.Rational(1, 10),)
    return Entry(
        id=name,
        title=title,
        formula=formula,
        finite=sympy.true,
        positive_definite=None,
        reference="He, He, Liu, Huang, Random Fourier features for asymmetric kernels, 2022",
        parameters=(
            (vector, default, True, "one number for each column, or for all"),
            positive("sigma", 1, "length of the Gaussian"),
        ),
        build=partial(_move, vector, move),
    )


def _sinh(gaussian: Kernel, beta: Any) -> AsymmetricKernel:
    return 0.5 * (gaussian.tilt(beta) - gaussian.tilt(-beta)) + gaussian


#: The named asymmetric kernels.
ASYMMETRIC: tuple[Entry, ...] = (
    _entry("shift_gaussian", "Gaussian of D + r", "exp(-|D + r|^2/(2*sigma^2))", "r", Kernel.shift),
    _entry(
        "sinh_gaussian",
        "Gaussian times 1 + sinh",
        "exp(-|D|^2/(2*sigma^2)) * (1 + sinh(beta.D))",
        "beta",
        _sinh,
    ),
    _entry(
        "cosh_gaussian",
        "Gaussian times an exponential, a shifted Gaussian with a factor",
        "exp(-|D|^2/(2*sigma^2)) * exp(beta.D)",
        "beta",
        Kernel.tilt,
    ),
)
