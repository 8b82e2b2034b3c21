"""Given spectra: from a formula, a Python function or samples of a spectrum to its measure.

Read in this order: ``spectrum`` (the public function), ``component`` (conventions, and the density
by values), ``formulas``, ``samples``, ``ends`` (the range, what is beyond it, and the total).
"""

from spectra.spectral_input.spectrum import spectrum

__all__ = ["spectrum"]
