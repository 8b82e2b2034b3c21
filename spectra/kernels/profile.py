"""Profiles: kernels that are a function of one distance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray
from spectra.kernels.base_kernel import BaseKernel
from spectra.kernels.composite import CompositeKernel, of_factor
from spectra.kernels.metrics import EUCLIDEAN, SPHERE, Metric
from spectra.kernels.terms import Factor, Term

__all__ = ["Profile"]


class Profile(BaseKernel):
    """A kernel k(z) of the distance z of rows; subclasses define its values."""

    adds_up: ClassVar[bool] = False  #: Whether sums of such profiles are profiles.
    at_zero: Any  #: k(0).

    @abstractmethod
    def __call__(self, z: ArrayLike) -> FloatArray:
        """Values k(z) at distances z >= 0; an array of the shape of z."""

    @property
    @abstractmethod
    def is_zero(self) -> bool:
        """Whether k is 0."""

    def split_constant(self) -> tuple[float, Profile]:
        """The pair (c, k / c) for a constant factor c of k that can be split off."""
        return 1.0, self

    @cached_property
    def terms(self) -> tuple[Term, ...]:  # type: ignore[override]
        """The single term of the kernel."""
        return (Term(1.0, (Factor(self, metric=self.metric),)),)

    @property
    def metric(self) -> Metric:
        """The distance of all columns, or that on the unit sphere for a zonal kernel."""
        return SPHERE if self.is_zonal else EUCLIDEAN

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        for rows in (X, Y):
            self.metric.check_norms(np.linalg.norm(rows, axis=1), self)
        return self(self.metric.distances(X, Y))

    def on(self, columns: int | Sequence[int], length: float | ArrayLike = 1.0) -> CompositeKernel:
        """The kernel of the distance in the given columns only, which are counted from 0.

        ``length`` divides these columns: one number for all of them, or one for each.  Sums and
        products of such kernels and numbers are kernels of groups of columns.

        Examples
        --------
        >>> from spectra import radial
        >>> space, time = radial("exp(-z**2/2)"), radial("exp(-z)")
        >>> print(space.on([0, 1]) * time.on(2, length=7))
        (exp(-z**2/2)).on([0, 1])*(exp(-z)).on([2], length=[7])
        """
        return of_factor(self, columns, length)

    def shift(self, offset: float | ArrayLike) -> CompositeKernel:
        """The kernel D -> k(|D + offset|), D = x - y; one number per column, or one for all."""
        return of_factor(self).shift(offset)

    def tilt(self, beta: float | ArrayLike) -> CompositeKernel:
        """The kernel D -> k(|D|) exp(beta.D), D = x - y; one number per column, or one for all.

        Its spectral measure is known if k is a sum of Gaussians.
        """
        return of_factor(self).tilt(beta)

    def _scaled_columns(self, lengths: Any) -> CompositeKernel:
        """The kernel of rows divided by a length for each column, or mapped by a matrix."""
        dim = np.shape(lengths)[-1]
        return of_factor(self, range(dim), lengths, dim)
