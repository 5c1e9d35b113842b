"""Graders of the knowledge that the agent fetched."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.engine.graders.kit.calls import unreported_calls
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from fixtures_app.ground.quoting import join_list


class ChunksFetched(PlainGrader):
    """Pass when retrieval tools returned all of these chunks.

    The score is the share of the listed chunks that were fetched. Chunks count once, however often
    they were returned.
    """

    label: ClassVar[str] = "Knowledge was fetched"
    in_words: ClassVar[str] = "The agent read the page about refunds."
    named_by: ClassVar[tuple[str, ...]] = ("Evolvable",)
    family: ClassVar[Literal["retrieval"]] = "retrieval"
    example: ClassVar[dict[str, object]] = {"chunks": ["refund-policy", "shipping-times"]}

    chunks: Annotated[
        list[Annotated[str, Field(min_length=1)]],
        Field(
            min_length=1,
            title="Chunks",
            description="Ids of the chunks that must be fetched.",
            json_schema_extra={"names": "chunk"},
        ),
    ]
    exact: Annotated[
        bool,
        Field(title="No other chunks", description="Otherwise other chunks may be fetched too."),
    ] = False

    def grade(self, view: View) -> Grade:
        expected = list(dict.fromkeys(self.chunks))
        fetched = list(dict.fromkeys(chunk.id for chunk in view.chunks))
        missing = [entry for entry in expected if entry not in fetched]
        extra = [chunk for chunk in fetched if chunk not in expected]
        is_met = not missing and not (self.exact and extra)
        is_open = missing or (self.exact and not extra)
        if is_open and not view.reports_lookups:
            return unreported_calls(view.turns, "which texts it looks up")
        return Grade(
            1 - len(missing) / len(expected),
            is_met,
            _reason(expected, fetched, missing, extra if self.exact else []),
            cause=None if is_met else Cause.ASSERTION,
            details={"missing": missing, "extra": extra},
        )

    def summary(self) -> str:
        return f"Fetches {'exactly ' if self.exact else ''}{join_list(self.chunks)}"


def _reason(
    expected: list[str], fetched: list[str], missing: list[str], unwanted: list[str]
) -> str:
    """Describe what was fetched, and what was expected if it differs."""
    if not fetched:
        return f"The agent fetched nothing; expected {join_list(expected)}."
    if missing and unwanted:
        return f"The agent fetched {join_list(fetched)}; expected only {join_list(expected)}."
    if missing:
        return f"The agent did not fetch {join_list(missing)}; it fetched {join_list(fetched)}."
    if unwanted:
        return f"The agent also fetched {join_list(unwanted)}; only {join_list(expected)} was expected."
    return f"The agent fetched {join_list(expected)}, as expected."
