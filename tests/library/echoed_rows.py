"""Files as people write them for an agent that echoes, and what their author meant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.foreign.shapes import TableChoices
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem

ECHO = "agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: '{{input}}'}]\n"


@dataclass(frozen=True, slots=True)
class Echoed:
    """A file: the verdicts of its cases, or the places that are refused; and where a line is said.

    `checks` are the types of checks of a file that needs a judge, so that it cannot be run here,
    `chosen` what a person says about columns, `words` what a line has to say.
    """

    about: str
    content: str
    verdicts: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    path: str = "rows.jsonl"
    checks: tuple[str, ...] = ()
    chosen: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    words: tuple[str, ...] = ()

    def read(self) -> tuple[Imported | None, list[Problem]]:
        """Return what the readers make of it, and everything that they say."""
        files = [SourceFile("echo.agent.yaml", ECHO.encode())]
        files.append(SourceFile(self.path, self.content.encode()))
        known, tables = ExistingObjects(), TableChoices(self.chosen)
        try:
            read = read_files(files, known=known, agent="echo", tables=tables)
        except FormatError as error:
            return None, error.problems
        return read, [*read.guesses, *read.warnings, *read.losses]


def checks_of(suite: SuiteSpec) -> tuple[str, ...]:
    """Return the types of checks of all turns, in their order."""
    turns = (turn for case in suite.cases for turn in case.turns)
    return tuple(check.type for turn in turns for check in suite.assertions_for(turn))


LONG = [f"{'Questions of the support team ' * 3}about {topic}" for topic in ("bills", "bikes")]
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
    Echoed(
        "descriptions of good replies instead of replies",
        '{"input": "/start", "expected": "Should greet by name"}\n'
        '{"input": "Buy it", "expected": "Must not confirm without asking for a date"}',
        checks=("llm_judge", "llm_judge"),
        said=("[0].expected",),
        words=("a description of a good reply (2 answers)",),
    ),
    Echoed(
        "a case without a check, and a key that has no place",
        '{"id": "a", "input": "x", "expected": "x", "owner": "Ann"}\n'
        '{"id": "b", "input": "y", "owner": "Bo"}',
        ("passed", "errored"),
        said=("[1].id", "[0].owner"),
        words=("It checks nothing", "It is left out (2 rows)"),
    ),
    Echoed(
        "a key that a few rows have",
        '{"input": "a", "expected": "a"}\n'
        * 3
        + '{"input": "b", "expected": "b", "expected_tone": "calm"}\n'
        '{"input": "c", "expected": "c", "expected_tone": "warm"}',
        ("passed",) * 5,
        said=("[3].expected_tone",),
        words=("(2 rows)",),
    ),
    Echoed(
        "keys that a person gives a meaning",
        '{"ticket": "my card fails", "category": "card"}',
        ("passed",),
        chosen={"ticket": "user", "category": "expected"},
    ),
    Echoed(
        "a label that may be the answer",
        '{"question": "Win a prize now", "label": "spam"}\n{"question": "Lunch?", "label": "ham"}',
        refused=("[0].label",),
    ),
    Echoed(
        "tools that may be what is offered",
        '{"question": "Find my bill", "tools": ["find", "pay"], "expected": "bill"}',
        refused=("[0].tools",),
    ),
    Echoed(
        "replies of a run that failed",
        '{"input": "How long?", "output": "Ten years!", "passed": false, "score": 0.1}',
        refused=("[0].output",),
        words=("earlier run",),
    ),
    Echoed(
        "yes and no without quotes",
        "- {input: 'Yes, always.', expected: yes}\n- {input: 'No, never.', expected: no}\n"
        "- {input: 'No, never.', expected: yes}\n",
        ("passed", "passed", "failed"),
        said=("[0].expected",),
        words=("a yes or no (3 answers)",),
        path="rows.yaml",
    ),
    Echoed(
        "a dash for nothing",
        "question,expected,must not contain\nwait - or go,go,-\n",
        ("passed",),
        said=("C2",),
        path="rows.csv",
    ),
    Echoed(
        "an expected message of the assistant",
        '{"input": "Is it Done?", "expected": [{"role": "assistant", "content": "Done"}]}\n'
        '{"input": "Cancel it", "expected": [{"role": "assistant", "content": "Done"}]}',
        ("passed", "failed"),
        said=("[0].expected",),
    ),
    Echoed(
        "the turns of one session",
        "session,question,expected\n7,I lost it,lost\n7,yes please,sure\n8,Hello,Hello\n",
        ("failed", "passed"),
        path="talks.csv",
    ),
    Echoed(
        "a list of turns as ADK has it",
        '[{"query": "I lost it", "expected_tool_use": [], "reference": "Shall I help?"},'
        ' {"query": "yes", "expected_tool_use": [{"tool_name": "send", "tool_input": {}}]}]',
        checks=("tool_calls", "llm_judge", "tool_calls"),
        words=("The 2 turns of this file are one conversation",),
        path="talk.test.json",
    ),
    Echoed(
        "checks that only forbid",
        '{"input": "Say nothing.", "must_not_contain": "hunter2"}',
        ("passed",),
        words=("only forbid",),
    ),
    Echoed(
        "rows with keys of their own",
        '[{"id": 1, "history": [], "message_text": "Where is it?", "wanted_intent": "track"}]',
        refused=("[0].message_text",),
        words=("id, history, message_text, wanted_intent: which one is the question?",),
        path="golden.json",
    ),
    Echoed(
        "what a skill is expected to do",
        '{"skill_name": "notes", "evals": [{"id": 1, "prompt": "Note this", "files": [],'
        ' "expected_output": "A new line", "expectations": ["adds a line", "keeps the rest"]}]}',
        checks=("llm_judge", "llm_judge"),
        path="evals/evals.json",
    ),
    Echoed(
        "pairs of what the user and the assistant say",
        '{"turns": [{"user": "Hi", "assistant": "Hi"}, {"user": "It is late", "assistant": "soon"}]}\n'
        '{"user": "It is open", "assistant": "open"}',
        ("failed", "passed"),
        said=("[0].turns",),
    ),
    Echoed(
        "messages of LangChain, in each of their forms",
        '{"messages": [{"type": "human", "content": "Rome"}, {"type": "ai", "content": "Rome"}]}\n'
        '{"messages": [{"type": "human", "data": {"content": "Rome"}}, '
        '{"type": "ai", "data": {"content": "Oslo"}}]}\n'
        '{"input": [{"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], '
        '"kwargs": {"content": "Rome"}}], "outputs": {"messages": [{"type": "ai", "content": "Rome"}]}}',
        ("passed", "failed", "passed"),
    ),
    Echoed(
        "questions in paragraphs in articles, as SQuAD has them",
        '{"data": [{"title": "Oslo", "paragraphs": [{"context": "Oslo is a city.", "qas": ['
        '{"id": "a", "question": "Is it Oslo?", "answers": [{"text": "Oslo", "answer_start": 0}]}, '
        '{"id": "b", "question": "Is it far?", "answers": [{"text": "Rome", "answer_start": 3}, '
        '{"text": "Bergen", "answer_start": 9}]}]}]}]}',
        ("passed", "failed"),
        path="squad.json",
        words=("param:context",),
    ),
    Echoed(
        "questions that their passage does not answer",
        '{"question": "Who?", "answers": [], "is_impossible": true}',
        checks=("llm_judge",),
        said=("[0].is_impossible",),
    ),
    Echoed(
        "cells with tabs between them",
        "question\tanswer\nRome, or so\tRome\nOslo, or so\tBergen\n",
        ("passed", "failed"),
        path="cities.tsv",
    ),
    Echoed(
        "letters for yes and no",
        "question,answer\nYes it is,Y\nYes it is,N\nNo,N\n",
        ("passed", "failed", "passed"),
        said=("B2",),
        path="letters.csv",
    ),
    Echoed(
        "one conversation as a whole file",
        '[{"role": "user", "content": "Rome"}, {"role": "assistant", "content": "Rome"}]',
        ("passed",),
        path="talk.json",
    ),
)
