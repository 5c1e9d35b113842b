"""The graders: one family in one file, one row in GRADERS."""

from typing import Any

from evals_app.engine.graders.base import Grader, JudgedGrader, PlainGrader
from evals_app.engine.graders.judged import LlmJudge
from evals_app.engine.graders.numbers import Numeric
from evals_app.engine.graders.retrieval import ChunksFetched
from evals_app.engine.graders.text import Contains, ExactMatch, Matches, NotContains, NotMatches
from evals_app.engine.graders.tools import ToolCalled, ToolCalls, ToolNotCalled

__all__ = ["ALIASES", "GRADERS", "NOT_YET", "Grader", "JudgedGrader", "PlainGrader"]

GRADERS: dict[str, type[Grader]] = {
    "contains": Contains,
    "not_contains": NotContains,
    "matches": Matches,
    "not_matches": NotMatches,
    "exact_match": ExactMatch,
    "numeric": Numeric,
    "tool_called": ToolCalled,
    "tool_not_called": ToolNotCalled,
    "tool_calls": ToolCalls,
    "chunks_fetched": ChunksFetched,
    "llm_judge": LlmJudge,
}

# Another name, and the options that come with it unless they are written.
ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    "regex": ("matches", {}),
    "equality": ("exact_match", {}),
    "llm-rubric": ("llm_judge", {"scale": "pass_fail"}),
    "llm_rubric": ("llm_judge", {"scale": "pass_fail"}),
}

# Types of the reference that this version does not have: refused by name, never passed over.
NOT_YET: frozenset[str] = frozenset(
    {
        "answer_relevancy",
        "bleu",
        "code",
        "contextual_precision",
        "contextual_recall",
        "contextual_relevancy",
        "cost",
        "f1_score",
        "faithfulness",
        "fuzzy_match",
        "geval",
        "json_path",
        "json_schema",
        "json_valid",
        "latency",
        "meteor",
        "rag",
        "rouge",
        "rubric",
        "semantic_similarity",
        "token_f1",
        "tool_use",
        "world_changes",
    }
)
