"""Densities of kernels that are one formula for all z > 0, if no closed form is known.

A ray is the half-line z > 0 turned into the complex plane: z = exp(s + i angle) for all real s.
A wave of a kernel is a term 2 Re[exp(ibz) f_b(z)] with a frequency b > 0 and an amplitude f_b that
does not oscillate.  It is a slow wave if f_b decays like a power of z; the density is then not
smooth at the radius w = b.  Terms of expansions are triples (a, q, c) for c t^a log(1/t)^q, where
t = z at zero and t = 1/z at infinity.  The module ``half_line`` is the entry point.
"""
