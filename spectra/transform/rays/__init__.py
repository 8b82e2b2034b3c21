"""Every singular point of a kernel sends out one ray: densities by sums in ball arithmetic."""
