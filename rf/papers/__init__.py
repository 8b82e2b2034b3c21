"""Published methods as baselines, their experiments, data sets and the command ``spectra tour``."""
