"""The entries of the covariance models of geostatistics that machine learning does not use.

Matern, stable, generalized Cauchy and J-Bessel are in ``entries``.
"""

from __future__ import annotations

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
from spectra.kernels.kernel import Kernel, radial

__all__ = ["GEOSTATISTICS"]

_NU, _MU, _SMOOTHNESS, _LENGTH, _FREQUENCY, _HURST = map(
    parameter_symbol, ("nu", "mu", "smoothness", "length", "frequency", "hurst")
)
_CHILES = (
    "Chiles and Delfiner, Geostatistics: Modeling Spatial Uncertainty (2012), section 2.5.1, "
    "doi:10.1002/9781118136188"
)
_MATERN = "Matern, Spatial Variation (1960; 1986), section 2.5, doi:10.1007/978-1-4615-7892-5"
_GNEITING = "Gneiting, J. Multivariate Anal. 69 (1999) 88, doi:10.1006/jmva.1998.1800"


def _superspherical(nu: sympy.Expr, length: sympy.Expr) -> Kernel:
    """The kernel S_nu(x) = int_x^1 (1 - t^2)^nu dt / I_nu with x = z / length, S_nu(0) = 1.

    Integration by parts gives S_nu = S_(nu-1) - x (1 - x^2)^nu / ((2 nu + 1) I_nu), which starts at
    S_0 = 1 - x for integer nu and at S_(-1/2) = 2 acos(x) / pi for half-integer nu.
    """
    if not (2 * nu).is_Integer:
        return radial(
            "1 - 2*gamma(nu + 3/2)/(sqrt(pi)*gamma(nu + 1))*(z/length)"
            "*hyper([1/2, -nu], [3/2], (z/length)**2)",
            support=length,
            nu=nu,
            length=length,
        )
    x, gamma = Z / length, sympy.gamma
    ratio, order = 1 - x, sympy.Integer(1)
    if not nu.is_Integer:
        ratio, order = 2 * sympy.acos(x) / sympy.pi, sympy.S.Half
    while order <= nu:
        integral = (
            sympy.sqrt(sympy.pi) * gamma(order + 1) / (2 * gamma(order + sympy.Rational(3, 2)))
        )
        ratio -= x * (1 - x**2) ** order / ((2 * order + 1) * integral)
        order += 1
    return radial(sympy.expand(ratio) if nu.is_Integer else ratio, support=length)


def _generalized_wendland(mu: sympy.Expr, smoothness: sympy.Expr, length: sympy.Expr) -> Kernel:
    """Apply f -> int_x^1 t f(t) dt to (1 - x)^mu ``smoothness`` times; normalise to 1 at x = 0.

    With s = 1 - x, m integrations give s^(mu + m) sum_j c_j s^j, and the next one replaces each
    power s^a by s^(a+1)/(a+1) - s^(a+2)/(a+2).  x is z / length.
    """
    x, coefficients = Z / length, [sympy.Integer(1)]
    for m in range(int(smoothness)):
        pairs = zip([*coefficients, 0], [0, *coefficients], strict=True)
        coefficients = [(c - previous) / (mu + m + j + 1) for j, (c, previous) in enumerate(pairs)]
    at_0 = sum(coefficients)
    polynomial = sympy.expand(sum(c / at_0 * (1 - x) ** j for j, c in enumerate(coefficients)))
    return radial((1 - x) ** (mu + smoothness) * polynomial, support=length)


def _truncated_power_law(modes: str, power: str, *more: Parameter) -> Family:
    """Make the entry of a mixture of kernels (modes) exp(-(z/l)^power) over 0 < l < length."""
    formula = f"2*hurst/{power}*expint(1 + 2*hurst/{power}, (z/length)**{power})"
    return positive_definite_entry(
        id=f"tpl_{modes.lower()}",
        title=f"Truncated power law of {modes} modes",
        formula=formula,
        reference="Di Federico and Neuman, Water Resour. Res. 33 (1997), doi:10.1029/97WR00299",
        parameters=(
            Parameter("hurst", sympy.S.Half, (_HURST > 0) & (_HURST < 1), "Hurst coefficient"),
            *more,
            length_parameter("length of the longest mode"),
        ),
        note=f"The mean of the modes exp(-(z/l)^{power}) over 0 < l < length, with a density "
        "proportional to l^(2 hurst - 1).",
    )


GEOSTATISTICS: tuple[Family, ...] = (
    compact_entry(
        id="spherical",
        title="Spherical model: overlap of two balls of R^3",
        formula="1 - 3*z/(2*length) + z**3/(2*length**3)",
        finite=DIMENSION < 5,
        positive_definite=DIMENSION <= 3,
        reference=_CHILES,
    ),
    compact_entry(
        id="circular",
        title="Circular model: overlap of two discs of R^2",
        formula="2/pi*(acos(z/length) - z/length*sqrt(1 - z**2/length**2))",
        finite=DIMENSION < 4,
        positive_definite=DIMENSION <= 2,
        reference=_MATERN,
    ),
    compact_entry(
        id="pentaspherical",
        title="Pentaspherical model: overlap of two balls of R^5",
        formula="1 - 15*z/(8*length) + 5*z**3/(4*length**3) - 3*z**5/(8*length**5)",
        finite=DIMENSION < 7,
        positive_definite=DIMENSION <= 5,
        reference=_CHILES,
    ),
    compact_entry(
        id="superspherical",
        title="Superspherical model: overlap of two balls of R^(2 nu + 1)",
        formula="1 - 2*gamma(nu + 3/2)/(sqrt(pi)*gamma(nu + 1))*(z/length)"
        "*hyper([1/2, -nu], [3/2], z**2/length**2)",
        build=_superspherical,
        finite=2 * _NU + 3 > DIMENSION,
        positive_definite=2 * _NU + 1 >= DIMENSION,
        reference=f"{_MATERN}; {_GNEITING}",
        parameters=(positive_parameter("nu", "3/2", "exponent of the derivative at z = length"),),
        note="nu = 1/2, 1, 2 are the circular, the spherical and the pentaspherical model.",
    ),
    compact_entry(
        id="cubic",
        title="Cubic model, twice differentiable at 0",
        formula="1 - 7*(z/length)**2 + 35*(z/length)**3/4 - 7*(z/length)**5/2 + 3*(z/length)**7/4",
        finite=DIMENSION < 9,
        positive_definite=DIMENSION <= 3,
        reference=_CHILES,
    ),
    compact_entry(
        id="generalized_wendland",
        title="Generalized Wendland function phi_{mu, smoothness}",
        formula="f(x) -> int_x^1 t f(t) dt, applied `smoothness` times to (1 - x)**mu with "
        "x = z/length, normalised to k(0) = 1,",
        build=_generalized_wendland,
        finite=2 * (_MU + _SMOOTHNESS) + 1 > DIMENSION,
        positive_definite=2 * (_MU - _SMOOTHNESS) - 1 >= DIMENSION,
        reference="Gneiting, J. Multivariate Anal. 83 (2002) 493, doi:10.1006/jmva.2001.2056; "
        "Bevilacqua et al., Ann. Statist. 47 (2019) 828, doi:10.1214/17-AOS1652",
        parameters=(
            positive_parameter("mu", "7/2", "exponent of (1 - x)^mu"),
            Parameter(
                "smoothness",
                sympy.Integer(1),
                sympy.Eq(sympy.Mod(_SMOOTHNESS, 1), 0) & (_SMOOTHNESS >= 0),
                "integer; the kernel is 2 smoothness times differentiable at 0",
            ),
        ),
        note="smoothness = 0 is Askey's function; mu = floor(d/2) + smoothness + 1 is Wendland's. "
        "Its Fourier transform on R^d is a multiple of Askey's on R^(d + 2 smoothness), so both "
        "are positive definite under the same condition.",
    ),
    positive_definite_entry(
        id="dagum",
        title="Dagum",
        formula="1 - ((z/length)**tail/(1 + (z/length)**tail))**(power/tail)",
        reference="Berg, Mateu and Porcu, Bernoulli 14 (2008) 1134, doi:10.3150/08-BEJ139",
        parameters=(
            positive_parameter("power", "1/2", "exponent of 1 - k at z = 0", largest=2),
            positive_parameter("tail", 1, "exponent of 1/z at infinity", largest=2),
            length_parameter(),
        ),
        note="With x = z^2, -dk/dx is a multiple of x^(power/2 - 1) (1 + x^(tail/2))^(-power/tail "
        "- 1), a product of completely monotone functions if power and tail are at most 2.",
    ),
    Family(
        id="hole_effect",
        title="Hole effect model in one dimension",
        formula="(1 - z/length)*exp(-z/length)",
        finite=sympy.true,
        positive_definite=DIMENSION <= 1,
        reference="Kitanidis, Introduction to Geostatistics (1997), section 3.3",
        parameters=(length_parameter(),),
        note="For length 1 the density in d = 1 is 2 w^2/(pi (1 + w^2)^2); in d >= 2 the density "
        "is negative at w = 0. For a hole effect in d = 3 use sinc.",
    ),
    Family(
        id="damped_cosine",
        title="Damped cosine (exponential cosine), a hole effect model",
        formula="exp(-z/length)*cos(frequency*z)",
        finite=sympy.true,
        positive_definite=_LENGTH * _FREQUENCY * sympy.cot(sympy.pi / (2 * DIMENSION)) <= 1,
        reference="Yaglom, Correlation Theory of Stationary and Related Random Functions I (1987), "
        "section 22",
        parameters=(
            length_parameter("length of the damping"),
            positive_parameter("frequency", "1/2", "angular frequency of the cosine"),
        ),
    ),
    _truncated_power_law("Gaussian", "2"),
    _truncated_power_law("exponential", "1"),
    _truncated_power_law(
        "stable", "power", positive_parameter("power", "3/2", "exponent of the modes", largest=2)
    ),
)
