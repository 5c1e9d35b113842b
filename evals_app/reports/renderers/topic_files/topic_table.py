"""Ready by topic as a table for other programs."""

from collections.abc import Iterator

from evals_app.reports.answers.run_answers import Json
from evals_app.reports.answers.topics.topic_words import judge_text, last_runs_text, state_text
from evals_app.reports.renderers.rows import Cell

TOPIC_HEADERS = (
    *("topic", "state", "owner", "until", "note", "set_by", "set_on"),
    *("answer", "sentence", "cases", "passed", "decided", "interval_low", "interval_high"),
    *("measured", "not_graded", "not_run", "last_runs", "judge", "suites"),
    *("real_failed", "real_graded", "grown", "simulated_left_out"),
)


def topic_rows(topics: Json) -> Iterator[list[Cell]]:
    """Return the headers, and then a row for each topic; what is unknown is empty, never 0."""
    yield list(TOPIC_HEADERS)
    for topic in topics["topics"]:
        said, is_known = topic["readiness"] or {}, bool(topic["decided"])
        real = topic["real_conversations"]
        yield [
            topic["topic"],
            state_text(topic["readiness"]),
            *(said.get(key) for key in ("owner", "until", "note", "by")),
            said["created_at"][:10] if said else None,
            *(topic[key] for key in ("answer", "sentence", "cases")),
            *(topic[key] if is_known else None for key in ("passed", "decided")),
            *(topic["interval"] or (None, None)),
            *(topic[key] for key in ("measured", "not_graded", "not_run")),
            last_runs_text(topic["last_runs"]),
            judge_text(topic["judge"]),
            ", ".join(topic["suites"]),
            *(real[key] if real["graded"] else None for key in ("failed", "graded")),
            ", ".join(group["group"] for group in real["grown"]),
            topic["simulated_left_out"],
        ]
