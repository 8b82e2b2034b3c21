"""The entries of the symmetric kernels of the catalogue; tests check the conditions of each."""

from __future__ import annotations

from typing import Any

import sympy

from spectra.formula.parsing import Z
from spectra.kernels.catalogue.entry import (
    DIMENSION,
    Family,
    Parameter,
    compact_entry,
    length_parameter,
    parameter_symbol,
    positive_definite_entry,
    positive_parameter,
)
from spectra.kernels.catalogue.geostatistics import GEOSTATISTICS
from spectra.kernels.kernel import Kernel, radial

__all__ = ["ENTRIES"]

_TRUE, _FALSE = sympy.true, sympy.false

_A, _P, _M, _POWER, _VALUE = map(parameter_symbol, ("a", "p", "m", "power", "value"))

# Largest nu - 1/2 with the elementary formula: polynomials of higher degree take long to parse.
_LARGEST_ELEMENTARY_ORDER = 20


def _matern(nu: sympy.Expr, length: sympy.Expr) -> Kernel:
    """The elementary formula for half-integer nu, which is exact at z = 0, else the Bessel one."""
    n = nu - sympy.S.Half
    if n.is_Integer and n <= _LARGEST_ELEMENTARY_ORDER:
        x = "(sqrt(2*nu)*z/length)"
        # The reverse Bessel polynomial of degree n, divided by its value at 0.
        value_at_0 = sympy.factorial2(2 * n - 1) if n else 1
        polynomial = " + ".join(
            f"{sympy.factorial(n + k) / (2**k * sympy.factorial(k) * sympy.factorial(n - k))}"
            f"*{x}**{n - k}"
            for k in range(n + 1)
        )
        return radial(f"({polynomial})/{value_at_0}*exp(-{x})", nu=nu, length=length)
    return radial(
        "2**(1 - nu)/gamma(nu)*(sqrt(2*nu)*z/length)**nu*besselk(nu, sqrt(2*nu)*z/length)",
        nu=nu,
        length=length,
    )


def _sequence_parameter(name: str, condition: Any, meaning: str) -> Parameter:
    return Parameter(name, (sympy.Integer(1),), condition, meaning)


_WEIGHTS = _sequence_parameter(
    "weights", sympy.Ne(parameter_symbol("weights"), 0), "weight of each summand, of either sign"
)
_LENGTHS = _sequence_parameter("lengths", parameter_symbol("lengths") > 0, "length of each summand")


def _spectral_mixture(
    weights: tuple[sympy.Expr, ...],
    frequencies: tuple[sympy.Expr, ...],
    lengths: tuple[sympy.Expr, ...],
) -> Kernel:
    terms = zip(weights, frequencies, lengths, strict=True)
    return radial(sum(w * sympy.exp(-(Z**2) / (2 * s**2)) * sympy.cos(f * Z) for w, f, s in terms))


def _gaussian_mixture(weights: tuple[sympy.Expr, ...], lengths: tuple[sympy.Expr, ...]) -> Kernel:
    return _spectral_mixture(weights, (sympy.Integer(0),) * len(weights), lengths)


def _j_bessel(m: sympy.Expr, radius: sympy.Expr) -> Kernel:
    if m == 1:
        return radial("cos(radius*z)", radius=radius)
    if m == 3:
        return radial("sin(radius*z)/(radius*z)", radius=radius)
    return radial(
        "gamma(m/2)*(2/(radius*z))**(m/2 - 1)*besselj(m/2 - 1, radius*z)", m=m, radius=radius
    )


_RW = "Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), section 4.2"
_WENDLAND = "Wendland, Adv. Comput. Math. 4 (1995) 389, doi:10.1007/BF02123482"
_SCHOENBERG = "Schoenberg, Ann. of Math. 39 (1938) 811, doi:10.2307/1968466"
_CHO_SAUL = "Cho and Saul, Kernel Methods for Deep Learning, NIPS 2009, equations (3) to (7)"
_LIU = "Liu, Huang, Chen and Suykens, AISTATS 2021"
_SPHERE_ONLY = (
    "Positive definite on every sphere, because its Taylor series in u has no negative "
    "coefficient. Not positive definite on R^d, where it is 0 beyond z = 2."
)


def _wendland(k: int, formula: str) -> Family:
    exponent = 2 + 2 * k  # of (length - z) near z = length
    return compact_entry(
        id=f"wendland_3{k}",
        title=f"Wendland's function phi_{{3,{k}}}, {2 * k} times differentiable",
        formula=formula.replace("z", "(z/length)"),
        finite=2 * exponent + 1 > DIMENSION,
        positive_definite=DIMENSION <= 3,
        reference=f"{_WENDLAND}, table 1; condition: Gneiting, J. Multivariate Anal. 83 (2002) 493",
    )


def _network_entry(**fields: Any) -> Family:
    """Make the entry of a neural network's kernel, which is positive definite on every sphere."""
    return Family(positive_definite=_FALSE, support="2", zonal=True, note=_SPHERE_ONLY, **fields)


_SCALE = length_parameter()
_EXPONENT = Parameter("power", sympy.Integer(1), (_POWER > 0) & (_POWER < 2), "exponent")

ENTRIES: tuple[Family, ...] = (
    Family(
        id="constant",
        title="Constant; its spectral measure is an atom at w = 0",
        formula="value",
        finite=_TRUE,
        positive_definite=_VALUE >= 0,
        reference="Bochner, Lectures on Fourier Integrals (1959), section 20",
        parameters=(Parameter("value", sympy.Integer(1), sympy.Ne(_VALUE, 0), "k(z)"),),
    ),
    positive_definite_entry(
        id="gaussian",
        aliases=("rbf", "squared_exponential"),
        title="Gaussian (RBF, squared exponential)",
        formula="exp(-z**2/(2*length**2))",
        reference=f"{_RW}, equation (4.9)",
        parameters=(_SCALE,),
    ),
    positive_definite_entry(
        id="laplace",
        aliases=("exponential",),
        title="Laplace (exponential, Matern of order 1/2)",
        formula="exp(-z/length)",
        reference=f"{_RW}, equation (4.18)",
        parameters=(_SCALE,),
        note="z is the Euclidean distance, not the l1 distance.",
    ),
    positive_definite_entry(
        id="matern",
        title="Matern",
        formula="2**(1-nu)/gamma(nu)*(sqrt(2*nu)*z/length)**nu*besselk(nu, sqrt(2*nu)*z/length)",
        build=_matern,
        reference=f"{_RW}, equation (4.14)",
        parameters=(
            positive_parameter(
                "nu", "3/2", "smoothness; above 400 it is the Gaussian to within 6e-4", largest=400
            ),
            _SCALE,
        ),
        note="The frequencies have a multivariate t distribution with 2 nu degrees of freedom.",
    ),
    positive_definite_entry(
        id="rational_quadratic",
        title="Rational quadratic",
        formula="(1 + z**2/(2*alpha*length**2))**(-alpha)",
        reference=f"{_RW}, equation (4.19)",
        parameters=(positive_parameter("alpha", 1, "exponent"), _SCALE),
    ),
    positive_definite_entry(
        id="cauchy",
        title="Cauchy",
        formula="1/(1 + z**2/length**2)",
        reference=f"{_RW}, equation (4.19) with alpha = 1",
        parameters=(_SCALE,),
    ),
    positive_definite_entry(
        id="generalized_cauchy",
        title="Generalized Cauchy",
        formula="(1 + (z/length)**power)**(-tail/power)",
        reference="Gneiting and Schlather, SIAM Rev. 46 (2004) 269, doi:10.1137/S0036144501394387",
        parameters=(
            positive_parameter("power", 2, "exponent of 1 - k at z = 0", largest=2),
            positive_parameter("tail", 1, "exponent of 1/z at infinity"),
            _SCALE,
        ),
    ),
    positive_definite_entry(
        id="powered_exponential",
        aliases=("stable",),
        title="Powered exponential (stable)",
        formula="exp(-(z/length)**power)",
        reference="Schoenberg, Trans. AMS 44 (1938) 522, doi:10.1090/S0002-9947-1938-1501980-0",
        parameters=(positive_parameter("power", 1, "exponent", largest=2), _SCALE),
    ),
    Family(
        id="gaussian_mixture",
        title="Signed sum of Gaussians",
        formula="sum of weight*exp(-z**2/(2*length**2))",
        build=_gaussian_mixture,
        finite=_TRUE,
        positive_definite=None,
        reference=f"{_LIU}, section 2 (linear combinations of positive definite kernels)",
        parameters=(_WEIGHTS, _LENGTHS),
    ),
    Family(
        id="spectral_mixture",
        title="Spectral mixture, a sum of Gaussians times cosines",
        formula="sum of weight*exp(-z**2/(2*length**2))*cos(frequency*z)",
        build=_spectral_mixture,
        finite=_TRUE,
        positive_definite=None,
        reference="Wilson and Adams, Gaussian process kernels for pattern discovery and "
        "extrapolation, ICML 2013, equation (12)",
        parameters=(
            _WEIGHTS,
            _sequence_parameter(
                "frequencies",
                parameter_symbol("frequencies") >= 0,
                "angular frequency of each summand, 2 pi times that of the paper",
            ),
            _LENGTHS,
        ),
        note="Positive definite for positive weights in d = 1. In d > 1 the kernel of the paper is "
        "a product of such kernels of single columns: radial(...).on([0])*radial(...).on([1]).",
    ),
    Family(
        id="delta_gaussian",
        title="Difference of two Gaussians",
        formula="exp(-z**2/(2*tau1**2)) - exp(-z**2/(2*tau2**2))",
        finite=_TRUE,
        positive_definite=sympy.Eq(parameter_symbol("tau1"), parameter_symbol("tau2")),
        reference=f"{_LIU}, section 4; Luo, Fang, Yang and Huang (2021), arXiv:2104.06204, (20)",
        parameters=(
            positive_parameter("tau1", 1, "length of the first"),
            positive_parameter("tau2", 10, "length of the second"),
        ),
    ),
    Family(
        id="spherical_polynomial",
        title="Polynomial kernel on the unit sphere, zero beyond z = 2",
        formula="(1 - (2 - 2*u)/a**2)**p",
        finite=sympy.Eq(_A, 2) & (2 * _P + 1 > DIMENSION),
        positive_definite=_FALSE,
        reference=f"Pennington, Yu and Kumar, NIPS 2015, equation (3); {_LIU}, equation (3)",
        parameters=(
            positive_parameter("a", 2, "divides z = |x - y|"),
            Parameter("p", sympy.Integer(2), sympy.Eq(sympy.Mod(_P, 1), 0) & (_P >= 1), "degree"),
        ),
        support="2",
        zonal=True,
        note="It is (1 - z^2/a^2)^p for z <= 2, with a jump and infinite mass if a is not 2. On "
        "the sphere it is positive definite for a >= sqrt(2); its exact features are monomials.",
    ),
    compact_entry(
        id="bochner_riesz",
        title="Bochner-Riesz",
        formula="(1 - z**2/length**2)**p",
        finite=2 * _P + 1 > DIMENSION,
        positive_definite=_FALSE,
        reference="Stein and Weiss, Fourier Analysis on Euclidean Spaces (1971), theorem IV.4.15",
        parameters=(positive_parameter("p", 2, "exponent at z = length"),),
    ),
    compact_entry(
        id="epanechnikov",
        title="Epanechnikov",
        formula="1 - z**2/length**2",
        finite=DIMENSION < 3,
        positive_definite=_FALSE,
        reference="Epanechnikov, Theory Probab. Appl. 14 (1969) 153, doi:10.1137/1114019",
    ),
    compact_entry(
        id="askey",
        aliases=("truncated_power_law",),
        title="Askey's truncated power",
        formula="(1 - z/length)**power",
        finite=2 * _POWER + 1 > DIMENSION,
        positive_definite=2 * _POWER - 1 >= DIMENSION,
        reference="Askey, Radial characteristic functions (1973); "
        "Golubov, Anal. Math. 7 (1981) for powers that are not integers",
        parameters=(positive_parameter("power", 2, "exponent at z = length"),),
    ),
    _wendland(0, "(1 - z)**2"),
    _wendland(1, "(1 - z)**4*(1 + 4*z)"),
    _wendland(2, "(1 - z)**6*(3 + 18*z + 35*z**2)/3"),
    _wendland(3, "(1 - z)**8*(1 + 8*z + 25*z**2 + 32*z**3)"),
    _network_entry(
        id="arc_cosine_0",
        title="Arc-cosine kernel of order 0 (random step features)",
        formula="1 - acos(u)/pi",
        finite=DIMENSION < 2,
        reference=_CHO_SAUL,
    ),
    _network_entry(
        id="arc_cosine_1",
        title="Arc-cosine kernel of order 1 (random ReLU features)",
        formula="(u*(pi - acos(u)) + sqrt(1 - u**2))/pi",
        finite=DIMENSION < 4,
        reference=_CHO_SAUL,
    ),
    _network_entry(
        id="arc_cosine_2",
        title="Arc-cosine kernel of order 2 (random squared-ReLU features); k(0) = 3",
        formula="(3*u*sqrt(1 - u**2) + (pi - acos(u))*(1 + 2*u**2))/pi",
        finite=DIMENSION < 6,
        reference=_CHO_SAUL,
    ),
    _network_entry(
        id="ntk",
        title="Neural tangent kernel of a two-layer ReLU network; k(0) = 2",
        formula="(2*u*(pi - acos(u)) + sqrt(1 - u**2))/pi",
        finite=DIMENSION < 2,
        reference=f"Jacot, Gabriel and Hongler, NeurIPS 2018; {_LIU}, theorem 4",
    ),
    Family(
        id="j_bessel",
        title="Mean of a plane wave over a sphere of R^m",
        formula="gamma(m/2)*(2/(radius*z))**(m/2 - 1)*besselj(m/2 - 1, radius*z)",
        build=_j_bessel,
        finite=_M >= DIMENSION,
        positive_definite=_M >= DIMENSION,
        reference=_SCHOENBERG,
        parameters=(
            Parameter("m", sympy.Integer(2), _M >= 1, "dimension of the space of the sphere"),
            positive_parameter("radius", 1, "radius of the sphere of frequencies"),
        ),
        note="For d = m its measure is uniform on the sphere |w| = radius; for d > m it has none.",
    ),
    Family(
        id="sinc",
        aliases=("cardinal_sine", "wave"),
        title="sin(z)/z, the mean of a plane wave over a sphere of R^3",
        formula="sin(z/length)/(z/length)",
        finite=DIMENSION <= 3,
        positive_definite=DIMENSION <= 3,
        reference=_SCHOENBERG,
        parameters=(_SCALE,),
    ),
    Family(
        id="cosine",
        title="cos(z), a plane wave in one dimension",
        formula="cos(z/length)",
        finite=DIMENSION <= 1,
        positive_definite=DIMENSION <= 1,
        reference=_SCHOENBERG,
        parameters=(_SCALE,),
        note="In d >= 2 a radial kernel of finite mass has a limit at infinity; cos has none.",
    ),
    *GEOSTATISTICS,
    *(
        Family(
            id=name,
            title=title,
            formula=formula,
            finite=_FALSE,
            positive_definite=_FALSE,
            reference="Micchelli, Constr. Approx. 2 (1986) 11, doi:10.1007/BF01893414",
            parameters=parameters,
            note="Unbounded, so of infinite mass in every dimension. Conditionally positive "
            f"definite of order {order}.",
        )
        for name, title, formula, parameters, order in (
            ("multiquadric", "Minus multiquadric", "-sqrt(1 + z**2/length**2)", (_SCALE,), 1),
            ("negative_distance", "Minus a power of the distance", "-z**power", (_EXPONENT,), 1),
            ("thin_plate", "Thin-plate spline", "z**2*log(z)", (), 2),
        )
    ),
)
