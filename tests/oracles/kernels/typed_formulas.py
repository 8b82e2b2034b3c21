"""Formulas as people type them, each with its variable and its support."""

from __future__ import annotations

from spectra.kernels.kernel import Kernel, radial, zonal

__all__ = ["TYPED", "typed_kernel"]

_IN_Z = """\
exp(-z**2/2)
exp(-z)
(1+sqrt(3)*z)*exp(-sqrt(3)*z)
1/(1+z**2)
(1+z**2/2)**(-1/2)
exp(-sqrt(z))
exp(-z**(3/2))
1/(1+z)
1/(1+z)**2
exp(-z)*cos(z)
exp(-z**2/2)*cos(3*z)
cos(z)
sin(z)/z
(sin(z)/z)**2
besselj(0,z)
2*besselj(1,z)/z
1/cosh(z)
tanh(z)/z
z/sinh(z)
1/(1+z**4)
log(1+exp(-z))
exp(-z**4)
Max(0,1-z)
Max(0,1-z)**4*(4*z+1)
exp(-z)-exp(-2*z)/2
exp(-z**2/2)-exp(-z**2/200)
(1-z**2)*exp(-z**2/2)
exp(-2*sin(z/2)**2)
exp(-z**2)*cos(z)**2
z*exp(-z)
erfc(z)
z*besselk(1,z)
sqrt(1+z**2)-z
atan(1/z)*2/pi
exp(-z**2/2)/(1+z)
cos(3*z)/(1+z**2)
besselj(0,z)**2
exp(-z**(2/3))
1-sqrt(z/(1+z))
(1+z**(3/2))**(-2)
exp(-z)*(1+z/3)+exp(-z**2)/2
Max(0,1-z)**2-Max(0,1-z/2)**2/2
exp(-z**2/2)*(1+cos(2*z))/2
Max(0,1-z)*exp(-z)
exp(-z**4-z**2/10)
z**2*exp(-z**4-z**2/20)
exp(-z**4)*cosh(z/3)
exp(-z**2)*besseli(0,z**2)
exp(-2*z)*besseli(0,z)
exp(-z**4-z)
exp(-z**4)/(1+z)
exp(-z**4)/(1+z**2)
Min(1,1/z)
1/Max(1,z)
exp(-z)*atan(50*(z-2))
exp(-z)/((z-1)**2+1/100)
exp(-z**2)/(1+1000*z)
exp(-log(1+z)**2)
exp(-cosh(z))
z**2/sinh(z**2)
erfc(z**2)
exp(-z**2)*cos(3*z**2)
(1+z**2)**(-1/10)
(1+z**2)**(-7/3)
log(1+1/z**2)*z**2/(1+z**2)
exp(-2*sin(z)**2)*exp(-z**2/8)
exp(-z/5)*sin(4*z)/z
exp(-z**2/8)*cos(2*pi*z/0.7)
1-exp(-exp(-z))
z*log(1+1/z)
exp(-sqrt(1+z**2/500))
besselk(0,1+z)
sinh(z)*exp(-2*z)/z
exp(-z**2/2)*(1+z**2/6)**(-3)
exp(-z)*(1+z+2*z**2/5+z**3/15)
exp(-z**2)-exp(-2*z**2)/3
exp(-z/2)*cos(5*z)+exp(-z)/4
exp(-z**2/2)*sin(2*z)/z
exp(-3*z)*(1-z)
1/(1+z**2)**3-1/(4+z**2)
exp(-abs(z))+0.5*exp(-z^2)
(1+z)*exp(-z)/(1+z**2)
exp(-z**2)*erfc(z)
sqrt(z)*exp(-z)
z**(1/3)*exp(-z**2)
exp(-z**2/2)*log(1+z**2)
exp(-z)*log(2+z)
1/cosh(z)**2
tanh(z)**2/z**2
exp(1-sqrt(1+z**2))
exp(-z**2/2)*besselj(0,3*z)
z**2*besselk(2,z)
exp(-2*z)*cosh(z)
atan(1/(1+z**2))
(1-exp(-z**2))/z**2
exp(-z**6)
exp(-z**2)*(1-z)**2
1/(exp(z)+1)
z/(exp(z)-1)
exp(-sqrt(2)*z)*sin(z)/z
""".splitlines()
_ON_A_BALL = (
    ("1-z**2", 1),
    ("cos(pi*z/2)", 1),
    ("exp(-z)", 2),
    ("exp(-1/(1-z**2))", 1),
    ("1-3*z/2+z**3/2", 1),
    ("(1-z)**60", 1),
    ("(1-z)**6*(35*z**2+18*z+3)/3*cos(z)", 1),
    ("(1-z**2)**2*log(2+z)", 1),
    ("acos(z)*(1-z)**2", 1),
    ("(1-z**2)**(5/2)", 1),
    ("(1-z/3)**4*exp(-z)", 3),
    ("sqrt(1-z)*(1+z)", 1),
    ("(1-sqrt(z))**4", 1),
    ("sin(pi*z)**3", 1),
)
_IN_U = """\
(1+u)**3
exp(u)
1/(2-u)
(u*(pi-acos(u))+sqrt(1-u**2))/pi
1-acos(((sqrt(1-u**2)+u*(pi-acos(u)))/pi))/pi
exp(-acos(u)**2/2)
tanh(2*u+1)
(1+u)**2*exp(u)/8
besseli(0,2*u)
exp(-sqrt(2-2*u))
""".splitlines()

#: (formula, variable, support), the support None where there is none.
TYPED: tuple[tuple[str, str, int | None], ...] = (
    *((text, "z", None) for text in _IN_Z),
    *((text, "z", support) for text, support in _ON_A_BALL),
    *((text, "u", None) for text in _IN_U),
)


def typed_kernel(formula: str, variable: str, support: int | None) -> Kernel:
    """The kernel as it would be typed."""
    if variable == "u":
        return zonal(formula)
    return radial(formula) if support is None else radial(formula, support=support)
