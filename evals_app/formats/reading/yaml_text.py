"""Write YAML as a person would: block style, long texts as blocks, nothing folded or shared."""

import re
from decimal import Decimal

import yaml

# What a reader of another YAML version would take for something else than text.
_NUMBER_ELSEWHERE = re.compile(r"[-+]?(?:0o[0-7]+|[0-9.]+(?:[eE][-+]?[0-9]+)?)")
_MIN_PLAIN = 1e-9
# A block keeps these letter by letter; everything else is escaped inside double quotes.
_BLOCK = re.compile(
    "(?:[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\n]|[^\x00-\uffff])*"
)


class _Dumper(yaml.SafeDumper):
    """No aliases, entries of a list indented below their key."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002
        super().increase_indent(flow, False)  # noqa: FBT003


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if not _BLOCK.fullmatch(text) or _NUMBER_ELSEWHERE.fullmatch(text):
        style = '"'
    elif "\n" in text:
        # A block cannot begin with a space, nor contain lines that end in one.
        fits = not re.search(r"(?m)[ \t]$", text) and text[0] not in " \t\n"
        style = "|" if fits else '"'
    elif dumper.resolve(yaml.ScalarNode, text, (True, False)) != "tag:yaml.org,2002:str":  # type: ignore[no-untyped-call]
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _number(dumper: _Dumper, number: float) -> yaml.ScalarNode:
    if _MIN_PLAIN <= abs(number) < 1:
        # 0.00005, which people read, instead of 5.0e-05.
        plain = f"{Decimal(repr(number)):f}"
        return dumper.represent_scalar("tag:yaml.org,2002:float", plain)
    return dumper.represent_float(number)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(float, _number)


def write_yaml(data: object) -> bytes:
    """Write JSON as YAML that `read_yaml` reads back to equal data."""
    text: str = yaml.dump(
        data,
        Dumper=_Dumper,
        allow_unicode=True,
        default_flow_style=False,
        sort_keys=False,
        width=1_000_000_000,
    )
    return text.encode()
