"""Texts that are lists or mappings as programs write them: JSON, or what Python prints."""

import ast
import tokenize
import warnings
from io import StringIO
from itertools import pairwise

from fixtures_app.ground.strict_json import read_strictly

_MAX_CHARS = 100_000
_CLOSED_BY = {"[": "]", "{": "}", "(": ")"}


def data_in(text: str) -> list[object] | dict[str, object] | None:
    """Return the list or mapping that a text is; None: it is a text and nothing else.

    Tuples and sets of texts are lists. Those of numbers may be an answer: (1, 2).
    """
    bare = text.strip()
    if len(bare) > _MAX_CHARS or not bare or _CLOSED_BY.get(bare[0]) != bare[-1]:
        return None
    for read in (read_strictly, _read_python):
        try:
            data = read(bare)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return data if isinstance(data, list | dict) and _is_json(data) else None
    return None


def _read_python(text: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of backslashes that escape nothing
        tree = ast.parse(text, mode="eval").body
        data = ast.literal_eval(tree)
    if isinstance(tree, ast.Tuple | ast.Set):
        items = [ast.literal_eval(item) for item in tree.elts]  # sets have no order
        return items if items and all(isinstance(item, str) for item in items) else None
    # NumPy prints no commas, and Python would join the texts to one.
    return _with_commas(text) if _has_neighbours(text) else data


def _has_neighbours(text: str) -> bool:
    return any(first.type == second.type == tokenize.STRING for first, second in _tokens(text))


def _with_commas(text: str) -> object:
    pieces = [
        f"{first.string}," if first.type == second.type == tokenize.STRING else first.string
        for first, second in _tokens(text)
    ]
    return ast.literal_eval("".join(pieces))


def _tokens(text: str) -> list[tuple[tokenize.TokenInfo, tokenize.TokenInfo]]:
    """Return the tokens of an expression in brackets, each with the next one."""
    found = tokenize.generate_tokens(StringIO(text).readline)
    between = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT)
    return list(pairwise(token for token in found if token.type not in between))


def _is_json(data: object) -> bool:
    if isinstance(data, list):
        return all(map(_is_json, data))
    if isinstance(data, dict):
        return all(isinstance(key, str) for key in data) and all(map(_is_json, data.values()))
    return data is None or isinstance(data, str | int | float)
