"""The command ``spectra``, and the pictures that it draws."""
