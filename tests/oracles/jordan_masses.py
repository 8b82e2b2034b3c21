"""The masses of the papers on asymmetric kernels, from the parts of a decomposition."""

from rf.schemes.axial_part import AxialPart
from rf.schemes.complex_table import Modulation
from rf.schemes.decomposition import DECOMPOSITIONS


def jordan_masses(table):
    """Masses of the papers: M_R+, M_R- and M_I+ (which counts one of two mirror images).

    For one kernel with all its shifts along one axis they are those of the Jordan decompositions of
    the real and imaginary measures; otherwise a valid splitting of more mass.

    Examples
    --------
    >>> from spectra import radial
    >>> from spectra.derivation import derive
    >>> masses = jordan_masses(derive(radial("exp(-z**2/8)").shift(2 / 16), 16))
    >>> print(f"{masses['real+']:.12f} {masses['real-']:.6e} {masses['imaginary+']:.12f}")
    0.969233234489 1.258424e-11 0.097683488229
    """
    masses = {"real+": 0.0, "real-": 0.0, "imaginary+": 0.0}
    pairs = [(base, each) for base in table.parts for each in Modulation.split(base.shifts)]
    for base, modulation in pairs:
        for chosen in DECOMPOSITIONS["jordan"]:
            kind = chosen
            if kind != "imaginary+" and base.sign < 0:
                kind = "real-" if kind == "real+" else "real+"
            half = 0.5 if kind == "imaginary+" else 1.0
            masses[kind] += half * AxialPart(base, chosen, modulation).mass
    return masses
