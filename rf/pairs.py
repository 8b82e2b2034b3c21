"""Which pairs of frequencies a coupling makes dependent, and in what way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rf.designed_directions import coupled_sizes
from rf.directions import haar_order, hadamard_order

__all__ = ["ACROSS_PARTS", "COUPLINGS", "Pairs", "coupled_pairs", "pairs_across", "pairs_within"]

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

#: Those that couple frequencies of different parts.
ACROSS_PARTS = ("haar", "shared", "comonotone", "hadamard")


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
    n, parts = sum(counts), range(len(counts))
    pairs = [pair for p in parts for pair in pairs_within(coupling, p, counts[p], dim, n)]
    for p in parts:
        for q in parts[p + 1 :]:
            pairs += pairs_across(coupling, (p, q), (counts[p], counts[q]), dim, n)
    return pairs


def pairs_within(coupling: str, p: int, n: int, dim: int, total: int) -> list[Pairs]:
    """The dependent pairs of the n frequencies of part p, out of ``total`` in all parts."""
    return [pair for pair in _within(coupling, p, n, dim, total) if _counts(pair, dim)]


def pairs_across(
    coupling: str, parts: tuple[int, int], counts: tuple[int, int], dim: int, total: int
) -> list[Pairs]:
    """The dependent pairs of two parts p < q, out of ``total`` frequencies in all parts."""
    return [pair for pair in _across(coupling, parts, counts, dim, total) if _counts(pair, dim)]


def _counts(pair: Pairs, dim: int) -> bool:
    # In dimension 1 a cosine does not see its direction.
    return pair.count > 0 and (dim > 1 or pair.kind == "comonotone")


def _within(coupling: str, p: int, n: int, dim: int, total: int) -> list[Pairs]:
    if coupling == "iid":
        return []
    if coupling == "haar":
        return [Pairs(p, p, f"haar {haar_order(total, dim)}", n * (n - 1))]
    if coupling == "designed":
        return [Pairs(p, p, f"designed {n}", sum(k * (k - 1) for k in coupled_sizes(n, dim)))]
    if coupling == "hadamard":
        order = hadamard_order(dim)
        full, rest = divmod(n, order)
        inside = [Pairs(p, p, f"hadamard {order}", full * order * (order - 1))]
        inside.append(Pairs(p, p, f"hadamard {rest}", rest * (rest - 1)))
        apart = n * (n - 1) - sum(pair.count for pair in inside)
        return [*inside, Pairs(p, p, "hadamard across", apart)]
    size, kind = (dim + 1, "simplex") if coupling == "simplex" else (dim, "orthogonal")
    return [Pairs(p, p, kind, _in_blocks(n, size))]


def _across(
    coupling: str, parts: tuple[int, int], counts: tuple[int, int], dim: int, total: int
) -> list[Pairs]:
    if coupling not in ACROSS_PARTS:
        return []
    n, m = sorted(counts)
    if coupling == "haar":
        return [Pairs(*parts, f"haar {haar_order(total, dim)}", n * m)]
    if coupling == "hadamard":
        return [Pairs(*parts, "hadamard across", n * m)]
    # The common directions are the first n of one list of blocks, and the last of the n blocks may
    # go on in the longer part.
    near = _in_blocks(n, dim)
    full, rest = divmod(n, dim)
    far = full * dim**2 + rest * min(dim, m - full * dim) - n - near
    return [
        Pairs(*parts, "comonotone" if coupling == "comonotone" else "same", n),
        Pairs(*parts, "orthogonal", near),
        Pairs(*parts, "orthogonal", far, far=True),
    ]


def _in_blocks(n: int, size: int) -> int:
    """Ordered pairs within the blocks that n directions fill, the last one perhaps partly."""
    full, rest = divmod(n, size)
    return full * size * (size - 1) + rest * (rest - 1)
