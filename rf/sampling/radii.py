"""How the radii of one part are drawn: the probabilities u that go into its inverse CDF."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np

from spectra.base.arrays import FloatArray

__all__ = ["RADII", "Radii", "RadiusRule"]

Radii = Literal["iid", "stratified"]

# (keys, offsets) -> probabilities u, each uniform on [0, 1), one draw to a row.  Keys and offsets
# are iid uniform.
RadiusRule = Callable[[FloatArray, FloatArray], FloatArray]


def _iid_radii(keys: FloatArray, offsets: FloatArray) -> FloatArray:
    return keys


def _stratified_radii(keys: FloatArray, offsets: FloatArray) -> FloatArray:
    """(rank of the key + offset) / n: a uniform random order of the layers."""
    n = keys.shape[-1]
    rank = np.argsort(np.argsort(keys, axis=-1), axis=-1)
    # The greatest double below 1 keeps a rounded-up (n - 1 + offset) / n inside the domain.
    return np.asarray(np.minimum((rank + offsets) / n, np.nextafter(1.0, 0.0)))


#: How the radii of a part are drawn, by name; see :func:`rf.draw_frequencies`.
RADII: Mapping[str, RadiusRule] = MappingProxyType(
    {"iid": _iid_radii, "stratified": _stratified_radii}
)
