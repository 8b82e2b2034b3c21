r"""Kernels as covariance models of GSTools, with frequencies from their exact spectral laws.

GSTools draws a random field as a sum of waves whose radii have the density
:math:`\rho(w) = S_{d-1} w^{d-1} S(w)`.  For a model without a closed quantile function it computes
this density by a numerical Hankel transform and samples it by a Markov chain; noise in the far tail
adds a nugget to the fields.  The models here have the quantile function of their table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from scipy.special import roots_legendre

from spectra.base.numbers import FloatArray
from spectra.density import spectral_density
from spectra.derivation import positive_table, radial_kernel
from spectra.errors import ParameterError
from spectra.formula.reader import Z
from spectra.kernels import Kernel, radial
from spectra.kernels.catalogue import catalogue
from spectra.plugins.extras import imported

if TYPE_CHECKING:
    import gstools

__all__ = ["cov_model", "of"]

# What GSTools calls the arguments that every model has.
_COMMON = ("var", "len_scale", "nugget", "anis", "angles", "rescale")
# Largest difference between the correlation of GSTools and the formula.
_SAME = 1e-12
_COMPARED = np.linspace(0.0, 4.0, 257)
# Its d-th powers are doubles up to d = 3, and a density is flat there.
_NEXT_TO_ZERO = 1e-60


@lru_cache(maxsize=1)
def _base() -> type[gstools.CovModel]:
    """The covariance model whose correlation and spectrum are those of its kernel."""
    base: Any = imported("gstools", "gstools")[0].CovModel

    class SpectralModel(base):  # type: ignore[misc]
        """A covariance model whose correlation and spectrum are those of a kernel."""

        kernel: Kernel

        def cor(self, h: Any) -> FloatArray:
            """The correlation k(h) / k(0) at distances in units of the rescaled length."""
            distance = np.abs(np.asarray(h, dtype=float))
            return np.asarray(self.kernel(distance) / self.kernel.at_zero)

        def _has_ppf(self) -> bool:
            return True

        def spectral_rad_ppf(self, u: Any) -> FloatArray:
            """Quantile of the radius of a frequency."""
            (part,) = positive_table(self.kernel, int(self.dim)).parts
            return np.asarray(part.law.ppf(u) / self.len_rescaled)

        def spectral_density(self, k: Any) -> FloatArray:
            """The density of the frequencies on R^d; it has mass 1."""
            w = np.abs(np.asarray(k, dtype=float)) * self.len_rescaled
            density = spectral_density(self.kernel, int(self.dim))
            # A density has a limit at 0, and is asked for at positive radii.
            found = density.density(np.where(w > 0.0, w, _NEXT_TO_ZERO))
            return np.asarray(found * self.len_rescaled**self.dim / self.kernel.at_zero)

    return SpectralModel


def cov_model(kernel: Kernel | str, dim: int = 3, **options: Any) -> gstools.CovModel:
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
    gstools.CovModel
        For ``gstools.SRF``, kriging, fitting and variograms.

    Examples
    --------
    >>> import gstools                                                     # doctest: +SKIP
    >>> from spectra.plugins.gstools import cov_model                      # doctest: +SKIP
    >>> model = cov_model("1 - 3*z/2 + z**3/2", dim=2, support=1, len_scale=10)  # doctest: +SKIP
    >>> gstools.SRF(model, seed=1)((0.0, 1.0)).shape                       # doctest: +SKIP
    (1,)
    """
    kernel = radial_kernel(kernel, support=options.pop("support", None))
    return _model(kernel, dim, options)


def _model(kernel: Kernel, dim: int, options: dict[str, Any]) -> gstools.CovModel:
    options.setdefault("var", kernel.at_zero)
    model = type("SpectralModel", (_base(),), {"kernel": kernel})(dim=dim, **options)
    # Asked for now, so that a kernel that is no covariance is refused here.
    positive_table(kernel, int(model.dim))
    return model


# --- models of GSTools --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Formula:
    """A correlation of GSTools in z = h, with its parameters by their names there."""

    text: str
    support: int | None = None
    parameters: tuple[str, ...] = ()


#: What two balls have in common, of as many dimensions as the order says.
_BY_ORDER = ("HyperSpherical", "SuperSpherical")

_FORMULAS: Mapping[str, _Formula] = MappingProxyType(
    {
        "Gaussian": _Formula("exp(-z**2)"),
        "Exponential": _Formula("exp(-z)"),
        "Stable": _Formula("exp(-z**alpha)", parameters=("alpha",)),
        "Matern": _Formula(
            "2**(1 - nu)/gamma(nu)*(sqrt(nu)*z)**nu*besselk(nu, sqrt(nu)*z)", parameters=("nu",)
        ),
        "Rational": _Formula("(1 + z**2/alpha)**(-alpha)", parameters=("alpha",)),
        "Cubic": _Formula("1 - 7*z**2 + 35*z**3/4 - 7*z**5/2 + 3*z**7/4", support=1),
        "Linear": _Formula("1 - z", support=1),
        "Circular": _Formula("(2/pi)*(acos(z) - z*sqrt(1 - z**2))", support=1),
        "Spherical": _Formula("1 - 3*z/2 + z**3/2", support=1),
        "JBessel": _Formula("gamma(nu + 1)*(2/z)**nu*besselj(nu, z)", parameters=("nu",)),
        "TPLSimple": _Formula("(1 - z)**nu", support=1, parameters=("nu",)),
    }
)

_TRUNCATED = ("TPLGaussian", "TPLExponential", "TPLStable")
_ORDERS = {"TPLGaussian": 2.0, "TPLExponential": 1.0}


def _truncated_power_law(model: Any) -> Kernel:
    """The mean of modes exp(-(z/l)^power) over lengths l from the lower one, a, to a + 1.

    It is a difference of two means from 0 on, whose spectra cancel far out for power = 2.
    """
    hurst = _exact(model.hurst)
    power = _exact(_ORDERS.get(model.name, getattr(model, "alpha", 0.0)))
    low = _exact(model.len_low_rescaled / model.len_rescaled)
    tpl: Callable[..., Kernel] = catalogue["tpl_stable"]
    if low == 0:
        return tpl(hurst=hurst, power=power, length=1)
    if power == 2:
        return _mean_of_gaussians(float(hurst), float(low))
    top, bottom = (1 + low) ** (2 * hurst), low ** (2 * hurst)
    above, below = (tpl(hurst=hurst, power=power, length=length) for length in (1 + low, low))
    mean: Kernel = above * (top / (top - bottom)) - below * (bottom / (top - bottom))
    return mean


def _mean_of_gaussians(hurst: float, low: float) -> Kernel:
    """Gauss's rule in log l, of as many nodes as the integrand's strip of analyticity asks."""
    ends = np.log([low, low + 1.0])
    half, middle = (ends[1] - ends[0]) / 2.0, ends.mean()
    nodes, weights = roots_legendre(int(21.0 / np.arcsinh(np.pi / 4.0 / half)) + 2)
    weights = weights * np.exp(2.0 * hurst * half * nodes)
    shares = map(sympy.Rational, weights / weights.sum())
    rates = map(sympy.Rational, np.exp(-2.0 * (middle + half * nodes)))
    kernel = radial(
        sympy.Add(*(c * sympy.exp(-a * Z**2) for c, a in zip(shares, rates, strict=True)))
    )
    return replace(kernel, label=f"tpl_gaussian(hurst={hurst:g}, lengths {low:g} to {low + 1:g})")


def _kernel_of(model: Any) -> Kernel:
    if model.name in _TRUNCATED:
        return _truncated_power_law(model)
    known = _FORMULAS.get(model.name)
    if model.name in _BY_ORDER:
        order = (model.dim - 1) / 2 if model.name == "HyperSpherical" else model.nu
        # In one dimension the balls are intervals.
        return catalogue["superspherical"](nu=_exact(order)) if order else radial("1-z", support=1)
    if known is None:
        raise ParameterError(
            f"The formula of GSTools' model {model.name} is not known here. Known are "
            f"{', '.join(sorted([*_FORMULAS, *_TRUNCATED, *_BY_ORDER]))}. Write its "
            "correlation as a formula in z and use cov_model(formula, dim)."
        )
    values = {name: _exact(getattr(model, name)) for name in known.parameters}
    return radial(known.text, support=known.support, **values)


def _exact(value: float) -> Any:
    """A parameter as the short fraction that it is the double of, where there is one."""
    short = sympy.nsimplify(value, rational=True, tolerance=1e-15)
    return short if float(short) == float(value) else sympy.Rational(value)


def of(model: Any) -> gstools.CovModel:
    """A model of GSTools itself, drawn rightly: the same correlation, lengths, variance and nugget.

    Parameters
    ----------
    model : gstools.CovModel
        One of Gaussian, Exponential, Stable, Matern, Rational, Cubic, Linear, Circular, Spherical,
        HyperSpherical, SuperSpherical, JBessel, TPLSimple, TPLGaussian, TPLExponential and
        TPLStable, with a lower length or without.

    Returns
    -------
    gstools.CovModel
        To be used in its place.

    Raises
    ------
    ParameterError
        If the model is not one of these, its correlation is not what is known of it, or it is
        no covariance in its dimension.

    Examples
    --------
    >>> import gstools                                                     # doctest: +SKIP
    >>> from spectra.plugins.gstools import of                             # doctest: +SKIP
    >>> right = of(gstools.Spherical(dim=3, len_scale=2))                  # doctest: +SKIP
    """
    if _base().__bases__[0] not in type(model).__mro__:
        raise ParameterError(f"{model!r} is no covariance model of GSTools.")
    kernel = _kernel_of(model)
    own = np.asarray(model.correlation(_COMPARED * model.len_rescaled))
    apart = float(np.abs(own - kernel(_COMPARED)).max())
    if apart > _SAME:
        raise ParameterError(
            f"The correlation of this {model.name} differs by {apart:.2g} from {kernel}, which it "
            "should be: GSTools has changed it, or it was changed by hand."
        )
    options: dict[str, Any] = {name: getattr(model, name) for name in _COMMON}
    options |= {"latlon": model.latlon, "temporal": model.temporal, "geo_scale": model.geo_scale}
    return _model(kernel, int(model.dim), options)
