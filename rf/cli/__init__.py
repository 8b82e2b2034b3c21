"""The command ``rf``."""
