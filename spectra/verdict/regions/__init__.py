"""Verdicts on a bounded range of distances and on the sphere."""
