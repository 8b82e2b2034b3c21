"""A limit on processor time, and the progress of long work."""
