"""Kernels with waves: each wave is summed along its own ray."""
