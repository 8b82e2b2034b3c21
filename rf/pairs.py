"""Which pairs of frequencies a coupling makes dependent, and in what way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rf.designed_directions import coupled_sizes
from rf.directions import haar_order, hadamard_order

__all__ = ["COUPLINGS", "Pairs", "coupled_pairs"]

#: The couplings whose pairs are known; "qmc" has none that could be counted.
COUPLINGS = (
    "iid",
    "orthogonal",
    "haar",
    "shared",
    "comonotone",
    "simplex",
    "hadamard",
    "designed",
)


@dataclass(frozen=True)
class Pairs:
    """``count`` pairs of frequencies of the parts ``first`` and ``second``, coupled in one way.

    ``kind`` names the law of the cosine (:func:`rf.cosines.cosine_law`), or is "same" (one
    direction, independent radii) or "comonotone" (one direction, radii of one key).  ``far`` pairs
    of comonotone parts have a second frequency with no partner in the first part.
    """

    first: int
    second: int
    kind: str
    count: int
    far: bool = False


def coupled_pairs(coupling: str, counts: Sequence[int], dim: int) -> list[Pairs]:
    """All pairs that are not independent: ordered ones within a part, unordered parts p < q.

    Examples
    --------
    >>> [(p.kind, p.count) for p in coupled_pairs("orthogonal", (5,), 3)]      # blocks of 3 and 2
    [('orthogonal', 8)]
    """
    parts = range(len(counts))
    pairs = [pair for p in parts for pair in _within(coupling, p, counts, dim)]
    pairs += [
        pair for p in parts for q in parts[p + 1 :] for pair in _across(coupling, p, q, counts, dim)
    ]
    # In dimension 1 a cosine does not see its direction.
    return [pair for pair in pairs if pair.count > 0 and (dim > 1 or pair.kind == "comonotone")]


def _within(coupling: str, p: int, counts: Sequence[int], dim: int) -> list[Pairs]:
    n = counts[p]
    if coupling == "iid":
        return []
    if coupling == "haar":
        return [Pairs(p, p, f"haar {haar_order(sum(counts), dim)}", n * (n - 1))]
    if coupling == "designed":
        return [Pairs(p, p, f"designed {n}", sum(k * (k - 1) for k in coupled_sizes(n, dim)))]
    if coupling == "hadamard":
        blocks = _blocks(n, hadamard_order(dim))
        inside = [Pairs(p, p, f"hadamard {b}", blocks.count(b) * b * (b - 1)) for b in set(blocks)]
        apart = n * (n - 1) - sum(pair.count for pair in inside)
        return [*inside, Pairs(p, p, "hadamard across", apart)]
    size, kind = (dim + 1, "simplex") if coupling == "simplex" else (dim, "orthogonal")
    return [Pairs(p, p, kind, sum(b * (b - 1) for b in _blocks(n, size)))]


def _across(coupling: str, p: int, q: int, counts: Sequence[int], dim: int) -> list[Pairs]:
    n, m = sorted((counts[p], counts[q]))
    if coupling == "haar":
        return [Pairs(p, q, f"haar {haar_order(sum(counts), dim)}", n * m)]
    if coupling == "hadamard":
        return [Pairs(p, q, "hadamard across", n * m)]
    if coupling not in ("shared", "comonotone"):
        return []
    # The common directions are the first n of one list of blocks.
    few, many = _blocks(n, dim), _blocks(m, dim)
    near = sum(b * (b - 1) for b in few)
    far = sum(a * b for a, b in zip(few, many, strict=False)) - n - near
    return [
        Pairs(p, q, "comonotone" if coupling == "comonotone" else "same", n),
        Pairs(p, q, "orthogonal", near),
        Pairs(p, q, "orthogonal", far, far=True),
    ]


def _blocks(n: int, size: int) -> list[int]:
    """Sizes of the blocks that n directions fill, the last one perhaps partly."""
    full, rest = divmod(n, size)
    return [size] * full + ([rest] if rest else [])
