"""Learning with signed features."""
