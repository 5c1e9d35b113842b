"""The graders: one family in one file, one row in GRADERS."""

from collections.abc import Mapping
from typing import Any

from evals_app.engine.graders.code import Code
from evals_app.engine.graders.compare import CompareValues
from evals_app.engine.graders.effort import Cost, Latency
from evals_app.engine.graders.geval import GEval
from evals_app.engine.graders.json_reply import JsonPath, JsonSchema, JsonValid
from evals_app.engine.graders.judged import LlmJudge, Rubric
from evals_app.engine.graders.kit.base import AidedGrader, Grader, JudgedGrader, PlainGrader
from evals_app.engine.graders.kit.offered import GraderTable
from evals_app.engine.graders.numbers import Numeric
from evals_app.engine.graders.overlap import Bleu, FuzzyMatch, Meteor, Rouge, TokenF1
from evals_app.engine.graders.rag import (
    AnswerRelevancy,
    ContextualPrecision,
    ContextualRecall,
    ContextualRelevancy,
    Faithfulness,
)
from evals_app.engine.graders.retrieval import ChunksFetched
from evals_app.engine.graders.similarity import SemanticSimilarity
from evals_app.engine.graders.text import Contains, ExactMatch, Matches, NotContains, NotMatches
from evals_app.engine.graders.tool_use import ToolUse
from evals_app.engine.graders.tools import ToolCalled, ToolCalls, ToolNotCalled
from evals_app.engine.graders.world import WorldChanges
from fixtures_app.ground.strict_json import JsonObject

__all__ = [
    "ALIASES",
    "GRADERS",
    "GROUPS",
    "AidedGrader",
    "Grader",
    "JudgedGrader",
    "PlainGrader",
    "named_type",
]

_OURS: dict[str, type[Grader]] = {
    "contains": Contains,
    "not_contains": NotContains,
    "matches": Matches,
    "not_matches": NotMatches,
    "exact_match": ExactMatch,
    "numeric": Numeric,
    "fuzzy_match": FuzzyMatch,
    "token_f1": TokenF1,
    "bleu": Bleu,
    "rouge": Rouge,
    "meteor": Meteor,
    "semantic_similarity": SemanticSimilarity,
    "json_valid": JsonValid,
    "json_schema": JsonSchema,
    "json_path": JsonPath,
    "compare": CompareValues,
    "tool_called": ToolCalled,
    "tool_not_called": ToolNotCalled,
    "tool_calls": ToolCalls,
    "tool_use": ToolUse,
    "chunks_fetched": ChunksFetched,
    "world_changes": WorldChanges,
    "latency": Latency,
    "cost": Cost,
    "code": Code,
    "llm_judge": LlmJudge,
    "rubric": Rubric,
    "geval": GEval,
    "faithfulness": Faithfulness,
    "answer_relevancy": AnswerRelevancy,
    "contextual_relevancy": ContextualRelevancy,
    "contextual_precision": ContextualPrecision,
    "contextual_recall": ContextualRecall,
}
GRADERS = GraderTable(_OURS)

# Another name, and the options that come with it unless they are written.
ALIASES: dict[str, tuple[str, JsonObject]] = {
    "regex": ("matches", {}),
    "equality": ("exact_match", {}),
    "f1_score": ("token_f1", {}),
    "llm-rubric": ("llm_judge", {"scale": "pass_fail"}),
    "llm_rubric": ("llm_judge", {"scale": "pass_fail"}),
}

# A name of several types, and the key that says which of them is meant.
GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "rag": (
        "metric_type",
        (
            *("faithfulness", "answer_relevancy"),
            *("contextual_relevancy", "contextual_precision", "contextual_recall"),
        ),
    ),
}


def named_type(written: Mapping[str, object]) -> Any:
    """Return the type that an assertion means, whatever name it goes by."""
    kind = written.get("type")
    if not isinstance(kind, str):
        return kind
    if kind in GROUPS:
        key, members = GROUPS[kind]
        return written.get(key) if written.get(key) in members else kind
    return ALIASES[kind][0] if kind in ALIASES else kind
