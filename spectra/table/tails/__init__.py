"""Oscillating tails of radial distributions."""
