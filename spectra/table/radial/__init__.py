"""The distribution of a radius: inverse CDF, CDF, integrals."""
