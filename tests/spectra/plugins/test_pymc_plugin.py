"""PyMC's HSGP with our spectra: its own kernels, exact prior covariances, exact gradients."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import spectra as sp
from spectra.errors import ParameterError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    pm = pytest.importorskip("pymc", reason="PyMC is an extra: pip install pymc")
    import pytensor
    import pytensor.tensor as pt

from spectra.plugins.pymc import covariance

# Without a C compiler PyTensor says so at every function.
pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)
TWINS = [
    ("gaussian", pm.gp.cov.ExpQuad),
    (sp.catalogue["matern"](nu=1.5), pm.gp.cov.Matern32),
    (sp.catalogue["matern"](nu=2.5), pm.gp.cov.Matern52),
]


@pytest.fixture(autouse=True)
def without_compiling():
    with pytensor.config.change_flags(mode="FAST_COMPILE", cxx=""):
        yield


def kernel_of(kernel: sp.Kernel | str) -> sp.Kernel:
    return sp.catalogue[kernel]() if isinstance(kernel, str) else kernel


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize(("kernel", "twin"), TWINS, ids=str)
def test_spectra_and_matrices_are_those_of_pymcs_own_kernels(kernel, twin, dim) -> None:
    omega, X = RNG.uniform(0.1, 4, (30, dim)), RNG.normal(size=(8, dim))
    ls = RNG.uniform(0.5, 2.0, dim)
    ours, theirs = covariance(kernel, dim, ls=ls), twin(dim, ls=ls)
    np.testing.assert_allclose(
        ours.power_spectral_density(omega).eval(),
        theirs.power_spectral_density(omega).eval(),
        rtol=1e-7,  # PyMC takes roots of small whole numbers in single precision
    )
    np.testing.assert_allclose(ours(X).eval(), kernel_of(kernel).gram(X / ls), atol=1e-14)
    np.testing.assert_allclose(ours(X).eval(), theirs(X).eval(), atol=2e-6)  # it adds 1e-12 to s
    np.testing.assert_allclose(ours(X, diag=True).eval(), np.ones(8))


@pytest.mark.parametrize(
    ("kernel", "dim"), [("gaussian", 2), ("spherical", 3), ("dagum", 1), ("matern(nu=7/4)", 2)]
)
def test_gradients_in_the_lengths_are_differences(kernel: str, dim: int) -> None:
    omega, X = RNG.uniform(0.1, 4, (20, dim)), RNG.uniform(size=(6, dim))
    ls, step = pt.vector("ls"), 1e-5
    model, weights = covariance(kernel, dim, ls=ls), RNG.normal(size=20)
    for total in (pt.sum(weights * model.power_spectral_density(omega)), pt.sum(model(X) ** 2)):
        value = pytensor.function([ls], total)
        gradient = pytensor.function([ls], pt.grad(total, ls))
        at = RNG.uniform(0.5, 2.0, dim)
        difference = [
            (value(at + step * e) - value(at - step * e)) / (2 * step) for e in np.eye(dim)
        ]
        np.testing.assert_allclose(gradient(at), difference, rtol=1e-6, atol=1e-7)


def hsgp_prior(kernel: sp.Kernel, dim: int, X: np.ndarray, m: int) -> np.ndarray:
    """The covariance of the prior of HSGP at the rows of X."""
    with pm.Model():
        gp = pm.gp.HSGP(m=[m] * dim, L=[4.0] * dim, cov_func=covariance(kernel, dim, ls=0.8))
        phi, root = gp.prior_linearized(X)
    features = phi.eval() * root.eval()
    return features @ features.T


@pytest.mark.parametrize(
    ("kernel", "dim"),
    [
        (sp.catalogue["cubic"](length=2), 2),
        (sp.catalogue["matern"](nu=1.5) * sp.radial("exp(-z**2/8)"), 1),
    ],
    ids=str,
)
def test_the_prior_of_hsgp_has_the_covariance_of_a_kernel_that_pymc_has_not(kernel, dim) -> None:
    # Far from the ends the error is the mass outside the box of frequencies, which holds a ball
    # of radius pi m / (2 L), and images at distances of 8 and more, where k is below 1e-3.
    X = RNG.uniform(-0.7, 0.7, (10, dim))
    exact = kernel.gram(X / 0.8)
    m = 60 if dim == 1 else 40
    fine, coarse = (np.abs(hsgp_prior(kernel, dim, X, n) - exact).max() for n in (m, m // 4))
    beyond, shares = np.pi * m / (2 * 4.0), (np.arange(4000) + 0.5) / 4000
    parts = sp.derive(kernel, dim).parts
    missing = sum(p.mass * np.mean(p.law.ppf(shares) > 0.8 * beyond) for p in parts)
    assert fine < missing + 2e-3 < 0.05
    assert fine < coarse


def test_what_is_no_covariance_is_refused() -> None:
    with pytest.raises(ParameterError, match="not positive definite on R\\^3"):
        covariance("circular", 3, ls=1.0)
    covariance("circular", 3, ls=1.0, active_dims=[0, 2])


def test_a_kernel_without_a_spectrum_is_refused_when_the_model_is_made() -> None:
    periodic = covariance("exp(-2*sin(z)**2)", 1, ls=1.0)  # its matrices are right
    with pm.Model(), pytest.raises(ParameterError, match="not a density"):
        pm.gp.HSGP(m=[9], L=[4.0], cov_func=periodic).prior_linearized(np.zeros((3, 1)))


def test_covariances_and_their_graphs_can_be_pickled() -> None:
    model, X = covariance("spherical", 2, ls=[1.0, 2.0]), RNG.normal(size=(5, 2))
    again, graph = (pickle.loads(pickle.dumps(part)) for part in (model, model(X)))
    np.testing.assert_array_equal(again(X).eval(), model(X).eval())
    np.testing.assert_array_equal(graph.eval(), model(X).eval())
