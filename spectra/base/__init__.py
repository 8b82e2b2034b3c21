"""Shared by all packages: checked arguments, enclosures, special functions, files, time limits."""
