"""What users pass in: kernels, rows, length scales, arrays of other libraries."""
