"""Given spectra: from a formula, a Python function or samples of a spectrum to its measure.

Read in this order: ``spectrum`` (the public function), ``component`` (conventions, and the density
by values), ``samples``, ``ends`` (the range, what is beyond it, and the measure).
"""

from spectra.spectral_input.spectrum import spectrum

__all__ = ["spectrum"]
