"""Published methods as baselines, their experiments and bounds, and data sets."""
