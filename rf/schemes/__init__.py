"""How features of each kind of kernel are sampled, and their exact or expected error."""

from rf.schemes.scheme import Scheme
from rf.schemes.table_scheme import TableScheme

__all__ = ["Scheme", "TableScheme"]
