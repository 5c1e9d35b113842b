"""Warnings about a judged grade, for people; they do not change the score."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

import re2

from evals_app.engine.basics.folding import INVISIBLE
from evals_app.engine.judging.answers.asking import Asker
from evals_app.engine.record.grade import Evidence
from evals_app.engine.record.view import View

INJECTION = "injection"
AGAINST_VERDICT = "against_verdict"
# Judges favour models of their own family. Names are as providers and resellers write
# them: anthropic.claude-..., meta-llama/Llama-...
_FAMILIES = {
    "Claude": r"claude",
    "GPT": r"gpt|codex|(^|/)o[1-9](-|$)",
    "Gemini": r"gemini|gemma",
    "Llama": r"llama",
    "Mistral": r"mistral|mixtral|ministral|magistral|codestral|devstral",
    "Qwen": r"qwen|qwq",
    "DeepSeek": r"deepseek",
    "Grok": r"grok",
    "Command": r"command-[ar]",
    "Nova": r"(^|[./])nova-",
    "Kimi": r"kimi",
    "GLM": r"(^|/)glm-",
    "Phi": r"(^|/)phi-",
}
# RE2: the agent's text is searched, which must not hang. Words of English only; the judge itself
# reads all languages.
_TALK = [
    r"(ignore|disregard|forget)\s+(\w+\s+){0,4}(instructions?|criteria|rubric|rules|prompt)\b",
    r"\b(note|message|instructions?|attention)\s+(to|for)\s+(the\s+|any\s+)?(\w+\s+)?(judge|grader|evaluator|reviewer)\b",
    r"\bas\s+(the|a|an)\s+(grader|evaluator)\b",
    r"\b(dear|hey|hello)\s+(judge|grader|evaluator)\b",
    r"\b(give|award|assign|grant)\s+(\w+\s+){0,4}(full|maximum|highest|top|perfect)\s+(score|marks?|points|rating|grade)\b",
    r"\b(score|grade|mark)\s+(this|it|me|my\s+\w+|the\s+\w+)\s+(\w+\s+){0,3}([1-5]|10|pass|passed|highly)\b",
    r"\bthis\s+(response|answer|reply|submission)\s+(\w+\s+)?(meets|satisfies)\s+(all\s+)?(of\s+)?(the\s+)?(criteria|rubric)\b",
    r"[\"'](verdict|injection_suspected)[\"']\s*:",
    r"\bverdict\s*[:=]\s*(pass|fail|graded|cannot_grade)\b",
    r"</?\s*(criteria|submission|transcript|agent_system_prompt)\b",
]


def flags_of(
    askers: Sequence[Asker],
    view: View,
    *,
    is_suspected: bool,
    evidence: Sequence[Evidence] | None,
    is_against: bool = False,
) -> tuple[str, ...]:
    """Name what is odd: `injection`, `against_verdict`, `unverified`, `same_family`, `scripted`.

    `is_suspected`: a judge suspects an injection; `is_against`: its words say the
    opposite of its verdict. `evidence` None: no quotes were asked for.
    """
    graded = view.reply if view.turn else "\n".join(turn.reply for turn in view.turns)
    is_scripted = all(asker.is_scripted for asker in askers)
    # A script never quotes, and an empty answer has nothing to quote.
    lacks_quotes = evidence is not None and (
        bool(evidence) or not (is_scripted or not graded.strip())
    )
    judges = [asker.model.name for asker in askers if not asker.is_scripted]
    agents = [turn.model for turn in view.trial.turns if turn.model]
    flags = {
        INJECTION: is_suspected or talks_to_grader(graded),
        AGAINST_VERDICT: is_against and not is_scripted,
        "unverified": lacks_quotes and not any(quote.is_the_agents for quote in evidence or ()),
        "same_family": shared_family(judges, agents) is not None,
        "scripted": any(asker.is_scripted for asker in askers),
    }
    return tuple(name for name, is_raised in flags.items() if is_raised)


def family_of(model: str) -> str | None:
    """Return the family of a model by its name; None if it is unknown."""
    known = ((name, re.search(pattern, model.lower())) for name, pattern in _FAMILIES.items())
    return next((name for name, match in known if match), None)


def shared_family(judges: Iterable[str], agents: Iterable[str]) -> str | None:
    """Name a family that has models on both sides."""
    families = {family_of(agent) for agent in agents} - {None}
    return next((family for judge in judges if (family := family_of(judge)) in families), None)


def kinship_warning(judges: Iterable[str], agents: Iterable[str]) -> str:
    """Warn of a judge of the agent's family; empty if none is."""
    family = shared_family(judges, agents)
    if family is None:
        return ""
    return (
        f"Judge and agent are both {family} models. A model tends to prefer answers of its own "
        "kind: compare its verdicts with those of a judge from another family."
    )


def talks_to_grader(text: str) -> bool:
    """Return whether a text seems to address its grader."""
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    # As a model reads it: wide letters are letters, any space is one, nothing hides between them.
    plain = INVISIBLE.sub("", " ".join(unicodedata.normalize("NFKC", text).split()))
    return re2.search("|".join(f"(?:{pattern})" for pattern in _TALK), plain, options) is not None
