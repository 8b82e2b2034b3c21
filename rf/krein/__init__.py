"""Ridge regression, classification and feature transforms for indefinite kernels."""
