"""Densities of formulas on a ball without a closed form."""
