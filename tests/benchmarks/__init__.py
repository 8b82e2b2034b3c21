"""What the toolkit costs beside its rivals, run by hand: ``python -m tests.benchmarks``."""
