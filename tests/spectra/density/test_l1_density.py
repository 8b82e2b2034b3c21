"""Densities of kernels of the l1 distance against other quadratures."""

import numpy as np
import pytest

import spectra as sp
from spectra.errors import AccuracyError, NoRouteError
from spectra.table.l1.truncated import hat_density, proposal_density

NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
NODES, WEIGHTS = 0.5 * (NODES + 1.0), 0.5 * WEIGHTS


def by_quadrature(f, w):
    """The integral of f(|x|_1) cos(w.x) over (2 pi)^d, f on [0, 1]: a cubature of the simplex."""
    d = w.size
    axes = np.meshgrid(*[NODES] * d, indexing="ij")
    weight = np.prod(np.meshgrid(*[WEIGHTS] * d, indexing="ij"), axis=0)
    s, *shares = axes
    x, left = [], s
    for k, t in enumerate(shares):
        x.append(left * (1.0 - t))
        weight = weight * s if k == 0 else weight * s * np.prod(shares[:k], axis=0)
        left = left * t
    x.append(left)
    wave = np.prod([np.cos(a * b) for a, b in zip(w, x, strict=True)], axis=0)
    return float((weight * f(s) * wave).sum()) / np.pi**d


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize(
    ("kernel", "f"),
    [
        (sp.l1("Max(1 - z, 0)"), lambda s: 1 - s),
        (sp.l1("(1 - z)**3*exp(z/2)", support=1), lambda s: (1 - s) ** 3 * np.exp(s / 2)),
    ],
)
def test_the_density_is_the_integral_over_the_cross_polytope(kernel, f, dim):
    density = sp.spectral_density(kernel, dim)
    rng = np.random.default_rng(dim)
    rows = [*rng.normal(size=(6, dim)) * 4, np.zeros(dim), np.full(dim, 3.0), 5.0 * np.eye(dim)[0]]
    for w in rows:
        value, error = density.enclosure(w)
        # 48 nodes to an axis and numbers below 1: the cubature errs by rounding alone.
        assert abs(value - by_quadrature(f, w)) <= error + 1e-15
        assert error <= 1e-15 * density.bound


@pytest.mark.parametrize("dim", [1, 2, 16])
def test_the_density_of_an_exponential_is_a_product_where_frequencies_are_close_or_not(dim):
    density = sp.spectral_density(sp.l1("exp(-sqrt(2)*z)"), dim)
    t = 2**0.5
    rng = np.random.default_rng(dim)
    rows = np.array(
        [
            np.zeros(dim),
            np.ones(dim),
            1.0 + 1e-13 * np.arange(dim),
            1e-9 * rng.normal(size=dim),
            rng.normal(size=dim),
            100.0 * rng.normal(size=dim),
        ]
    )
    value, error = density.enclosure(rows)
    exact = np.prod(t / np.pi / (t**2 + rows**2), axis=1)
    assert np.all(np.abs(value - exact) <= error + 4e-16 * dim * exact)
    assert np.all(error <= 1e-15 * density.bound)


@pytest.mark.parametrize("dim", [2, 3])
def test_the_density_in_doubles_is_that_in_balls(dim):
    rng = np.random.default_rng(dim)
    close = 40.0 + 0.3 * rng.normal(size=(60, dim))
    on_edge = 7.0 + np.array([0.0, 0.5, 0.25])[:dim] + 1e-6 * rng.normal(size=(20, dim))
    rows = np.concatenate(
        [
            3 * rng.normal(size=(60, dim)),
            1e4 * rng.normal(size=(20, dim)),
            1e8 + rng.normal(size=(20, dim)),
            close,
            on_edge,
            np.zeros((1, dim)),
            np.full((1, dim), 0.05),
            9.0 * np.eye(dim),
        ]
    )
    exact, _ = sp.spectral_density(sp.l1("Max(1 - z, 0)"), dim).enclosure(rows)
    # What a draw sees is the share of the law that dominates it.
    assert np.all(np.abs(hat_density(rows) - exact) <= 1e-13 * proposal_density(rows))


#: Kernels that are below 1e-17 beyond 1, and what they are less their limit.
WITHIN_ONE = {
    "a limit": (sp.l1("exp(-40*z**2) + 2"), lambda s: np.exp(-40 * s**2)),
    "an end": (sp.l1("(1 - z)**2/(1 + z)", support=1), lambda s: (1 - s) ** 2 / (1 + s)),
    "a sum": (
        sp.l1("exp(-40*z**2) - Max(1 - z, 0)*cos(3*z)"),
        lambda s: np.exp(-40 * s**2) - (1 - s) * np.cos(3 * s),
    ),
}


@pytest.mark.parametrize(
    ("name", "dim"),
    [
        ("an end", 2),
        pytest.param("a limit", 3, marks=pytest.mark.slow),
        pytest.param("a sum", 2, marks=pytest.mark.slow),
    ],
)
def test_any_formula_has_the_density_that_a_cubature_has(name, dim):
    kernel, f = WITHIN_ONE[name]
    density = sp.spectral_density(kernel, dim)
    assert not density.is_proved
    rng = np.random.default_rng(dim)
    rows = [rng.normal(size=dim) * 4, np.zeros(dim), 3.0 + np.eye(dim)[0]]
    size = by_quadrature(lambda s: np.abs(f(s)), np.zeros(dim))
    for w in rows:
        value, error = density.enclosure(w)
        assert abs(value - by_quadrature(f, w)) <= error + 1e-14 * size
        assert error <= 1e-11 * size


@pytest.mark.parametrize("dim", [3, pytest.param(7, marks=pytest.mark.slow)])
def test_the_density_of_a_slow_kernel_is_a_mean_of_products(dim):
    # 1/(1 + z) is the mean of exp(-t z) over exp(-t) dt.
    density = sp.spectral_density(sp.l1("1/(1 + z)"), dim)
    t, share = np.polynomial.legendre.leggauss(40)
    edges = np.concatenate([[0.0], 2.0 ** np.arange(-40, 8.0)])
    t = (edges[:-1, None] + np.diff(edges)[:, None] * 0.5 * (t + 1)).ravel()
    share = (np.diff(edges)[:, None] * 0.5 * share).ravel()
    anywhere = np.random.default_rng(dim).normal(size=dim) * 3
    for w in (anywhere, 5.0 + 1e-12 * np.arange(dim)):
        exact = np.sum(
            share * np.exp(-t) * np.prod(t[:, None] / np.pi / (t[:, None] ** 2 + w**2), 1)
        )
        value, error = density.enclosure(w)
        assert abs(value - exact) <= error + 1e-13 * exact
        assert error <= 1e-5 * exact


def test_waves_beyond_all_distances_of_a_sum_are_refused():
    with pytest.raises(AccuracyError, match="did not settle"):
        sp.spectral_density(sp.l1("1/(1 + z)**2"), 2)([1e80, 1e80])


def test_roots_and_branches_at_a_radius_are_integrated_to_their_ends():
    # (1 - z)^(1/2) by its substitution 1 - z = u^2, which leaves a polynomial in u.
    density = sp.spectral_density(sp.l1("sqrt(1 - z)", support=1), 2)
    for w in ([1.0, 2.0], [3.0, 3.0]):
        u, share = 1.0 - NODES, WEIGHTS
        s = 1.0 - u**2
        a, b = w
        # The mean of cos cos over the simplex |x|_1 = s, by one more rule.
        x = s[:, None] * NODES
        wave = (np.cos(a * x) * np.cos(b * (s[:, None] - x))) @ WEIGHTS * s
        exact = np.sum(share * 2 * u * u * wave) / np.pi**2
        value, error = density.enclosure(w)
        assert abs(value - exact) <= error + 1e-15
        assert error <= 1e-12


def test_a_peak_too_narrow_for_the_sums_is_refused():
    with pytest.raises(NoRouteError, match="far larger near"):
        sp.spectral_density(sp.l1("exp(-10**8*(z - 1/3)**2)*Heaviside(1 - z) + exp(-z**2)"), 2)


def test_what_has_no_density_is_refused_with_the_reason():
    for text in ("cos(z)", "z"):
        with pytest.raises(NoRouteError, match="does not decay"):
            sp.spectral_density(sp.l1(text), 2)


@pytest.mark.slow
@pytest.mark.parametrize("w", [[0.0], [0.0, 0.0, 1.0]])
def test_a_density_is_asked_where_it_is_infinite_and_says_so(w):
    with pytest.raises(AccuracyError, match="infinite there"):
        sp.spectral_density(sp.l1("1/(1 + z)"), len(w))(w)
