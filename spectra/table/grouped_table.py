r"""The table of a kernel of groups of columns: each group's law once, and how they are multiplied.

.. math:: k(D) = \sum_t c_t \prod_{g \in t} k_g(|D_g|), \qquad D_g = (D_j / l_j)_{j \in g}

and each k_g is the kernel of a :class:`~spectra.table.spectral_table.SpectralTable` in the
dimension of its group.  A choice of a part of each factor is a part of the product: a frequency of
it is the sum of independent frequencies of the factors, its mass the product of theirs, and its
sign as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.arrays import FloatArray, IntArray, frozen_array
from spectra.base.numbers import bound_text
from spectra.errors import ParameterError
from spectra.table.part import Part
from spectra.table.parted_table import FrequencySample, PartedTable
from spectra.table.spectral_table import SpectralTable
from spectra.table.table_file import Arrays

__all__ = ["Group", "GroupedTable", "ProductPart"]

# Of one product of two doubles, in parts of it.
_ROUNDING = 2.0**-53


@final
@dataclass(frozen=True, eq=False)
class Group:
    """Columns with their lengths, and the number of their law in the table."""

    law: int
    columns: tuple[int, ...]
    lengths: FloatArray

    def distances(self, differences: FloatArray) -> FloatArray:
        """|D_g| at differences D of shape (..., d)."""
        return np.asarray(
            np.linalg.norm(differences[..., list(self.columns)] / self.lengths, axis=-1)
        )


@final
@dataclass(frozen=True, eq=False)
class ProductPart:
    """A part of a product: the product of masses and signs of parts of the laws of its groups.

    ``factors`` are the numbers of the groups in the table, each with its part; a constant has none.
    """

    mass: float
    mass_error: float
    sign: float
    factors: tuple[tuple[int, Part], ...]

    @property
    def phase(self) -> float:
        """0 for a positive part, pi for a negative one."""
        return 0.0 if self.sign > 0 else float(np.pi)


@final
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GroupedTable(PartedTable):
    """Tabulated measures of groups of columns, and the sum of products that they make.

    Parameters
    ----------
    dim : int
        Number of columns of the data.
    laws : tuple of SpectralTable
        Each once, in the dimension of its groups and in units of their lengths.
    groups : tuple of Group
    terms : tuple of (float, tuple of int)
        A number times the product of the kernels of some groups, by their numbers.
    formula : str

    Examples
    --------
    >>> from spectra import derive, radial
    >>> space, time = radial("exp(-z**2/2)"), radial("exp(-z)")
    >>> table = derive(space.on([0, 1]) * time.on([2]) - 0.5 * time.on([2]), 3, cache=False)
    >>> len(table.laws), [(p.sign, round(p.mass, 12)) for p in table.parts]
    (2, [(1.0, 1.0), (-1.0, 0.5)])
    >>> table.expected_kernel([[0.0, 0.0, 1.0]]).round(6)
    array([0.18394])
    """

    dim: int
    laws: tuple[SpectralTable, ...]
    groups: tuple[Group, ...]
    terms: tuple[tuple[float, tuple[int, ...]], ...]
    formula: str

    version = 2
    convention = (
        "k(D) = sum over terms of weight * product over groups of k_law(|D_columns / lengths|)"
    )

    def __post_init__(self) -> None:
        for law in self.laws:
            if not law.is_radial or law.sphere or np.isfinite(law.domain):
                raise ParameterError(
                    f"A group of columns needs the table of a radial kernel at all distances; that "
                    f"of {law.formula} is shifted, on the sphere, or designed on a range."
                )
        for group in self.groups:
            columns, lengths = group.columns, group.lengths
            known = 0 <= group.law < len(self.laws) and set(columns) <= set(range(self.dim))
            size = self.laws[group.law].dim if known else 0
            fits = size == len(columns) == len(set(columns)) == lengths.size
            if not known or not fits or not np.all((lengths > 0) & np.isfinite(lengths)):
                raise ParameterError(
                    f"A group of the law {group.law}, the columns {columns} and the lengths "
                    f"{lengths} does not fit {len(self.laws)} law(s) and {self.dim} columns."
                )
        for weight, groups in self.terms:
            if not np.isfinite(weight) or not set(groups) <= set(range(len(self.groups))):
                raise ParameterError(
                    f"A term {(weight, groups)} does not fit {len(self.groups)} groups."
                )

    def __repr__(self) -> str:
        return (
            f"GroupedTable of {self.formula} on R^{self.dim}: {len(self.parts)} part(s) of mass "
            f"{self.mass:.12g}, {len(self.laws)} law(s); u-error {bound_text(self.u_error)}"
        )

    def law_of(self, group: int) -> SpectralTable:
        """The table of a group."""
        return self.laws[self.groups[group].law]

    @cached_property
    def parts(self) -> tuple[ProductPart, ...]:
        """Every product of parts, term by term."""
        found = []
        for weight, groups in self.terms:
            for chosen in itertools.product(*(self.law_of(g).parts for g in groups)):
                mass = abs(weight) * prod(p.mass for p in chosen)
                upper = abs(weight) * prod(p.mass + p.mass_error for p in chosen)
                sign = float(np.sign(weight)) * prod(p.sign for p in chosen)
                factors = tuple(zip(groups, chosen, strict=True))
                error = upper - mass + (1 + len(factors)) * _ROUNDING * mass
                found.append(ProductPart(mass, error, sign, factors))
        return tuple(found)

    @cached_property
    def is_jordan(self) -> bool:
        """Whether the parts overlap nowhere, so that their masses are those of the Jordan parts.

        True where all have one sign; or where no column is in two factors of a term, no two terms
        are of the same columns, and no law of a factor has a mass at the frequency 0: the measures
        then live on different coordinate planes, and give no mass to one another's.
        """
        if len({p.sign for p in self.parts}) < 2:
            return True
        sets = []
        for _, groups in self.terms:
            columns = [c for g in groups for c in self.groups[g].columns]
            if len(set(columns)) < len(columns):
                return False
            sets.append(frozenset(columns))
        atoms = any(p.law.cdf(0.0) > 0.0 for law in self.laws for p in law.parts)
        return len(set(sets)) == len(sets) and (not atoms or len(sets) == 1)

    @property
    def k_zero(self) -> float:
        """k(0)."""
        return float(
            sum(c * prod(self.law_of(g).k_zero for g in groups) for c, groups in self.terms)
        )

    @property
    def u_error(self) -> float:
        """Error in probability of the worst product, the sum of those of its factors."""
        errors = (sum(self.law_of(g).u_error for g in groups) for _, groups in self.terms)
        return max(errors, default=0.0)

    @property
    def bias(self) -> float:
        """Bound of |k - expected_kernel| from what the laws leave out on purpose."""
        terms = ((abs(c), [self.law_of(g) for g in groups]) for c, groups in self.terms)
        return sum(c * float(_spread((law.mass, law.bias) for law in laws)) for c, laws in terms)

    @property
    def provenance(self) -> str:
        """How the laws were found."""
        return "; ".join(dict.fromkeys(law.provenance for law in self.laws))

    def _draw(self, chosen: IntArray, drawn: FrequencySample, rng: np.random.Generator) -> None:
        for number, part in enumerate(self.parts):
            rows = np.flatnonzero(chosen == number)
            for group, own in part.factors:
                directions = rng.standard_normal((rows.size, len(self.groups[group].columns)))
                directions /= np.linalg.norm(directions, axis=1, keepdims=True)
                radii = own.law.rvs(rows.size, rng)
                self.place(drawn.frequencies, rows, group, radii[:, None] * directions)

    def place(self, frequencies: FloatArray, rows: Any, group: int, of_group: FloatArray) -> None:
        """Add frequencies of a group, in units of its lengths, to rows of those of the data."""
        where = self.groups[group]
        frequencies[np.ix_(rows, list(where.columns))] += of_group / where.lengths

    def _members(self) -> tuple[dict[str, Any], Arrays]:
        arrays: Arrays = {f"group{i}.lengths": g.lengths for i, g in enumerate(self.groups)}
        laws = []
        for i, law in enumerate(self.laws):
            header, members = law.members()
            laws.append(header)
            arrays.update({f"law{i}.{name}": array for name, array in members.items()})
        own = {
            "laws": laws,
            "groups": [{"law": g.law, "columns": list(g.columns)} for g in self.groups],
            "terms": [{"weight": c, "groups": list(groups)} for c, groups in self.terms],
        }
        return own, arrays

    @classmethod
    def _of(cls, header: dict[str, Any], arrays: Arrays, path: str) -> Self:
        return cls(
            dim=header["dim"],
            laws=tuple(
                SpectralTable.of_members(law, _with_prefix(f"law{i}.", arrays), path)
                for i, law in enumerate(header["laws"])
            ),
            groups=tuple(
                Group(
                    g["law"],
                    tuple(g["columns"]),
                    frozen_array(arrays.pop(f"group{i}.lengths"), "lengths", 1),
                )
                for i, g in enumerate(header["groups"])
            ),
            terms=tuple((float(t["weight"]), tuple(t["groups"])) for t in header["terms"]),
            formula=str(header["formula"]),
        )

    def _expected(self, differences: ArrayLike) -> tuple[FloatArray, FloatArray]:
        D = self._differences(differences)
        waves = [self.laws[g.law]._expected(g.distances(D)) for g in self.groups]
        value, error = np.zeros((2, *D.shape[:-1]))
        for weight, groups in self.terms:
            value += weight * prod((waves[g][0] for g in groups), start=np.array(1.0))
            error += abs(weight) * _spread((np.abs(waves[g][0]), waves[g][1]) for g in groups)
        return value, error


def _spread(factors: Iterable[tuple[Any, Any]]) -> Any:
    """Error of a product, from the sizes of its factors and their errors."""
    pairs, one = list(factors), np.array(1.0)
    return prod((s + e for s, e in pairs), start=one) - prod((s for s, _ in pairs), start=one)


def _with_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin so, taken out and without the prefix."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}
