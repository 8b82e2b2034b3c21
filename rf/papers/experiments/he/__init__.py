"""The experiments of He et al. (AsK-RFF)."""
