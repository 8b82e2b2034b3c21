"""Proofs of the cells of tables, through which radii are drawn: true, sharp, and seeing damage."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from grids import by_turns
from mpmath import mp

import spectra as sp
from spectra.certify.balls import precision
from spectra.certify.cell_proofs import cell_proof
from spectra.certify.signed_laws import law_of_mixture
from spectra.table import RadialLaw


@cache
def tabulated(formula, dim, support=None):
    of = sp.existence(sp.radial(formula, support=support), dim=dim).measure
    return of, sp.tabulate(of)


def proved(of, law, sign=1):
    with precision(160):
        return cell_proof(law_of_mixture(of.components, sign, 160), law)


def with_cells(law, cells):
    """The same panels, drawn through other cells."""
    other = RadialLaw(law.left, law.right, law.tail)
    vars(other)["cells"] = cells
    return other


def changed(law, key, term, by):
    """The cell at a key with one coefficient changed, and the number of its column."""
    columns = law.cells.columns.copy()
    i = int(np.floor(key * law.cells.count)) - law.cells.first
    assert not law.cells.is_open[i]
    columns[term, i] += by
    return with_cells(law, replace(law.cells, columns=columns)), i


def test_the_bound_of_the_cells_holds_for_their_polynomials_and_is_sharp():
    """Rayleigh: F(w) = 1 - exp(-w^2/2), in thirty digits, at both ends of cells and within."""
    of, table = tabulated("exp(-z**2/2)", 2)
    law = table.parts[0].law
    proof, cells = proved(of, law), law.cells
    largest = mp.mpf(0)
    with mp.workdps(30):
        for i in np.flatnonzero(~cells.is_open).tolist():
            for s in (0, 1) if i % 7 else (0, mp.mpf("0.37"), mp.mpf("0.81"), 1):
                w = mp.polyval([mp.mpf(c) for c in cells.columns[::-1, i].tolist()], s)
                key = mp.mpf(cells.first + i + s) / cells.count
                below = -mp.expm1(-w * w / 2) if key >= 0 else -mp.exp(-w * w / 2)
                largest = max(largest, abs(below - key))
    assert largest <= proof.u_error <= 1.3 * largest + 4e-16
    assert proof.not_ascending == 0.0
    assert proof.step_back <= 5e-14


@pytest.mark.parametrize(
    ("formula", "dim", "sign"),
    by_turns(
        [("exp(-z**2/2)", 1, 1), ("exp(-z)", 3, 1), ("exp(-z**2/2) - exp(-z**2/200)", 16, -1)],
        every=2,
    ),
)
def test_cells_are_as_right_as_the_panels_they_were_made_from(formula, dim, sign):
    of, table = tabulated(formula, dim)
    part = next(p for p in table.parts if p.sign == sign)
    proof = proved(of, part.law, sign)
    whole = table.certified(of)[table.parts.index(part)]
    assert proof.u_error <= whole.u_error <= 1e-14
    assert proof.rounding <= whole.rounding <= 3e-14
    assert whole.pieces > proof.pieces
    assert proof.not_ascending == 0.0


@pytest.mark.parametrize(("key", "term"), by_turns(product([-0.2, 0.3], [0, 1, 3, 6]), every=3))
def test_a_changed_coefficient_of_a_cell_is_reported_with_its_size(key, term):
    of, table = tabulated("exp(-z**2/2)", 3)
    (part,) = table.parts
    by = 1e-12
    broken, i = changed(part.law, key, term, by)
    # The probability of a cell over its length is its mean density.
    width = broken.cells.columns[1:, i].sum()
    size = by / (broken.cells.count * width)
    proof = proved(of, broken)
    assert 0.99 * size <= proof.u_error <= 3.0 * size
    table = replace(table, parts=(replace(part, law=broken),))
    (whole,) = table.certified(of)
    assert whole.rigorous
    assert whole.u_error == proof.u_error


def test_a_cell_that_descends_is_not_certified_to_ascend():
    of, table = tabulated("exp(-z**2/2)", 3)
    law = table.parts[0].law
    i = int(0.3 * law.cells.count) - law.cells.first
    broken, _ = changed(law, 0.3, 1, -2.0 * law.cells.columns[1, i])
    proof = proved(of, broken)
    assert proof.not_ascending == 1.0 / law.cells.count
    assert proof.u_error >= 0.99 / law.cells.count
    broken, _ = changed(law, 0.3, 0, 1.0)
    proof = proved(of, broken)
    assert proof.not_ascending == 0.0
    assert proof.step_back == pytest.approx(1.0 / broken.cells.columns[0, i + 1], rel=1e-2)


def test_a_law_that_is_drawn_by_its_panels_alone_needs_no_cells():
    of, table = tabulated("exp(-z**2/2)", 3)
    law = table.parts[0].law
    empty = replace(law.cells, is_open=np.ones_like(law.cells.is_open))
    proof = proved(of, with_cells(law, empty))
    assert proof.pieces == 0
    assert proof.u_error <= 2.0**-52 + 1e-30
