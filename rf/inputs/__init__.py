"""Validation and conversion of inputs: kernels, rows, length scales, other array libraries."""

from rf.inputs.arrays import user_stacklevel
from rf.inputs.tables import resolve_kernel

__all__ = ["resolve_kernel", "user_stacklevel"]
