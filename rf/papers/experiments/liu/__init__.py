"""The experiments of Liu et al. (GRFF)."""
