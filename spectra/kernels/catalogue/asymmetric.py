"""The entries of the asymmetric kernels of He et al.: shifted and tilted Gaussians of D = x - y.

Their vector parameter, r or beta, has one number for each column of the data, or one for all.
``cosh_gaussian`` is the name in the paper; its factor is exp(beta.D), not cosh(beta.D).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sympy

from spectra.base.numbers import FloatArray
from spectra.kernels.catalogue.entry import Family, Parameter, positive_parameter
from spectra.kernels.composite import CompositeKernel
from spectra.kernels.kernel import Kernel, radial

__all__ = ["ASYMMETRIC"]

Transform = Callable[[Kernel, FloatArray], CompositeKernel]


def _build(vector: str, transform: Transform, **values: Any) -> CompositeKernel:
    """Apply ``transform`` to a Gaussian and the parameter whose name is ``vector``."""
    gaussian = radial("exp(-z**2/(2*sigma**2))", sigma=values["sigma"])
    return transform(gaussian, np.array(values[vector], dtype=float))


def _entry(name: str, title: str, formula: str, vector: str, transform: Transform) -> Family:
    default, meaning = (sympy.Rational(1, 10),), "one number for each column, or for all"
    return Family(
        id=name,
        title=title,
        formula=formula,
        finite=sympy.true,
        positive_definite=None,
        reference="He, He, Liu, Huang, Random Fourier features for asymmetric kernels, 2022",
        parameters=(
            Parameter(vector, default, condition=True, meaning=meaning),
            positive_parameter("sigma", 1, "standard deviation of the Gaussian"),
        ),
        build=partial(_build, vector, transform),
    )


def _add_sinh(gaussian: Kernel, beta: FloatArray) -> CompositeKernel:
    return 0.5 * (gaussian.tilt(beta) - gaussian.tilt(-beta)) + gaussian


#: The named asymmetric kernels.
ASYMMETRIC: tuple[Family, ...] = (
    _entry("shift_gaussian", "Shifted Gaussian", "exp(-|D + r|^2/(2*sigma^2))", "r", Kernel.shift),
    _entry(
        "sinh_gaussian",
        "Gaussian times 1 + sinh",
        "exp(-|D|^2/(2*sigma^2)) * (1 + sinh(beta.D))",
        "beta",
        _add_sinh,
    ),
    _entry(
        "cosh_gaussian",
        "Tilted Gaussian, a multiple of a shifted Gaussian",
        "exp(-|D|^2/(2*sigma^2)) * exp(beta.D)",
        "beta",
        Kernel.tilt,
    ),
)
