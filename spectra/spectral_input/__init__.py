"""Given spectra: from a formula, a Python function or samples of a spectrum to its measure."""

from spectra.spectral_input.spectrum import spectrum

__all__ = ["spectrum"]
