"""Text to a syntax tree by Python's grammar, of bounded length and depth."""

from __future__ import annotations

import ast
import re
import warnings

from spectra.errors import FormulaError
from spectra.formula.reader.wording import short

__all__ = ["MAX_DEPTH", "checked_text", "place_of", "syntax_tree"]

# Limits that no formula of a kernel comes near, and within which sympy answers at once.
_MAX_TEXT = 2000
MAX_DEPTH = 40


def checked_text(text: object) -> str:
    """Pass text of a bounded length without comments, on one line."""
    if not isinstance(text, str):
        raise FormulaError(
            f"{short(text)} is a {type(text).__name__}, not the text of a formula; "
            'pass text such as "exp(-z)"'
        )
    if not text.strip():
        raise FormulaError('the formula is empty; write one such as "exp(-z**2/2)"')
    if len(text) > _MAX_TEXT:
        raise FormulaError(
            f"the formula has {len(text)} characters, more than {_MAX_TEXT}; "
            "build long kernels by adding shorter ones"
        )
    if "#" in text:
        raise FormulaError("the formula contains '#'; comments are not part of a formula")
    return " ".join(text.split())


def syntax_tree(text: str) -> ast.expr:
    """Read text into a tree of bounded depth, or say where it is not well formed."""
    root = _parsed(text)
    _refuse_deep_tree(root)
    return root


def _parsed(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            # Python's advice on odd spellings ("1if") concerns code, not formulas.
            warnings.simplefilter("ignore")
            return ast.parse(text.replace("^", "**"), mode="eval").body
    except SyntaxError as error:
        raise _not_well_formed(text, error) from None
    except (ValueError, RecursionError, MemoryError) as error:
        reason = "it is nested too deep" if not isinstance(error, ValueError) else str(error)
        raise FormulaError(f"the formula {short(text)} cannot be read: {reason}") from None


def place_of(text: str, node: ast.AST) -> tuple[str, int, int]:
    """The text, and the characters [start, stop) of it that a node of its tree was read from.

    Examples
    --------
    >>> place_of("z^2 + q", syntax_tree("z^2 + q").right)
    ('z^2 + q', 6, 7)
    """
    if not isinstance(node, ast.expr) or node.end_col_offset is None:
        return text, 0, len(text)
    # Python counts the bytes of UTF-8.
    source = text.replace("^", "**").encode()
    start, stop = (len(source[:n].decode()) for n in (node.col_offset, node.end_col_offset))
    return text, _as_typed(text, start), _as_typed(text, stop)


def _as_typed(text: str, column: int) -> int:
    """The character of the text that is so far to the right once ^ is written as **."""
    position, length = 0, 0
    while position < len(text) and length < column:
        length += 2 if text[position] == "^" else 1
        position += 1
    return position


def _not_well_formed(text: str, error: SyntaxError) -> FormulaError:
    # Python gives 0 for an error at the end.
    position = _as_typed(text, error.offset - 1 if error.offset else 2 * len(text))
    start = max(position - 60, 0)
    excerpt = text[start : position + 20]
    advice = "check brackets, commas and operators; a product needs its *"
    if re.search(r"\blambda\b", text):
        advice = "lambda is a reserved word: give the parameter another name, such as lam"
    return FormulaError(
        f"the formula is not complete or not well formed ({error.msg}) at character "
        f"{position + 1}:\n    {short(excerpt)}\n    {' ' * (position - start)}^\n{advice}",
        place=(text, position, position + 1),
    )


def _refuse_deep_tree(root: ast.expr) -> None:
    """Bound the nesting, reading chains such as a + b + c + ... as flat."""
    stack: list[tuple[ast.AST, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise FormulaError(
                f"the formula is nested more than {MAX_DEPTH} levels deep; write it in fewer"
            )
        for child in ast.iter_child_nodes(node):
            flat = isinstance(node, ast.BinOp) and child is node.left
            stack.append((child, depth if flat else depth + 1))
