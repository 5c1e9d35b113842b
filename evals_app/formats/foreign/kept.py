"""What people choose on the site for a suite, and what stays there if its file does not say it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from pydantic import ValidationError

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.foreign.draft import Draft, sidecar_of

KEPT = ("fixtures", "judge_model")


def unsaid(draft: Draft) -> frozenset[str]:
    """Return which of these keys the file of a suite does not set; one of our own says it all."""
    if not isinstance(draft.spec, SuiteSpec) or draft.dialect == "native":
        return frozenset()
    written = draft.data if isinstance(draft.data, dict) else {}
    return draft.unsaid | {
        key for key in KEPT if key not in written and not getattr(draft.spec, key)
    }


def with_choices(draft: Draft, chosen: Callable[[str], Mapping[str, object]]) -> Draft:
    """Return the draft of a suite with what its file does not set as it was chosen for it.

    `chosen` returns that by the slug of a suite.
    """
    if not (keys := unsaid(draft)):
        return draft
    suite: SuiteSpec = draft.spec
    stored = {key: value for key, value in chosen(suite.slug).items() if key in keys}
    head = suite.model_copy(update={"cases": []}).model_dump(mode="json", by_alias=True)
    try:
        kept = SuiteSpec.model_validate(head | stored)
    except ValidationError:
        return draft  # stored by an older version
    values = {key: getattr(kept, key) for key in KEPT if getattr(kept, key) != getattr(suite, key)}
    if not values:
        return draft
    message = (
        f"This file does not set {' and '.join(values)}, so the suite keeps what was chosen here. "
        f"To change it, write it in {PurePosixPath(sidecar_of(draft.document.path)).name}."
    )
    problem = draft.place(("slug",), message, value="", level="guess")
    spec = suite.model_copy(update=values)
    return replace(draft, spec=spec, problems=(*draft.problems, problem))
