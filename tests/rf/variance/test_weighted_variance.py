"""Weighted draws of sums of shifts: the radial variance, seen through several vectors."""

import numpy as np
import pytest

from rf.sampling.frequencies import COUPLINGS
from rf.schemes.table_scheme import SamplingOptions, scheme_for
from rf.variance.variance import VarianceModel
from spectra.derivation import derive
from spectra.errors import ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial

SLOW = pytest.mark.slow
GAUSSIAN = radial("exp(-z**2/8)")
MATERN = catalogue["matern"](nu=1.5)
WITHIN = [c for c, k in COUPLINGS.items() if not k.across_parts]


def differences(dim):
    rng = np.random.default_rng(dim)
    return np.vstack([np.zeros(dim), rng.normal(size=(3, dim)) / np.sqrt(dim)])


@pytest.mark.parametrize(
    ("radii", "dim"), [("iid", 1), ("stratified", 2), pytest.param("iid", 16, marks=SLOW)]
)
def test_one_shift_is_the_radial_kernel_at_shifted_rows(dim, radii):
    shift, D = np.full(dim, 0.4 / dim), differences(dim)
    table = derive((GAUSSIAN - 0.5 * MATERN).shift(shift), dim)
    alone, _ = table.one_shift()
    model, counts = VarianceModel(table, D), (dim + 2, 3)
    oracle = VarianceModel(alone, np.linalg.norm(D + shift, axis=1))
    for coupling in WITHIN:
        value, error = model.variance(counts, coupling=coupling, radii=radii)
        exact, other = oracle.variance(counts, coupling=coupling, radii=radii)
        assert np.all(np.abs(value - exact) <= error + other)
        assert np.all(error < 2e-5)


def test_what_is_known_of_one_vector_alone_is_refused_for_more():
    table, D = derive(MATERN.shift([1.2, 0, 0]) + 0.5 * GAUSSIAN.shift(0.3), 3), differences(3)
    with pytest.raises(ParameterError, match="within each part"):
        VarianceModel(table, D).variance((3, 2), coupling="shared", radii="iid")
    with pytest.raises(ParameterError, match="within each part"):
        scheme_for(table, 9, SamplingOptions("shared", "iid", "equal"), D)
