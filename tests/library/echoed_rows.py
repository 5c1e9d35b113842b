"""Rows as people write them for an agent that echoes, and the verdict that they mean."""

from dataclasses import dataclass

ECHO = "agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: '{{input}}'}]\n"


@dataclass(frozen=True, slots=True)
class Echoed:
    """A file: the verdicts of its cases, or the places that are refused; and where a line is said."""

    about: str
    content: str
    verdicts: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    path: str = "rows.jsonl"


BANNED = """\
prompts: ['{{q}}']
providers: [echo]
tests:
- vars: {q: the secret token, banned: [secret, token], order: {id: secret}}
  options: {disableVarExpansion: true}
  assert:
  - {type: contains, value: secret}
  - {type: not-icontains, value: '{{banned}}'}
  - {type: not-icontains, value: '{{order}}'}
"""
FILES = (
    Echoed(
        "a list of texts that must not be said",
        '{"input": "I can\'t say, let me check.", "must_not_contain": ["i can\'t", "let me check"]}',
        ("failed",),
    ),
    Echoed(
        "empty lists",
        '{"input": "fine", "expected": "fine", "must_contain": [], "must_not_contain": []}',
        ("passed",),
        said=("[0].must_contain",),
    ),
    Echoed(
        "keys with values as a criterion",
        '{"input": "May I?", "criteria": {"cites": "handbook", "contains": ["remote"]}}',
        refused=("[0].criteria",),
    ),
    Echoed(
        "lists and mappings in variables",
        BANNED,
        ("passed",),
        said=("tests[0].assert[1]", "tests[0].assert[2]"),
        path="promptfooconfig.yaml",
    ),
    Echoed(
        "what must not be said, under the expected answer",
        '{"input": "I am sorry.", "expected": {"not_contains": "sorry"}}\n'
        '{"input": "You get a refund.", "expected": {"must_not_say": ["refund", "credit"]}}',
        ("failed", "failed"),
    ),
    Echoed(
        "a key that says how the text beside it is compared",
        '{"input": "I am sorry.", "expected": {"type": "not_contains", "value": "sorry"}}\n'
        '{"input": "I am sorry.", "expected": {"operator": "must not say", "text": ["sorry"]}}\n'
        '{"input": "It is 5.", "expected": {"type": "exact_match", "value": "5"}}\n'
        '{"input": "It is 5.", "expected": {"type": "number", "value": 5}}\n'
        '{"input": "Rome", "expected": {"type": "text", "text": "Rome", "unit": "city"}}',
        ("failed", "failed", "failed", "passed", "passed"),
        said=("[4].expected.unit",),
    ),
    Echoed(
        "a way to compare that is not known",
        '{"input": "a", "expected": {"type": "starts-with", "value": "sorry"}}\n'
        '{"input": "a", "expected": {"answer": "sorry", "negate": true}}\n'
        '{"input": "a", "expected": {"answer": "sorry", "op": "!="}}\n'
        '{"input": "a", "expected": {"type": "contains", "value": "sorry", "not": true}}',
        refused=(
            *("[0].expected.type", "[1].expected.negate"),
            *("[2].expected.op", "[3].expected.type"),
        ),
    ),
    Echoed(
        "a key of the row that denies its expected text",
        '{"input": "I am sorry.", "expected": "sorry", "type": "not_contains"}\n'
        '{"input": "I am sorry.", "expected": "sorry", "negate": true}\n'
        '{"input": "I am sorry.", "answer": "sorry", "operator": "!="}',
        refused=("[0].type", "[1].negate", "[2].operator"),
    ),
    Echoed(
        "keys of the row that deny nothing",
        '{"input": "I am sorry.", "expected": "sorry", "type": "no context", "negate": false}',
        ("passed",),
        said=("[0].type", "[0].negate"),
    ),
    Echoed(
        "the type of a question beside its answer",
        '{"input": "It is Rome.", "expected": {"answer": "Rome", "type": "location"}}',
        ("passed",),
        said=("[0].expected.type",),
    ),
    Echoed(
        "other keys beside the answer",
        '{"input": "5 days. Ask a lawyer.", "expected": {"answer": "5 days", "must_not": "lawyer", "unit": 1}}',
        ("failed",),
        said=("[0].expected.unit",),
    ),
    Echoed(
        "a message of several keys",
        '{"input": {"question": "Is it 5?", "locale": "de"}, "expected": "5"}',
        ("passed",),
        said=("[0].input.locale",),
    ),
    Echoed(
        "a message of an unknown key",
        '{"input": {"city": "Rome"}, "expected": "Lazio"}',
        refused=("[0].input",),
    ),
    Echoed(
        "numbers in longer ones",
        '{"input": "The bill is 350 euros.", "expected": "35"}\n'
        '{"input": "There are 2060 of them.", "expected": 206}\n'
        '{"input": "It is 13.", "expected": 3}\n'
        '{"input": "It is 3.", "expected": 3}',
        ("failed", "failed", "failed", "passed"),
    ),
    Echoed(
        "letters in words",
        '{"input": "I cannot say anything.", "expected": ["A", "B"]}\n'
        '{"input": "It is B.", "expected": ["A", "B"]}',
        ("failed", "passed"),
        said=("[0].expected",),
    ),
    Echoed(
        "multiple choice",
        '{"input": "Which one?", "choices": ["apple", "car"], "target": "A"}',
        ("passed",),  # an echo of the options
        said=("[0].target",),
    ),
    Echoed(
        "lists as pandas writes them",
        "question,must not contain\nI say credit.,\"['refund', 'credit']\"\n",
        ("failed",),
        said=("B2",),
        path="rows.csv",
    ),
)
