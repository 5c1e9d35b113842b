"""Every sentence that the product can show a person, read from its source.

`make messages` writes them to `tests/messages.txt`. A test compares, so whoever changes a sentence
sees it there in a diff, and no other test needs to quote it. What code fills in is shown by name in
braces: `{slug} is not a valid slug.`

Arguments are folders or files to read instead of the whole product.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "messages.txt"
SOURCES = ("evals_app", "evalsite", "fixtures_app", "templates")
SUFFIXES = {".py", ".html", ".txt", ".js"}

# Whatever is given by these names is shown, were it a single word.
SHOWN = {
    "description",
    "empty_label",
    "help",
    "help_text",
    "label",
    "placeholder",
    "short_description",
    "title",
    "verbose_name",
    "verbose_name_plural",
}
# Texts that people read as attributes of HTML.
ATTRIBUTES = {"alt", "aria-label", "placeholder", "title"}
# Calls whose texts are patterns, paths, queries or markup.
SILENT_CALLS = {
    "compile",
    "execute",
    "executescript",
    "fullmatch",
    "getLogger",
    "match",
    "search",
    "sub",
}

_TWO_WORDS = re.compile(r"[A-Za-z][a-z]*[,:;.]? +[\"'“(]?(?:[A-Za-z]|\{)|\} [a-z]")
_MARKUP = re.compile(r"^[\w:/\[\]().%!-]*(?:-|:|\[)[\w:/\[\]().%!-]*$")
_COMMENT = re.compile(r"\{%\s*comment.*?endcomment\s*%\}|\{#.*?#\}", re.DOTALL)
_TEMPLATE_TAG = re.compile(r"\{%.*?%\}", re.DOTALL)
_DATE_FORMAT = re.compile(r'date:"[^"]*"')
_ICON = re.compile(r"\{%\s*icon .*?%\}")
# Template tags that are given a label; a badge is given its tone first.
_LABELLED = re.compile(r'\{%\s*(?:badge "\w+"|small_badge|\w*button) "([^"]+)".*?%\}')
_VARIABLE = re.compile(r"\{\{\s*([\w.]+).*?\}\}", re.DOTALL)
_IN_QUOTES = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'|`((?:[^`\\]|\\.)*)`')


def messages_of(path: Path) -> list[str]:
    """Return the sentences of one file, each once, in their order."""
    read = {".py": _of_python, ".js": _of_script}.get(path.suffix, _of_template)
    lines = (" ".join(message.split()) for message in read(path.read_text()))
    return list(dict.fromkeys(line for line in lines if line))


def sources(*places: Path) -> Iterator[Path]:
    """Yield the files that can hold a sentence, in the order of their names."""
    for place in places or tuple(ROOT / name for name in SOURCES):
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.suffix in SUFFIXES and not {"migrations", "__pycache__"} & {*path.parts}:
                yield path


def written(messages: Mapping[Path, list[str]]) -> str:
    """Return the golden text: the sentences of each file under its path."""
    parts = [
        "\n".join([f"== {path.relative_to(ROOT)}", *sentences])
        for path, sentences in messages.items()
        if sentences
    ]
    return "\n\n".join(parts) + "\n"


def _of_python(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    yield from _of_node(tree, is_shown=False)


def _of_node(node: ast.AST, *, is_shown: bool) -> Iterator[str]:
    if (text := _text_of(node)) is not None:
        if is_shown or _is_sentence(text):
            yield text
        if not isinstance(node, ast.Constant):
            for part in ast.walk(node):
                if isinstance(part, ast.FormattedValue):
                    yield from _of_node(part.value, is_shown=False)
        return
    if isinstance(node, ast.Call) and _last_name(node.func) in SILENT_CALLS:
        return
    for field, child in _children(node):
        named = isinstance(child, ast.keyword) and child.arg in SHOWN
        assigned = isinstance(node, ast.Assign | ast.AnnAssign) and field == "value"
        named |= assigned and any(_last_name(target) in SHOWN for target in _targets(node))
        if isinstance(child, ast.keyword):
            child = child.value  # noqa: PLW2901 - the name has been read
        yield from _of_node(child, is_shown=named and _text_of(child) is not None)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    body = getattr(node, "body", None)
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            if not (isinstance(body, list) and _is_docstring(child)):
                yield field, child


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _text_of(node: ast.AST) -> str | None:
    """Return a literal text with the names of what is filled in; None if it is something else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            f"{{{_last_name(part.value)}}}"
            if isinstance(part, ast.FormattedValue)
            else str(getattr(part, "value", ""))
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text_of(node.left), _text_of(node.right)
        return None if left is None or right is None else left + right
    return None


def _last_name(node: ast.AST) -> str:
    """Return the name by which a reader would call an expression: `slug` of `suite.slug`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.strip("_")
        case ast.Call(func=function):
            return _last_name(function)
        case ast.Subscript(value=value):
            return _last_name(value)
        case _:
            return "..."


def _is_sentence(text: str) -> bool:
    words = text.split()
    if len(words) < 2 or not _TWO_WORDS.search(text):
        return False
    if text.lstrip().startswith(("<", "^", "(?", "SELECT", "INSERT", "UPDATE", "DELETE", "PRAGMA")):
        return False
    return sum(bool(_MARKUP.match(word)) for word in words) <= len(words) / 2


class _Page(HTMLParser):
    """Collects what people read of a template: its texts and some attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = [""]
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        inline = tag in {"a", "b", "code", "em", "strong", "time"}
        self.silent += tag in {"script", "style", "svg"}
        if not inline:
            self.texts.append("")
        shown = [value for name, value in attrs if name in ATTRIBUTES and value]
        self.texts[-1:-1] = shown

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in {"script", "style", "svg"}
        if tag not in {"a", "b", "code", "em", "strong", "time"}:
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.silent <= 0:
            self.texts[-1] += data


def _of_template(source: str) -> Iterator[str]:
    source = _LABELLED.sub(r"<p>\1</p>", _ICON.sub("", _COMMENT.sub("", source)))
    filled = _VARIABLE.sub(lambda found: f"{{{found[1].rsplit('.', 1)[-1]}}}", source)
    for tag in (*_VARIABLE.finditer(source), *_TEMPLATE_TAG.finditer(filled)):
        for quoted in _IN_QUOTES.finditer(_DATE_FORMAT.sub("", tag[0])):
            text = next(filter(None, quoted.groups()), "")
            if _is_sentence(text):
                yield text
    page = _Page()
    page.feed(_TEMPLATE_TAG.sub("|", filled))
    page.close()
    for text in page.texts:
        for part in text.split("|"):
            if re.search("[A-Za-z]{2}", re.sub(r"\{.*?\}", "", part)):
                yield part


def _of_script(source: str) -> Iterator[str]:
    for quoted in _IN_QUOTES.finditer(source):
        text = next(filter(None, quoted.groups()), "")
        if _is_sentence(text) and not text.startswith((".", "#", "[")):
            yield re.sub(r"\$\{.*?\}", "{...}", text)


if __name__ == "__main__":
    files = sources(*(Path(place).resolve() for place in sys.argv[1:]))
    sys.stdout.write(written({path: messages_of(path) for path in files}))
