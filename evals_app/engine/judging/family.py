"""Families of models: one that is judged by its kin is judged too well."""

import re
from collections.abc import Iterable

# Names as providers and resellers write them: anthropic.claude-..., meta-llama/Llama-...
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


def family_of(model: str) -> str | None:
    """Return the family of a model by its name; None if it is unknown."""
    known = ((name, re.search(pattern, model.lower())) for name, pattern in _FAMILIES.items())
    return next((name for name, found in known if found), None)


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
