"""The promptfoo dialect: a `promptfooconfig.yaml` with prompts, providers and tests.

A list of tests alone has neither. Each provider becomes an agent, and each prompt that it is asked a suite, with a case for each test.

Source: the promptfoo documentation, https://www.promptfoo.dev/docs/configuration/reference/
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evals_app.formats.foreign.draft import Draft
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.promptfoo.evaluation import Evaluation
from evals_app.formats.promptfoo.shapes import Config
from evals_app.formats.promptfoo.source import PromptfooProject
from evals_app.formats.reading.parsed_file import ParsedFile


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read configurations, and the prompts, tests, rubrics and data that they name."""
    for document in documents:
        yield from _read(document, around)


def _read(document: ParsedFile, around: ReaderContext) -> Iterator[Draft]:
    project = PromptfooProject.of(document, around)
    is_list = isinstance(document.data, list)
    config = Config() if is_list else project.root.part(Config)
    drafts = [] if config is None else Evaluation(project.root, config).drafts()
    seen = set(project.base.problems)
    if seen:
        yield project.base.remarks("promptfoo")
    for draft in drafts:
        # What is wrong with a test is so in each suite that it belongs to.
        fresh = tuple(problem for problem in dict.fromkeys(draft.problems) if problem not in seen)
        seen |= set(fresh)
        yield replace(draft, problems=fresh)
