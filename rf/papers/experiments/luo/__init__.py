"""The experiments of Luo et al. (GORF)."""
