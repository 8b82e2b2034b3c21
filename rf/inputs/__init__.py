"""What users pass in: kernels, rows, length scales, arrays of other libraries."""

from rf.inputs.tables import named_kernel

__all__ = ["named_kernel"]
