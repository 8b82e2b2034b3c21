"""Plugins for GPyTorch and BoTorch, installed by the extras ``gpytorch`` and ``botorch``."""
