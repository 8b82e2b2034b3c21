"""Masses of oscillating tails."""
