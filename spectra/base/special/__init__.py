"""Bessel functions and spherical harmonics from dimension 1 to 1000."""
