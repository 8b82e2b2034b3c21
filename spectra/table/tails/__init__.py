"""Tails of radial distributions that oscillate."""
