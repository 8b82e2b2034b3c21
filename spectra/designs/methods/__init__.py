"""The methods behind ``design``, one to a file."""
