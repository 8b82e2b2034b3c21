"""One table of kernels with known answers, for the laws that every room is held to.

``PROBLEMS`` maps an id to a :class:`Problem`.  What is stated there is from closed forms or from
independent high-precision quadrature, never from the code under test; digits are strings, so
that a test may use as many as it needs.  ``naive_density`` is the slow twin of every route.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import sympy
from mpmath import mp

from spectra.formula.evaluate import mpmath_function
from spectra.formula.parsing import Z
from spectra.kernels.catalogue import catalogue
from spectra.kernels.catalogue.entry import DIMENSION
from spectra.kernels.kernel import Kernel, radial

__all__ = ["DIMENSION", "PROBLEMS", "Problem", "naive_density"]

D = DIMENSION
TRUE, FALSE = sympy.true, sympy.false
EVERY = (1, 2, 3, 7, 16, 64)


@dataclass(frozen=True)
class Problem:
    """A kernel and what is known of it.

    Attributes
    ----------
    id : str
    build : callable
        Makes the kernel (kernels are made late, so that importing the table is cheap).
    k_zero : str
        k(0) as an exact expression or digits.
    finite : sympy condition
        Finite total mass on R^d, in the symbol ``DIMENSION``.
    positive_definite : sympy condition or None
        Positive definite on R^d; None where it is not known in closed form.
    dims : tuple of int
        Dimensions worth a test.
    masses : mapping
        d -> (M+, M-) in reference digits; M+ - M- = k(0).
    norms : mapping
        d -> M+ + M- in reference digits.
    density : callable or None
        mu(w) on R^d by mpmath, ``density(w, d)``, where a formula of another kind is known.
    tags : frozenset of str
        unbounded, end_tail (the density has a pole at the end of its support).
    """

    id: str
    build: Callable[[], Kernel]
    k_zero: str = "1"
    finite: Any = TRUE
    positive_definite: Any = None
    dims: tuple[int, ...] = EVERY
    masses: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    norms: Mapping[int, str] = field(default_factory=dict)
    density: Callable[[Any, int], Any] | None = None
    tags: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return self.id

    @property
    def kernel(self) -> Kernel:
        """The kernel, made anew."""
        return self.build()

    def is_finite(self, dim: int) -> bool:
        """Whether the mass is finite in this dimension."""
        return bool(self.finite.subs(D, dim) == TRUE)

    def norm(self, dim: int) -> Any:
        """The reference value of M+ + M- as an mpmath number, or None."""
        if dim in self.norms:
            return mp.mpf(self.norms[dim])
        if dim in self.masses:
            return sum(mp.mpf(m) for m in self.masses[dim])
        positive = self.positive_definite
        if self.is_finite(dim) and positive is not None and positive.subs(D, dim) == TRUE:
            return mp.mpmathify(sympy.N(sympy.Rational(self.k_zero), 40))
        return None


# --- densities of another kind ----------------------------------------------------------------


def _chi_density(length: str) -> Callable[[Any, int], Any]:
    """Gaussian: mu is the normal density of covariance 1/length^2."""

    def density(w: Any, d: int) -> Any:
        scale = mp.mpf(length)
        return (scale / mp.sqrt(2 * mp.pi)) ** d * mp.exp(-((scale * w) ** 2) / 2)

    return density


def _delta_gaussian_density(w: Any, d: int) -> Any:
    return _chi_density("1")(w, d) - _chi_density("10")(w, d)


def _laplace_mixture_density(rates: tuple[str, ...], weights: tuple[str, ...]) -> Any:
    """sum of c exp(-a z): each is an inverse-Gamma mixture of Gaussians, done in closed form."""

    def density(w: Any, d: int) -> Any:
        half = mp.mpf(d + 1) / 2
        front = mp.gamma(half) / mp.pi**half
        return front * sum(
            mp.mpf(c) * mp.mpf(a) / (mp.mpf(a) ** 2 + w * w) ** half
            for a, c in zip(rates, weights, strict=True)
        )

    return density


def _arc_cosine_0_density(w: Any, d: int) -> Any:
    """An arcsine mixture of balls, as a 1F2."""
    half = mp.mpf(d) / 2
    front = mp.gamma(half + mp.mpf(1) / 2) / mp.gamma(half + 1) ** 2
    series = mp.hyp1f2(half + mp.mpf(1) / 2, half + 1, half + 1, -w * w)
    return mp.pi ** (-half - mp.mpf(1) / 2) * front * series


def _arc_cosine_density(order: int) -> Callable[[Any, int], Any]:
    """The order n in d dimensions is (n!)^2 (2 pi)^n times order 0 in d + 2n."""

    def density(w: Any, d: int) -> Any:
        front = mp.factorial(order) ** 2 * (2 * mp.pi) ** order
        return front * _arc_cosine_0_density(w, d + 2 * order)

    return density


def _ntk_density(w: Any, d: int) -> Any:
    phi = _arc_cosine_0_density
    return (
        phi(w, d)
        + (2 - d) * mp.pi * phi(w, d + 2)
        + 2 * mp.pi**2 * w * w * phi(w, d + 4)
    )  # fmt: skip


def _bochner_riesz_density(p: str, radius: str) -> Callable[[Any, int], Any]:
    def density(w: Any, d: int) -> Any:
        q, r, half = mp.mpf(p), mp.mpf(radius), mp.mpf(d) / 2
        order = half + q
        front = mp.gamma(q + 1) * 2**q * r**d / (2 * mp.pi) ** half
        return front * (r * w) ** (-order) * mp.besselj(order, r * w)

    return density


def _damped_wave_density(frequency: str) -> Callable[[Any, int], Any]:
    """exp(-z) cos(b z): the exponential of a complex rate."""

    def density(w: Any, d: int) -> Any:
        half, rate = mp.mpf(d + 1) / 2, mp.mpc(1, -mp.mpf(frequency))
        return mp.gamma(half) / mp.pi**half * mp.re(rate / (rate * rate + w * w) ** half)

    return density


def _superspherical_density(nu: str) -> Callable[[Any, int], Any]:
    """-k' is a multiple of (1 - z^2)^nu: its moments sum to a 1F2, with mu(0) by parts."""

    def density(w: Any, d: int) -> Any:
        n, half = mp.mpf(nu), mp.mpf(d) / 2
        moment = mp.beta(half + mp.mpf(1) / 2, n + 1) / mp.beta(mp.mpf(1) / 2, n + 1)
        at_zero = moment / (2**d * mp.pi**half * mp.gamma(half + 1))
        series = mp.hyp1f2(half + mp.mpf(1) / 2, half + 1, half + mp.mpf(3) / 2 + n, -w * w / 4)
        return at_zero * series

    return density


def _ball_polynomial_density(*coefficients: str) -> Callable[[Any, int], Any]:
    """sum_m c_m z^m on z <= 1: the moments of a plane wave, one 1F2 for each power."""

    def density(w: Any, d: int) -> Any:
        half = mp.mpf(d) / 2
        front = 2 / (2**d * mp.pi**half * mp.gamma(half))
        with mp.extraprec(120):  # the powers cancel as far as the edge is smooth
            return front * mp.fsum(
                mp.mpmathify(sympy.Rational(c))
                / (d + m)
                * mp.hyp1f2(half + mp.mpf(m) / 2, half, half + mp.mpf(m) / 2 + 1, -w * w / 4)
                for m, c in enumerate(coefficients)
                if c != "0"
            )

    return density  # fmt: skip


def _hole_effect_density(w: Any, d: int) -> Any:
    """(1 - z) exp(-z): exp(-a z) and its derivative in a, at a = 1."""
    half, q = mp.mpf(d + 1) / 2, 1 + w * w
    return mp.gamma(half) / mp.pi**half * (2 / q**half - 2 * half / q ** (half + 1))


# --- kernels ----------------------------------------------------------------------------------


def _named(name: str, **parameters: Any) -> Callable[[], Kernel]:
    def build() -> Kernel:
        found = catalogue[name]
        return found if isinstance(found, Kernel) else found(**parameters)

    return build


def _typed(formula: str, **options: Any) -> Callable[[], Kernel]:
    return lambda: radial(formula, **options)


_TABLE = (
    # smooth and positive definite in every dimension
    Problem("gaussian", _named("gaussian", length=1), positive_definite=TRUE,
            density=_chi_density("1")),
    Problem("gaussian_long", _named("gaussian", length=12.5), positive_definite=TRUE,
            density=_chi_density("12.5")),
    Problem("laplace", _named("laplace", length=1), positive_definite=TRUE,
            density=_laplace_mixture_density(("1",), ("1",))),
    Problem("matern_0.1", _named("matern", nu=0.1), positive_definite=TRUE),
    Problem("matern_1", _named("matern", nu=1, length=2), positive_definite=TRUE),
    Problem("matern_3/2", _named("matern", nu=1.5), positive_definite=TRUE),
    Problem("matern_5/2_typed", _typed("(1 + sqrt(5)*z + 5*z**2/3)*exp(-sqrt(5)*z)"),
            positive_definite=TRUE),
    Problem("matern_50", _named("matern", nu=50), positive_definite=TRUE),
    Problem("rational_quadratic_1/2", _named("rational_quadratic", alpha=0.5),
            positive_definite=TRUE),
    Problem("rational_quadratic_3", _named("rational_quadratic", alpha=3, length=2),
            positive_definite=TRUE),
    Problem("cauchy", _named("cauchy"), positive_definite=TRUE),
    Problem("stable_3/2", _named("powered_exponential", power=1.5), positive_definite=TRUE),
    # signed sums of smooth kernels
    Problem("delta_gaussian", _named("delta_gaussian"), k_zero="0", positive_definite=FALSE,
            dims=(*EVERY, 8, 256), density=_delta_gaussian_density,
            masses={
                1: ("0.79821594091232471460", "0.79821594091232471460"),
                2: ("0.94500297209521568895", "0.94500297209521568895"),
                8: ("0.99994643116831079706", "0.99994643116831079706"),
                16: ("0.99999999178965902292479069248938", "0.99999999178965902292479069248938"),
            }),
    Problem("laplace_difference", _typed("exp(-z) - exp(-2*z)"), k_zero="0",
            positive_definite=FALSE,
            density=_laplace_mixture_density(("1", "2"), ("1", "-1")),
            masses={
                d: (m, m)
                for d, m in (
                    (1, "0.216346895938785459658288881555"),
                    (2, "0.259921049894873164767210607278"),
                    (3, "0.278337779174509010632137927494"),
                    (7, "0.302370177374021083489561923251"),
                    (16, "0.313543836734331598458949731606"),
                    (64, "0.320355520727092105249853456234"),
                )
            }),
    Problem("gaussian_minus_laplace", _typed("exp(-z**2/2) - 0.3*exp(-z)"), k_zero="7/10",
            positive_definite=FALSE),
    Problem("laguerre", _typed("(1 - z**2)*exp(-z**2/2)"), positive_definite=D <= 1,
            masses={
                2: ("1.21306131942526684720759906998", "0.213061319425266847207599069982"),
                3: ("1.40262169931206924067958411324", "0.402621699312069240679584113242"),
                7: ("1.94093194228923146445922820527", "0.940931942289231464459228205273"),
                16: ("2.72189600894964748014070790025", "1.72189600894964748014070790025"),
                64: ("4.99593245935692085111017779971", "3.99593245935692085111017779971"),
            }),
    Problem("quartic_gaussian", _typed("(1 - z**2 + z**4/8)*exp(-z**2/2)")),
    # atoms and bounded spectra
    Problem("constant", _named("constant", value=-0.5), k_zero="-1/2", positive_definite=FALSE,
            masses=dict.fromkeys(EVERY, ("0", "0.5"))),
    Problem("gaussian_minus_constant", _typed("exp(-z**2/2) - 1/2"), k_zero="1/2",
            positive_definite=FALSE, masses=dict.fromkeys(EVERY, ("1", "0.5"))),
    Problem("cosine", _named("cosine"), finite=D <= 1, positive_definite=D <= 1,
            dims=(1, 2, 3, 16)),
    Problem("sinc", _named("sinc"), finite=D <= 3, positive_definite=D <= 3,
            dims=(1, 2, 3, 4, 7), tags=frozenset({"end_tail"})),
    Problem("bessel_j0", _typed("besselj(0, 2*z)"), finite=D <= 2, positive_definite=D <= 2,
            dims=(1, 2, 3), tags=frozenset({"end_tail"})),
    Problem("j_bessel_16", _named("j_bessel", m=16, radius=5), finite=D <= 16,
            positive_definite=D <= 16, dims=(1, 2, 3, 7, 16, 17), tags=frozenset({"end_tail"})),
    Problem("j_bessel_9/2", _named("j_bessel", m=4.5, radius=1), finite=D <= 4,
            positive_definite=D <= 4, dims=(1, 2, 3, 4, 5), tags=frozenset({"end_tail"})),
    Problem("sinc_minus_cosine", _typed("sin(z)/z - cos(3*z)/2"), k_zero="1/2", finite=D <= 1,
            positive_definite=FALSE, dims=(1, 2), masses={1: ("1", "0.5")},
            tags=frozenset({"end_tail"})),
    # periods without a ratio
    Problem("two_seasons", _typed("exp(cos(z) + cos(sqrt(2)*z) - 2)"), finite=D <= 1,
            positive_definite=D <= 1, dims=(1, 2, 3)),
    # polynomials in z^2 on a ball
    *(
        Problem(f"spherical_polynomial_2_{p}", _named("spherical_polynomial", a=2, p=p),
                finite=2 * p + 1 > D, positive_definite=FALSE, dims=(1, 2, 3, 5, 7, 16, 64),
                norms=norms, density=_bochner_riesz_density(str(p), "2"))
        for p, norms in (
            (1, {1: "1.2325411052580975742", 2: "2.0297939364875008782"}),
            (2, {1: "1.0705193731719585082", 2: "1.2272080001638874052",
                 3: "1.577287259103741308659104678569209", 4: "2.6619752057696677747"}),
            (3, {3: "1.2044304422240326377", 5: "1.8469494569178636719", 6: "3.15798587672"}),
        )
    ),
    Problem("spherical_polynomial_3_1", _named("spherical_polynomial", a=3, p=1), finite=FALSE,
            positive_definite=FALSE, dims=(1, 2, 3, 16)),
    Problem("spherical_polynomial_4_10", _named("spherical_polynomial", a=4, p=10), finite=FALSE,
            positive_definite=FALSE, dims=(1, 2, 3, 16)),
    Problem("epanechnikov", _named("epanechnikov", length=3), finite=D < 3,
            positive_definite=FALSE, dims=(1, 2, 3, 7), density=_bochner_riesz_density("1", "3"),
            norms={1: "1.2325411052580975742", 2: "2.0297939364875008782"}),
    Problem("half_disc", _named("bochner_riesz", p=0.5), finite=D < 2, positive_definite=FALSE,
            dims=(1, 2, 3), density=_bochner_riesz_density("0.5", "1")),
    # odd powers on a ball
    Problem("askey_1", _named("askey", power=1), finite=D < 3, positive_definite=D <= 1,
            dims=(1, 2, 3)),
    Problem("askey_2", _named("askey", power=2), finite=D < 5, positive_definite=D <= 3,
            dims=(1, 2, 3, 5, 7)),
    Problem("askey_3/2", _named("askey", power=1.5), finite=D < 4, positive_definite=D <= 2,
            dims=(1, 2, 3, 4)),
    # known by numbers only; cos(pi z/2)^4 is 3/8 + cos(pi z)/2 + cos(2 pi z)/8, an elementary
    # density in d = 1, whose lobes were integrated and summed to 24 digits by mpmath
    Problem("cosine_fourth_on_a_ball", lambda: radial("cos(pi*z/2)**4", support=1), finite=D < 9,
            positive_definite=FALSE, dims=(1, 9), norms={1: "1.0044935638362439000707"}),
    *(
        Problem(f"wendland_3{k}", _named(f"wendland_3{k}", length=2), finite=4 * k + 5 > D,
                positive_definite=D <= 3, dims=(1, 2, 3, 4 * k + 4, 4 * k + 5))
        for k in range(4)
    ),
    # geostatistics
    Problem("spherical", _named("spherical"), finite=D < 5, positive_definite=D <= 3,
            dims=(1, 2, 3, 4, 5), density=_superspherical_density("1")),
    Problem("circular", _named("circular"), finite=D < 4, positive_definite=D <= 2,
            dims=(1, 2, 3, 4), density=_superspherical_density("0.5")),
    Problem("pentaspherical", _named("pentaspherical"), finite=D < 7, positive_definite=D <= 5,
            dims=(1, 2, 3, 5, 6, 7), density=_superspherical_density("2")),
    Problem("superspherical_3/2", _named("superspherical", nu=1.5), finite=D < 6,
            positive_definite=D <= 4, dims=(1, 2, 3, 4, 5, 6),
            density=_superspherical_density("1.5")),
    Problem("cubic", _named("cubic"), finite=D < 9, positive_definite=D <= 3,
            dims=(1, 2, 3, 4, 9),
            density=_ball_polynomial_density("1", "0", "-7", "35/4", "0", "-7/2", "0", "3/4")),
    Problem("generalized_wendland_3_1", _named("generalized_wendland", mu=3, smoothness=1),
            finite=D < 9, positive_definite=D <= 3, dims=(1, 2, 3, 4, 9),
            density=_ball_polynomial_density("1", "0", "-10", "20", "-15", "4")),
    Problem("generalized_wendland_7/2_1", _named("generalized_wendland", mu=3.5, smoothness=1),
            finite=D < 10, positive_definite=D <= 4, dims=(1, 2, 3, 4, 10)),
    Problem("dagum", _named("dagum"), positive_definite=TRUE, dims=(1, 2, 3, 7)),
    Problem("hole_effect", _named("hole_effect"), positive_definite=D <= 1,
            dims=(1, 2, 3, 7, 16), density=_hole_effect_density),
    Problem("damped_cosine", _named("damped_cosine", frequency=0.5), positive_definite=D <= 3,
            dims=(1, 2, 3, 4, 7), density=_damped_wave_density("0.5")),
    Problem("cancelling_edge", _typed("(1 - z**2) - 2*(1 - z)", support=1), k_zero="-1",
            finite=D < 5, positive_definite=FALSE, dims=(1, 2, 3, 5),
            masses=dict.fromkeys((1, 2, 3), ("0", "1"))),
    Problem("two_radii", lambda: (_named("askey", power=2)()
                                  - 0.5 * _named("askey", power=2, length=2)()),
            k_zero="1/2", finite=D < 5, positive_definite=D < 2, dims=(1, 2, 3, 5)),
    Problem("ball_and_gaussian", lambda: (radial("1 - z**2", support=1) - radial("exp(-z**2)")),
            k_zero="0", finite=D < 3, positive_definite=FALSE, dims=(1, 2, 3)),
    # kernels of the sphere
    Problem("arc_cosine_0", _named("arc_cosine_0"), finite=D < 2, positive_definite=FALSE,
            dims=(1, 2, 3, 16), norms={1: "1.2582068"}, density=_arc_cosine_0_density),
    Problem("arc_cosine_1", _named("arc_cosine_1"), finite=D < 4, positive_definite=FALSE,
            dims=(1, 2, 3, 4, 16), density=_arc_cosine_density(1),
            norms={1: "1.0873177623", 2: "1.330092711370744070312206288",
                   3: "2.132532404393271514261243"}),
    Problem("arc_cosine_2", _named("arc_cosine_2"), k_zero="3", finite=D < 6,
            positive_definite=FALSE, dims=(1, 2, 3, 5, 6, 16), density=_arc_cosine_density(2)),
    Problem("ntk", _named("ntk"), k_zero="2", finite=D < 2, positive_definite=FALSE,
            dims=(1, 2, 3, 16), norms={1: "2.2731973"}, density=_ntk_density),
    # outside the catalogue, on the half-line
    Problem("damped_wave", _typed("exp(-z)*cos(3*z)"), positive_definite=D <= 1,
            dims=(1, 2, 3, 7, 16), density=_damped_wave_density("3")),
    Problem("shifted_inverse", _typed("1/(1+z)"), positive_definite=TRUE, dims=(1, 2, 3, 7, 16)),
    # nothing to find
    Problem("zero", _typed("exp(-z) - exp(-z)"), k_zero="0", positive_definite=TRUE,
            masses=dict.fromkeys(EVERY, ("0", "0"))),
    Problem("multiquadric", _named("multiquadric", length=1), k_zero="-1", finite=FALSE,
            positive_definite=FALSE, tags=frozenset({"unbounded"})),
    Problem("negative_distance", _named("negative_distance", power=1), k_zero="0", finite=FALSE,
            positive_definite=FALSE, tags=frozenset({"unbounded"})),
    Problem("thin_plate", _named("thin_plate"), k_zero="0", finite=FALSE,
            positive_definite=FALSE, tags=frozenset({"unbounded"})),
    # powers at the edge and at the origin that differ by tenths
    Problem("superspherical_13/10", _named("superspherical", nu=1.3),
            finite=5 * D < 28, positive_definite=5 * D <= 18, dims=(1, 2, 3, 4, 5),
            density=_superspherical_density("1.3")),
    # bells beside the origin and far from it, with a closed pair in these dimensions
    Problem("spectral_mixture", _named("spectral_mixture", weights=[1, 0.5],
                                       frequencies=[0.5, 20], lengths=[1, 3]),
            k_zero="3/2", positive_definite=D <= 1, dims=(1, 3)),
)  # fmt: skip

#: Every problem by its id.
PROBLEMS: Mapping[str, Problem] = MappingProxyType({p.id: p for p in _TABLE})


def _zero(order: Any, n: int) -> Any:
    """The n-th positive zero of J_order; of the cosine where order is -1/2, as mpmath refuses."""
    if order < 0:
        return (n - mp.mpf(1) / 2) * mp.pi
    return mp.besseljzero(order, n)


def naive_density(kernel: Kernel, dim: int, w: Any, *, digits: int = 25) -> Any:
    """mu(w) by quadrature of the Hankel integral, slowly, piece by piece, knowing nothing.

    Finite supports and kernels that fall fast are integrated in half-waves; slow ones are summed
    between the zeros of the Bessel function (mpmath ``quadosc``).
    """
    with mp.workdps(digits + 10):
        half, w = mp.mpf(dim) / 2, mp.mpf(w)

        def integrand(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
            return lambda z: function(z) * z**half * mp.besselj(half - 1, w * z)

        total = mp.mpf(0)
        for piece in kernel.pieces:
            function = mpmath_function(piece.expr, Z)
            f = integrand(function)
            end = None
            if piece.support != sympy.oo:
                end = mp.mpmathify(sympy.N(piece.support, digits + 10))
            else:
                reach = next(
                    (r for r in (8, 16, 32, 64, 128)
                     if abs(function(mp.mpf(r))) * r ** (half + 1) < mp.mpf(10) ** -(digits + 5)),
                    None,
                )  # fmt: skip
                end = None if reach is None else mp.mpf(reach)
            if end is None:
                total += mp.quadosc(f, [0, mp.inf], zeros=lambda n: _zero(half - 1, n) / w)
                continue
            pieces = max(4, int(mp.ceil(end * w / mp.pi)))
            total += mp.quad(f, mp.linspace(0, end, pieces + 1))
        return (2 * mp.pi) ** (-half) * w ** (1 - half) * total
