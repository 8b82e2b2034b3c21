r"""Kernels as covariance models of GSTools, with frequencies from their exact spectral laws.

GSTools draws a random field as a sum of waves whose radii have the density
:math:`\rho(w) = S_{d-1} w^{d-1} S(w)`.  For a model without a closed quantile function it computes
this density by a numerical Hankel transform and samples it by a Markov chain; noise in the far tail
adds a nugget to the fields.  The models here have the quantile function of their table.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy

from spectra.base.numbers import FloatArray
from spectra.derivation import RadialCovariance, positive_table, radial_kernel
from spectra.errors import ParameterError
from spectra.kernels import Kernel, radial
from spectra.kernels.catalogue import catalogue
from spectra.plugins import imported

__all__ = ["SpectralModel", "SumModel", "cov_model", "of"]

(gstools,) = imported("gstools", "gstools")
_CovModel: Any = gstools.CovModel
_SumModel: Any = gstools.SumModel

# Largest difference between the correlation of GSTools and the formula.
_SAME = 1e-12
_COMPARED = np.linspace(0.0, 4.0, 257)


class Drawn:
    """Frequencies of a covariance model from the spectrum of its kernel."""

    _add_doc = False
    kernel: Any = property(lambda self: _kernel_of(self))  # the correlation in z = h

    def __add__(self, other: Any) -> Any:
        return SumModel(self, other)

    __radd__ = __add__

    def _has_ppf(self) -> bool:
        return True

    def spectral_rad_ppf(self: Any, u: Any) -> FloatArray:
        """Quantile of the radius of a frequency."""
        (part,) = positive_table(self.kernel, int(self.dim)).parts
        return np.asarray(part.law.ppf(u) / self.len_rescaled)

    def spectral_density(self: Any, k: Any) -> FloatArray:
        """The density of the frequencies on R^d; it has mass 1."""
        kernel, length = self.kernel, self.len_rescaled
        power = RadialCovariance.of(kernel, int(self.dim)).power(np.asarray(k) * length)
        return np.asarray(power * (length / (2.0 * np.pi)) ** self.dim / kernel.at_zero)


class SpectralModel(Drawn, _CovModel):  # type: ignore[misc]
    """A covariance model whose correlation and spectrum are those of a kernel."""

    kernel: Any = None

    def __init__(self, kernel: Kernel, dim: int, **options: Any) -> None:
        self.kernel = kernel
        super().__init__(dim=dim, **options)
        positive_table(kernel, int(self.dim))  # refused here, if it is no covariance

    def cor(self, h: Any) -> FloatArray:
        """The correlation k(h) / k(0) at distances in units of the rescaled length."""
        distance = np.abs(np.asarray(h, dtype=float))
        return np.asarray(self.kernel(distance) / self.kernel.at_zero)


class SumModel(_SumModel):  # type: ignore[misc]
    """A sum of models whose frequencies are drawn from the mixture of their exact spectra."""

    _add_doc = False
    __add__ = __radd__ = Drawn.__add__

    def _has_ppf(self) -> bool:
        return bool(self.models)

    def spectral_rad_ppf(self, u: Any) -> FloatArray:
        """Radii with the distribution of the mixture for uniform u, one model after the other.

        It is no quantile function, since it does not ascend from one model to the next.
        """
        u = np.asarray(u, dtype=float)
        found, start = np.zeros_like(u), 0.0
        for share, model in zip(self.ratios, self.models, strict=True):
            within = np.clip((u - start) / share, 0.0, 1.0)
            found = np.where(u >= start, of(model).spectral_rad_ppf(within), found)
            start += share
        return np.asarray(found)


def cov_model(kernel: Kernel | str, dim: int = 3, **options: Any) -> SpectralModel:
    r"""A model of GSTools with the correlation k(h)/k(0), sampled from its exact spectrum.

    Parameters
    ----------
    kernel : Kernel or str
        Radial and positive definite on R^dim; a formula in z, or a name of the catalogue.
    dim : int
        Dimension of space.
    **options
        As for every model of GSTools: ``var`` (by default k(0)), ``len_scale``, ``nugget``,
        ``anis``, ``angles``, ...

    Returns
    -------
    SpectralModel
        A ``gstools.CovModel`` for ``gstools.SRF``, kriging, fitting and variograms.

    Examples
    --------
    >>> import gstools                                                     # doctest: +SKIP
    >>> from spectra.plugins.gstools import cov_model                      # doctest: +SKIP
    >>> model = cov_model("1 - 3*z/2 + z**3/2", dim=2, support=1, len_scale=10)  # doctest: +SKIP
    >>> gstools.SRF(model, seed=1)((0.0, 1.0)).shape                       # doctest: +SKIP
    (1,)
    """
    kernel = radial_kernel(kernel, support=options.pop("support", None))
    return SpectralModel(kernel, dim, **{"var": kernel.at_zero} | options)


#: Correlations in z = h, with the parameters that they take from the model, and their supports.
_FORMULAS: Mapping[str, tuple[str, tuple[str, ...], int | None]] = {
    "Gaussian": ("exp(-z**2)", (), None),
    "Exponential": ("exp(-z)", (), None),
    "Stable": ("exp(-z**alpha)", ("alpha",), None),
    "Matern": (
        "2**(1 - nu)/gamma(nu)*(sqrt(nu)*z)**nu*besselk(nu, sqrt(nu)*z)", ("nu",), None,
    ),
    "Integral": ("nu/2*expint(nu/2 + 1, z**2)", ("nu",), None),
    "Rational": ("(1 + z**2/alpha)**(-alpha)", ("alpha",), None),
    "Cubic": ("1 - 7*z**2 + 35*z**3/4 - 7*z**5/2 + 3*z**7/4", (), 1),
    "Linear": ("1 - z", (), 1),
    "Circular": ("(2/pi)*(acos(z) - z*sqrt(1 - z**2))", (), 1),
    "Spherical": ("1 - 3*z/2 + z**3/2", (), 1),
    "JBessel": ("gamma(nu + 1)*(2/z)**nu*besselj(nu, z)", ("nu",), None),
    "TPLSimple": ("(1 - z)**nu", ("nu",), 1),
}  # fmt: skip
#: What two balls have in common, of as many dimensions as the order says.
_BY_ORDER = ("HyperSpherical", "SuperSpherical")
_ORDERS = {"TPLGaussian": 2.0, "TPLExponential": 1.0, "TPLStable": None}
#: The models of GSTools, drawn from their exact spectra.
_MODELS = {
    name: type(name, (Drawn, getattr(gstools, name)), {"__module__": __name__})
    for name in (*_FORMULAS, *_BY_ORDER, *_ORDERS)
}
globals().update(_MODELS)  # where pickle looks for them


def _truncated_power_law(model: Any) -> Kernel:
    """The mean of modes exp(-(z/l)^power) over lengths l from the lower one, a, to a + 1.

    It is a difference of two means from 0 on.
    """
    hurst = _exact(model.hurst)
    power = _exact(_ORDERS[model.name] or model.alpha)
    low = _exact(model.len_low_rescaled / model.len_rescaled)
    tpl: Callable[..., Kernel] = catalogue["tpl_stable"]
    if low == 0:
        return tpl(hurst=hurst, power=power, length=1)
    top, bottom = (1 + low) ** (2 * hurst), low ** (2 * hurst)
    above, below = (tpl(hurst=hurst, power=power, length=length) for length in (1 + low, low))
    mean: Kernel = above * (top / (top - bottom)) - below * (bottom / (top - bottom))
    return mean


def _kernel_of(model: Any) -> Kernel:
    """The correlation of a model of GSTools at its present parameters, as a kernel in z = h."""
    if model.name in _ORDERS:
        return _truncated_power_law(model)
    if model.name in _BY_ORDER:
        order = (model.dim - 1) / 2 if model.name == "HyperSpherical" else model.nu
        # In one dimension the balls are intervals.
        return catalogue["superspherical"](nu=_exact(order)) if order else radial("1-z", support=1)
    text, parameters, support = _FORMULAS[model.name]
    values = {name: _exact(getattr(model, name)) for name in parameters}
    return radial(text, support=support, **values)


def _exact(value: float) -> Any:
    """A parameter as the short fraction that it is the double of, where there is one."""
    short = sympy.nsimplify(value, rational=True, tolerance=1e-15)
    return short if float(short) == float(value) else sympy.Rational(value)


def of(model: Any) -> Any:
    """A model of GSTools that is drawn from its exact spectrum, and is otherwise the same.

    Parameters
    ----------
    model : gstools.CovModel
        One of Gaussian, Exponential, Stable, Matern, Integral, Rational, Cubic, Linear, Circular,
        Spherical, HyperSpherical, SuperSpherical, JBessel, TPLSimple, TPLGaussian, TPLExponential
        and TPLStable, or a sum of them.

    Returns
    -------
    gstools.CovModel
        A copy, which can be set and fitted as the model: its class is derived from that of GSTools.
        The spectrum is that of the parameters at the time when a field is drawn.

    Raises
    ------
    ParameterError
        If the model is not one of these, its correlation differs from its formula, or it is
        no covariance in its dimension.

    Examples
    --------
    >>> import gstools                                                     # doctest: +SKIP
    >>> from spectra.plugins.gstools import of                             # doctest: +SKIP
    >>> right = of(gstools.Spherical(dim=3, len_scale=2))                  # doctest: +SKIP
    """
    if not isinstance(model, gstools.CovModel):
        raise ParameterError(f"{model!r} is no covariance model of GSTools.")
    if isinstance(model, Drawn | SumModel):
        return model
    drawn = copy.deepcopy(model)
    if isinstance(model, _SumModel):
        drawn._models = [of(each) for each in model.models]
        drawn.__class__ = SumModel
        return drawn
    if model.name not in _MODELS or type(model) is not getattr(gstools, model.name):
        raise ParameterError(
            f"The formula of GSTools' model {model.name} is not known here. Known are "
            f"{', '.join(_MODELS)}. Write its correlation as a formula in z and use "
            "cov_model(formula, dim)."
        )
    drawn.__class__ = _MODELS[model.name]
    kernel = drawn.kernel
    own = np.asarray(model.correlation(_COMPARED * model.len_rescaled))
    apart = float(np.abs(own - kernel(_COMPARED)).max())
    if apart > _SAME:
        raise ParameterError(
            f"The correlation of this {model.name} differs by {apart:.2g} from {kernel}, "
            "which it should be: GSTools has changed it, or it was changed by hand."
        )
    positive_table(kernel, int(model.dim))  # refused here, if it is no covariance
    return drawn
