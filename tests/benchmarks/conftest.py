"""Benchmarks are run by hand, ``python -m tests.benchmarks``: pytest collects none of them."""

collect_ignore_glob = ["*.py"]
