"""The published baselines, experiments and data sets."""
