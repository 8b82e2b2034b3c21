"""Oscillating tails of densities: as sums of waves, and the masses of their Jordan parts."""
