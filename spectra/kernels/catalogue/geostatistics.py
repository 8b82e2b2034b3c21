"""The covariance models of geostatistics by their names there, each with where it is valid.

Positive definite where and only where it is said; a model that geostatistics shares with machine
learning (Matern, stable, generalized Cauchy, J-Bessel) stands with those and answers to both names.
"""

from __future__ import annotations

import sympy

from spectra.formula.reader.parsing import Z
from spectra.kernels.catalogue.entry import (
    DIMENSION,
    Entry,
    Parameter,
    ending_at_length,
    length,
    positive,
    valid_everywhere,
)
from spectra.kernels.catalogue.entry import parameter_symbol as _symbol
from spectra.kernels.kernel import Kernel, radial

__all__ = ["GEOSTATISTICS"]

_NU, _MU, _SMOOTHNESS, _LENGTH, _FREQUENCY, _HURST = map(
    _symbol, ("nu", "mu", "smoothness", "length", "frequency", "hurst")
)
_3_2 = sympy.Rational(3, 2)
_CHILES = (
    "Chiles and Delfiner, Geostatistics: Modeling Spatial Uncertainty (2012), section 2.5.1, "
    "doi:10.1002/9781118136188"
)
_MATERN = "Matern, Spatial Variation (1960; 1986), section 2.5, doi:10.1007/978-1-4615-7892-5"
_HAT = "Gneiting, J. Multivariate Anal. 69 (1999) 88, doi:10.1006/jmva.1998.1800"


def _superspherical(nu: sympy.Expr, length: sympy.Expr) -> Kernel:
    """The share of int_0^1 (1 - t^2)^nu dt that lies beyond x = z / length.

    By parts, the share of nu is that of nu - 1 less x (1 - x^2)^nu/((2 nu + 1) int_0^1 ...), which
    ends in the tent for whole nu and in an arc cosine for halves.
    """
    if not (2 * nu).is_Integer:
        return radial(
            "1 - 2*gamma(nu + 3/2)/(sqrt(pi)*gamma(nu + 1))*(z/length)"
            "*hyper([1/2, -nu], [3/2], (z/length)**2)",
            support=length,
            nu=nu,
            length=length,
        )
    x = Z / length
    share, order = 1 - x, sympy.Integer(1)
    if not nu.is_Integer:
        share, order = 2 * sympy.acos(x) / sympy.pi, sympy.S.Half
    while order <= nu:
        whole = sympy.sqrt(sympy.pi) * sympy.gamma(order + 1) / (2 * sympy.gamma(order + _3_2))
        share -= x * (1 - x**2) ** order / ((2 * order + 1) * whole)
        order += 1
    return radial(sympy.expand(share) if nu.is_Integer else share, support=length)


def _generalized_wendland(mu: sympy.Expr, smoothness: sympy.Expr, length: sympy.Expr) -> Kernel:
    """(1 - x)^mu, integrated by x dx as often as ``smoothness`` says, and 1 at x = 0.

    In s = 1 - x the result of m integrations is s^(mu + m) sum_j c_j s^j, and the next takes s^a to
    s^(a+1)/(a+1) - s^(a+2)/(a+2).
    """
    x, coefficients = Z / length, [sympy.Integer(1)]
    for m in range(int(smoothness)):
        pairs = zip([*coefficients, 0], [0, *coefficients], strict=True)
        coefficients = [(c - last) / (mu + m + j + 1) for j, (c, last) in enumerate(pairs)]
    total = sum(coefficients)
    polynomial = sympy.expand(sum(c / total * (1 - x) ** j for j, c in enumerate(coefficients)))
    return radial((1 - x) ** (mu + smoothness) * polynomial, support=length)


def _truncated_power_law(modes: str, power: str, *more: Parameter) -> Entry:
    """Modes exp(-(z/l)^power) of all lengths l up to the longest, of variance l^(2 H - 1) dl."""
    formula = f"2*hurst/{power}*expint(1 + 2*hurst/{power}, (z/length)**{power})"
    return valid_everywhere(
        id=f"tpl_{modes.lower()}",
        title=f"Truncated power law of {modes} modes",
        formula=formula,
        reference="Di Federico and Neuman, Water Resources Research 33 (1997) 1075, "
        "doi:10.1029/97WR00299",
        parameters=(
            ("hurst", sympy.Rational(1, 2), (_HURST > 0) & (_HURST < 1), "Hurst's coefficient"),
            *more,
            length("the longest of the modes"),
        ),
        note="2 hurst times the integral over 0 < l < length of the modes, weighted by "
        "l^(2 hurst - 1): a mixture of covariances. Near 0 it falls like z^(2 hurst), if that is "
        "below the order of the modes.",
    )


GEOSTATISTICS: tuple[Entry, ...] = (
    ending_at_length(
        id="spherical",
        title="Spherical model: what two balls of R^3 have in common",
        formula="1 - 3*z/(2*length) + z**3/(2*length**3)",
        finite=DIMENSION < 5,
        positive_definite=DIMENSION <= 3,
        reference=_CHILES,
        note="The superspherical model of nu = 1.",
    ),
    ending_at_length(
        id="circular",
        title="Circular model: what two discs of R^2 have in common",
        formula="2/pi*(acos(z/length) - z/length*sqrt(1 - z**2/length**2))",
        finite=DIMENSION < 4,
        positive_definite=DIMENSION <= 2,
        reference=_MATERN,
        note="The superspherical model of nu = 1/2.",
    ),
    ending_at_length(
        id="pentaspherical",
        title="Pentaspherical model: what two balls of R^5 have in common",
        formula="1 - 15*z/(8*length) + 5*z**3/(4*length**3) - 3*z**5/(8*length**5)",
        finite=DIMENSION < 7,
        positive_definite=DIMENSION <= 5,
        reference=_CHILES,
        note="The superspherical model of nu = 2.",
    ),
    ending_at_length(
        id="superspherical",
        title="Superspherical model: what two balls of R^(2 nu + 1) have in common",
        formula="1 - 2*gamma(nu + 3/2)/(sqrt(pi)*gamma(nu + 1))*(z/length)"
        "*hyper([1/2, -nu], [3/2], z**2/length**2)",
        build=_superspherical,
        finite=2 * _NU + 3 > DIMENSION,
        positive_definite=2 * _NU + 1 >= DIMENSION,
        reference=f"{_MATERN}; {_HAT}",
        parameters=(positive("nu", "3/2", "order of -k' at the edge"),),
        note="-k'(z) is a multiple of (1 - z^2/length^2)^nu. Where 2 nu is whole it is elementary.",
    ),
    ending_at_length(
        id="cubic",
        title="Cubic model, twice differentiable at 0",
        formula="1 - 7*(z/length)**2 + 35*(z/length)**3/4 - 7*(z/length)**5/2 + 3*(z/length)**7/4",
        finite=DIMENSION < 9,
        positive_definite=DIMENSION <= 3,
        reference=_CHILES,
    ),
    ending_at_length(
        id="generalized_wendland",
        title="Generalized Wendland function phi_{mu, smoothness}",
        formula="(1 - x)**mu integrated by x dx `smoothness` times, 1 at x = z/length = 0,",
        build=_generalized_wendland,
        finite=2 * (_MU + _SMOOTHNESS) + 1 > DIMENSION,
        positive_definite=2 * (_MU - _SMOOTHNESS) - 1 >= DIMENSION,
        reference="Gneiting, J. Multivariate Anal. 83 (2002) 493, doi:10.1006/jmva.2001.2056; "
        "Bevilacqua et al., Ann. Statist. 47 (2019) 828, doi:10.1214/17-AOS1652",
        parameters=(
            positive("mu", "7/2", "power before the integrations"),
            (
                "smoothness",
                sympy.Integer(1),
                sympy.Eq(sympy.Mod(_SMOOTHNESS, 1), 0) & (_SMOOTHNESS >= 0),
                "integrations, a whole number: C^(2 smoothness) at 0",
            ),
        ),
        note="smoothness = 0 is Askey's function; mu = floor(d/2) + smoothness + 1 is Wendland's. "
        "An integration lowers the dimension by two, so that the condition is Askey's in "
        "d + 2 smoothness, and necessary as well.",
    ),
    valid_everywhere(
        id="dagum",
        title="Dagum",
        formula="1 - ((z/length)**tail/(1 + (z/length)**tail))**(power/tail)",
        reference="Berg, Mateu and Porcu, Bernoulli 14 (2008) 1134, doi:10.3150/08-BEJ139",
        parameters=(
            positive("power", "1/2", "order at 0", most=2),
            positive("tail", 1, "order at infinity", most=2),
            length(),
        ),
        note="With x = z^2, -dk/dx is x^(power/2 - 1) (1 + x^(tail/2))^(-power/tail - 1) up to a "
        "factor: a product of completely monotone functions where both orders are at most 2.",
    ),
    Entry(
        id="hole_effect",
        title="Hole effect of one dimension",
        formula="(1 - z/length)*exp(-z/length)",
        finite=sympy.true,
        positive_definite=DIMENSION <= 1,
        reference="Kitanidis, Introduction to Geostatistics (1997), section 3.3",
        parameters=(length(),),
        note="In d = 1 its spectrum is 2 w^2/(pi (1 + w^2)^2); in d >= 2 its integral is negative. "
        "In three dimensions a hole is had from sinc.",
    ),
    Entry(
        id="damped_cosine",
        title="Damped cosine (exponential cosine), a hole effect",
        formula="exp(-z/length)*cos(frequency*z)",
        finite=sympy.true,
        positive_definite=_LENGTH * _FREQUENCY * sympy.cot(sympy.pi / (2 * DIMENSION)) <= 1,
        reference="Yaglom, Correlation Theory of Stationary and Related Random Functions I (1987), "
        "section 22",
        parameters=(length("length of the damping"), positive("frequency", "1/2", "of the wave")),
    ),
    _truncated_power_law("Gaussian", "2"),
    _truncated_power_law("exponential", "1"),
    _truncated_power_law(
        "stable", "power", positive("power", "3/2", "order of the modes at z = 0", most=2)
    ),
)
