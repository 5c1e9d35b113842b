"""Ready by topic as Markdown."""

from collections.abc import Iterator
from datetime import date

from evals_app.reports.answers.run_answers import Json
from evals_app.reports.answers.topics.topic_words import (
    cases_of,
    grown_text,
    judge_text,
    last_runs_text,
    passed_detail,
    passed_text,
    real_text,
    remarks,
    state_text,
    summary_text,
)
from evals_app.reports.renderers.markdown import escape_text, table


def topics_markdown(topics: Json, *, today: date) -> Iterator[str]:
    """Return the topics as one Markdown document."""
    yield f"# {escape_text(topics['name'])}: ready by topic\n\n"
    yield f"{escape_text(summary_text(topics))} As of {today}.\n"
    if said := list(remarks(topics, today=today)):
        yield "\n" + "".join(f"* {escape_text(remark)}\n" for remark in said)
    rows = [tuple(map(escape_text, _cells(topic))) for topic in topics["topics"]]
    if rows:
        yield f"\n{table(_HEADS, rows)}\n"


_HEADS = (
    *(
        "Topic",
        "Ready?",
        "Tests say",
        "Cases passed",
        "Last runs",
        "Real conversations failed",
        "Judge",
    ),
    *("Owner", "Until"),
)


def _grown(topic: Json) -> list[Json]:
    grown: list[Json] = topic["real_conversations"]["grown"]
    return grown


def _cells(topic: Json) -> tuple[str, ...]:
    said, cases = topic["readiness"] or {}, cases_of(topic)
    detail = passed_detail(cases, topic["simulated_left_out"])
    return (
        topic["topic"],
        ": ".join(filter(None, [state_text(topic["readiness"]), said.get("note")])),
        topic["sentence"],
        f"{passed_text(cases)}{f' ({detail})' if detail else ''}",
        last_runs_text(topic["last_runs"]),
        "; ".join(
            filter(None, [real_text(topic["real_conversations"]), *map(grown_text, _grown(topic))])
        ),
        judge_text(topic["judge"]),
        said.get("owner") or "",
        said.get("until") or "",
    )
