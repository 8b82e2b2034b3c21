r"""Kernels as covariance models of GSTools, whose frequencies have their exact distribution.

GSTools samples a random field as a sum of plane waves.  For models without a quantile function of
the length of a frequency, it computes the density of lengths by a numerical Hankel transform and
samples it by a Markov chain; noise at large lengths adds a nugget to the fields.  The models here
have the quantile function of the spectral table of the kernel.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy

from spectra.base.numbers import FloatArray
from spectra.errors import ParameterError
from spectra.kernels import Kernel, radial
from spectra.kernels.catalogue import Family, catalogue
from spectra.plugins import import_modules
from spectra.plugins.covariance import RadialCovariance, positive_table, radial_kernel, shape_bounds

__all__ = ["FamilyModel", "SpectralModel", "SumModel", "cov_model", "of"]

(gstools,) = import_modules("gstools", "gstools")
_CovModel: Any = gstools.CovModel
_SumModel: Any = gstools.SumModel

# Largest difference between the correlation of GSTools and the formula, and where it is computed.
_TOLERANCE = 1e-12
_CHECKED = np.linspace(0.0, 4.0, 257)


class ExactSpectrum:
    """Mixin for models whose frequencies are sampled from the spectral table of a kernel."""

    _add_doc = False  # of GSTools: do not extend the docstring
    kernel: Any = property(lambda self: _kernel_of(self))  # the correlation in h / len_rescaled

    def __add__(self, other: Any) -> Any:
        return SumModel(self, other)

    __radd__ = __add__

    def _has_ppf(self) -> bool:
        return True

    def spectral_rad_ppf(self: Any, u: Any) -> FloatArray:
        """Quantiles of the length of a frequency."""
        (part,) = positive_table(self.kernel, int(self.dim)).parts
        return part.law.ppf(u) / self.len_rescaled

    def spectral_density(self: Any, k: Any) -> FloatArray:
        """The probability density of frequencies of length k on R^d."""
        kernel, length = self.kernel, self.len_rescaled
        power = RadialCovariance.of(kernel, int(self.dim)).power_spectrum(np.asarray(k) * length)
        return power * (length / (2.0 * np.pi)) ** self.dim / kernel.at_zero


class SpectralModel(ExactSpectrum, _CovModel):  # type: ignore[misc]
    """A covariance model with the correlation and spectrum of a kernel."""

    kernel: Any = None

    def __init__(self, kernel: Kernel, dim: int, **options: Any) -> None:
        self.kernel = kernel
        super().__init__(dim=dim, **options)
        positive_table(kernel, int(self.dim))  # raises if it is not positive definite

    def cor(self, h: Any) -> FloatArray:
        """The correlation k(h) / k(0) at distances h in units of ``len_rescaled``."""
        distance = np.abs(np.asarray(h, dtype=float))
        return self.kernel(distance) / self.kernel.at_zero


class SumModel(_SumModel):  # type: ignore[misc]
    """A sum of models, with frequencies sampled from the mixture of their exact spectra."""

    _add_doc = False
    __add__ = __radd__ = ExactSpectrum.__add__

    def _has_ppf(self) -> bool:
        return bool(self.models)

    def spectral_rad_ppf(self, u: Any) -> FloatArray:
        """Lengths for uniform u: each model maps an interval of [0, 1] by its quantile function."""
        u = np.asarray(u, dtype=float)
        lengths, start = np.zeros_like(u), 0.0
        for weight, model in zip(self.ratios, self.models, strict=True):
            p = np.clip((u - start) / weight, 0.0, 1.0)
            lengths = np.where(u >= start, of(model).spectral_rad_ppf(p), lengths)
            start += weight
        return lengths


class FamilyModel(SpectralModel):
    """A covariance model with the shape parameters of a family as optional arguments.

    ``fit_variogram`` fits them with the variance, the length and the nugget.
    """

    family: Any = None

    def __init__(self, family: Family, dim: int, **options: Any) -> None:
        self.family = family
        _CovModel.__init__(self, dim=dim, **options)

    def default_opt_arg(self) -> dict[str, float]:
        """The default values of the shape parameters."""
        return {name: float(self.family.defaults[name]) for name in self.family.shape}

    def default_opt_arg_bounds(self) -> dict[str, list[float]]:
        """The bounds in which the kernel is positive definite."""
        bounds = shape_bounds(self.family, int(self.dim)).tolist()
        return dict(zip(self.family.shape, bounds, strict=True))

    @property
    def kernel(self) -> Kernel:
        """The kernel of unit length with the current parameters."""
        return self.family(**self._own)

    @kernel.setter
    def kernel(self, _: Any) -> None:
        """The kernel follows from the parameters."""

    @property
    def _own(self) -> dict[str, float]:
        return self.family.with_shape([getattr(self, name) for name in self.family.shape])

    def cor(self, h: Any) -> FloatArray:
        """The correlation at distances h in units of ``len_rescaled``."""
        z = np.abs(np.asarray(h, dtype=float))
        return self.family.values(z, self._own) / self.family.at_zero(self._own)


def cov_model(kernel: Any, dim: int = 3, **options: Any) -> SpectralModel:
    r"""A covariance model of GSTools for a kernel, sampled from its exact spectrum.

    Parameters
    ----------
    kernel : Kernel, Family, str or SpectralMeasure
        Radial and positive definite on R^dim; a formula in z, or a name in the catalogue.  The
        parameters of a family (:func:`spectra.family`) other than its length and its variance are
        optional arguments of the model, which ``fit_variogram`` fits.
    dim : int
        Dimension of space.
    **options
        ``support`` for a formula, as in :func:`spectra.radial`, and the options of every model of
        GSTools: ``var`` (by default k(0)), ``len_scale``, ``nugget``, ``anis``, ``angles``, ...

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
    if isinstance(kernel, Family):
        return FamilyModel(kernel, dim, **options)
    kernel = radial_kernel(kernel, support=options.pop("support", None))
    return SpectralModel(kernel, dim, **{"var": kernel.at_zero} | options)


#: Formula of the correlation, names of its parameters in GSTools, and support (None: unbounded).
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
#: Models whose correlation is the relative volume of the intersection of two balls.
_INTERSECTIONS = ("HyperSpherical", "SuperSpherical")
#: Truncated power laws are means of exp(-(z/l)^power) over l; None: the power is model.alpha.
_TPL_POWERS = {"TPLGaussian": 2.0, "TPLExponential": 1.0, "TPLStable": None}
#: Subclasses of the models of GSTools that are sampled from their exact spectra.
_MODELS = {
    name: type(name, (ExactSpectrum, getattr(gstools, name)), {"__module__": __name__})
    for name in (*_FORMULAS, *_INTERSECTIONS, *_TPL_POWERS)
}
globals().update(_MODELS)  # so that pickle finds the classes


def _truncated_power_law(model: Any) -> Kernel:
    """A weighted mean of exp(-(z/l)^power) over l in [low, low + 1], in units of len_rescaled.

    It is a combination of the means over [0, low + 1] and over [0, low].
    """
    hurst = _to_rational(model.hurst)
    power = _to_rational(_TPL_POWERS[model.name] or model.alpha)
    low = _to_rational(model.len_low_rescaled / model.len_rescaled)
    tpl: Callable[..., Kernel] = catalogue["tpl_stable"]
    if low == 0:
        return tpl(hurst=hurst, power=power, length=1)
    upper_mean, lower_mean = (tpl(hurst=hurst, power=power, length=x) for x in (1 + low, low))
    upper, lower = (1 + low) ** (2 * hurst), low ** (2 * hurst)
    mean: Kernel = upper_mean * (upper / (upper - lower)) - lower_mean * (lower / (upper - lower))
    return mean


def _kernel_of(model: Any) -> Kernel:
    """The correlation of a model of GSTools at its current parameters, as a kernel."""
    if model.name in _TPL_POWERS:
        return _truncated_power_law(model)
    if model.name in _INTERSECTIONS:
        nu = (model.dim - 1) / 2 if model.name == "HyperSpherical" else model.nu
        # For nu = 0, in one dimension, the balls are intervals.
        return catalogue["superspherical"](nu=_to_rational(nu)) if nu else radial("1-z", support=1)
    text, parameters, support = _FORMULAS[model.name]
    values = {name: _to_rational(getattr(model, name)) for name in parameters}
    return radial(text, support=support, **values)


def _to_rational(value: float) -> Any:
    """A fraction of small integers that rounds to ``value``, if any, else the exact value."""
    short = sympy.nsimplify(value, rational=True, tolerance=1e-15)
    return short if float(short) == float(value) else sympy.Rational(value)


def of(model: Any) -> Any:
    """A copy of a model of GSTools that is sampled from its exact spectrum.

    Parameters
    ----------
    model : gstools.CovModel
        One of Gaussian, Exponential, Stable, Matern, Integral, Rational, Cubic, Linear, Circular,
        Spherical, HyperSpherical, SuperSpherical, JBessel, TPLSimple, TPLGaussian, TPLExponential
        and TPLStable, or a sum of them.

    Returns
    -------
    gstools.CovModel
        An instance of a subclass of the model's class.  Its parameters can be changed and fitted;
        each field is sampled with the current ones.

    Raises
    ------
    ParameterError
        If the model is not one of these, if its correlation differs from its formula here, or if
        it is not positive definite in its dimension.

    Examples
    --------
    >>> import gstools                                                     # doctest: +SKIP
    >>> from spectra.plugins.gstools import of                             # doctest: +SKIP
    >>> model = of(gstools.Spherical(dim=3, len_scale=2))                  # doctest: +SKIP
    """
    if not isinstance(model, gstools.CovModel):
        raise ParameterError(f"{model!r} is not a covariance model of GSTools.")
    if isinstance(model, ExactSpectrum | SumModel):
        return model
    exact = copy.deepcopy(model)
    if isinstance(model, _SumModel):
        exact._models = [of(summand) for summand in model.models]
        exact.__class__ = SumModel
        return exact
    if model.name not in _MODELS or type(model) is not getattr(gstools, model.name):
        raise ParameterError(
            f"The formula of GSTools' model {model.name} is not known here. Known models are "
            f"{', '.join(_MODELS)}. For others, write the correlation as a formula in z and use "
            "cov_model(formula, dim)."
        )
    exact.__class__ = _MODELS[model.name]
    kernel = exact.kernel
    correlation = np.asarray(model.correlation(_CHECKED * model.len_rescaled))
    difference = float(np.abs(correlation - kernel(_CHECKED)).max())
    if difference > _TOLERANCE:
        raise ParameterError(
            f"The correlation of this {model.name} differs by {difference:.2g} from {kernel}, the "
            "formula of this model: another version of GSTools or the user has changed it."
        )
    positive_table(kernel, int(model.dim))  # raises if it is not positive definite
    return exact
