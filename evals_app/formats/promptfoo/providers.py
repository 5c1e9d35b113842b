"""Providers: what is tested as agents, what judges as models."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from evals_app.engine.network.provider_kinds import KINDS
from evals_app.engine.specs.base_spec import Effort
from evals_app.formats.foreign.reply_formats import format_settings
from evals_app.formats.foreign.shapes import distinct_names, slug_of
from evals_app.formats.promptfoo.http_providers import http_agent
from evals_app.formats.promptfoo.shapes import ProviderOptions
from evals_app.formats.promptfoo.source import ProjectSpot, is_file
from evals_app.formats.reading.problems import Json

# Our providers by promptfoo's, and the ways to ask them that mean a chat.
_PROVIDERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic", ("messages",)),
    "azure": ("azure_openai", ("chat", "responses")),
    "azureopenai": ("azure_openai", ("chat", "responses")),
    "google": ("gemini", ()),
    "groq": ("groq", ("chat", "responses")),
    "ollama": ("ollama", ("chat",)),
    "openai": ("openai", ("chat", "responses")),
    "openrouter": ("openrouter", ()),
}
# What else is where a model could.
_NO_MODELS = frozenset(
    {"agents", "assistant", "chatkit", "claude-agent-sdk", "codex", "codex-app-server"}
    | {"codex-desktop", "codex-sdk", "completion", "embedding", "embeddings", "image", "live"}
    | {"moderation", "realtime", "speech", "transcription", "tts", "video"}
    | {"chat", "messages", "responses"}
)
_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "seed": "seed",
    "effort": "effort",
    "reasoning_effort": "effort",
}
_EFFORTS = get_args(Effort)
# Of another server than that of the provider here, which must not get its prompts.
_ADDRESSES = ("apiBaseUrl", "apiHost", "baseURL", "base_url")
_EMBEDDING = re.compile(r"(openai|google|ollama):embeddings?:(.+)")
_OWN_REPLY = "Code does not run on import. Checks read the reply of the agent that is asked instead, as it is."
_NO_ANSWER = "There is no canned answer for this tool yet."


@dataclass(frozen=True, slots=True)
class SuiteTarget:
    """What a suite asks: an agent that is here, or the data of one that is made."""

    name: str
    slug: str
    labels: tuple[str, ...]
    spot: ProjectSpot
    agent: str | None = None
    made: Json = field(default_factory=dict)
    prompts: tuple[str, ...] | None = None

    def transforms(self) -> list[ProjectSpot]:
        """Return the place of its code that changes each reply, if this provider is asked here."""
        spot = self.spot.at("transform")
        return [] if self.agent is not None or spot.value is None else [spot]

    def merge(self, other: "SuiteTarget") -> "SuiteTarget":
        """Return a target that is asked everything that either is asked."""
        prompts = None
        if self.prompts is not None and other.prompts is not None:
            prompts = (*self.prompts, *other.prompts)
        return replace(self, labels=(*self.labels, *other.labels), prompts=prompts)


def read_targets(config: ProjectSpot) -> list[SuiteTarget]:
    """Read what is tested; a provider without an equal is the agent that the person named."""
    key = "targets" if config.at("providers").value is None else "providers"
    targets = [target for spot in _entries(config.at(key)) if (target := _target(spot))]
    agent = config.project.base.around.agent
    if config.at(key).value is None:
        if agent is None:
            config.say(
                "There are no providers here. Choose the agent to test when you import (--agent)."
            )
            return []
        return [SuiteTarget(agent, agent, (), config, agent)]
    return _distinct(targets)


def _distinct(targets: Sequence[SuiteTarget]) -> list[SuiteTarget]:
    """Merge targets that are the same agent here, and distinguish all others."""
    kept: list[SuiteTarget] = []
    for target in targets:
        same = (n for n, item in enumerate(kept) if target.agent and target.agent == item.agent)
        if (n := next(same, None)) is None:
            kept.append(target)
        else:
            kept[n] = kept[n].merge(target)
    slugs = map(slug_of, distinct_names([item.slug for item in kept]))
    return [replace(item, slug=slug) for item, slug in zip(kept, slugs, strict=True)]


def _entries(spot: ProjectSpot) -> Iterator[ProjectSpot]:
    for entry in spot.entries():
        written = entry.value
        if is_file(written) and written.endswith((".yaml", ".yml", ".json")):
            for file in entry.load(written):
                yield from file.entries()
        elif isinstance(written, dict) and len(written) == 1 and ":" in next(iter(written)):
            # {openai:gpt-5: {config: ...}}
            yield entry.at(*written)
        else:
            yield entry


def _read(spot: ProjectSpot) -> ProviderOptions | None:
    if isinstance(spot.value, str):
        return ProviderOptions(id=spot.value)
    provider = spot.part(ProviderOptions)
    if provider is not None and provider.id is None:
        key = spot.loc[-1] if spot.loc else None
        if not isinstance(key, str) or ":" not in key:
            spot.say("A provider needs an `id`, for example openai:gpt-5-mini.")
            return None
        return provider.model_copy(update={"id": key})
    return provider


def _target(spot: ProjectSpot) -> SuiteTarget | None:
    provider = _read(spot)
    if provider is None or provider.id is None:
        return None
    around = spot.project.base.around
    model = _model(provider)
    name = provider.label or (str(model["name"]) if model else provider.id)
    prompts = None if provider.prompts is None else tuple(provider.prompts)
    target = SuiteTarget(
        name, slug_of(name), (provider.label or "", provider.id), spot, prompts=prompts
    )
    written_at = spot.at("id") if spot.at("id").value is not None else spot
    here = next((slug for slug in (target.slug, provider.label) if slug in around.agents), None)
    if provider.transform is not None and (here is not None or around.agent is not None):
        spot.at("transform").lose(_OWN_REPLY)
    if here is not None:
        return replace(target, name=here, agent=here)
    if around.agent is not None:
        written_at.lose(f"The agent {around.agent} is asked instead because of --agent.")
        return replace(target, name=around.agent, slug=slug_of(around.agent), agent=around.agent)
    if model is not None:
        made = {"driver": "model", "model": model, "tools": _tools(spot, provider)}
        made |= _format(spot.at("config", "response_format"))
        return replace(target, made=made)
    if (http := http_agent(spot, provider)) is not None:
        return replace(target, made=http)
    if provider.id == "echo":
        made = {"driver": "scripted", "rules": [{"reply": "{{input}}"}]}
        return replace(target, made=made)
    written_at.say(
        "This has no equivalent here. Make an agent that does the same. Choose it when you "
        "import (--agent), or give this provider its slug as a label."
    )
    return None


def _model(provider: ProviderOptions) -> Json | None:
    """Return the model that a provider is; None if it is not one, or is asked somewhere else."""
    prefix, _, rest = str(provider.id).partition(":")
    if prefix not in _PROVIDERS or any(key in provider.config for key in _ADDRESSES):
        return None
    ours, ways = _PROVIDERS[prefix]
    way, colon, name = rest.partition(":")
    model = name if colon and way in ways else rest
    if not model or model.partition(":")[0] in _NO_MODELS:
        return None
    settings = {
        _SETTINGS[key]: value
        for key, value in provider.config.items()
        if _is_sent(key, value, ours)
    }
    reasoning = provider.config.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, dict) else None
    settings |= {"effort": effort} if effort in _EFFORTS else {}
    return {"provider": ours, "name": model, **settings}


def _is_sent(key: str, value: object, provider: str) -> bool:
    """Return whether a setting is sent to models of a provider here."""
    ours = _SETTINGS.get(key, "")
    if not ours or ours in KINDS[provider].lacks:
        return False
    if ours == "effort":
        return value in _EFFORTS
    return isinstance(value, int if ours == "seed" else int | float)


def _format(spot: ProjectSpot) -> Json:
    settings, problem = format_settings(spot.value)
    if problem:
        spot.lose(problem)
    return settings


def _tools(spot: ProjectSpot, provider: ProviderOptions) -> list[Json]:
    """Make tools of definitions; report settings that are not supported."""
    tools: list[Json] = []
    model = _model(provider) or {}
    for key, value in provider.config.items():
        here = spot.at("config", key)
        if key in ("tools", "functions"):
            tools += [tool for definition in _definitions(here) if (tool := _tool(definition))]
            here.lose(
                f"Calls of these tools are recorded and fail: {_NO_ANSWER} Add answers, as rules."
            )
        elif "key" in key.lower():
            here.lose(
                "Keys are never stored here. Set the provider's environment variable for the "
                "workers."
            )
        elif key == "reasoning" and "effort" in model:
            if isinstance(value, dict) and value.keys() - {"effort"}:
                here.lose("Only the effort is sent to the model here.")
        elif key != "response_format" and not _is_sent(key, value, str(model.get("provider"))):
            here.lose("This setting is not sent to the model here.")
    return tools


def _definitions(spot: ProjectSpot) -> Iterator[ProjectSpot]:
    for item in spot.entries():
        if is_file(item.value):
            for file in item.load(item.value):
                yield from file.entries()
        else:
            yield item


def _tool(spot: ProjectSpot) -> Json | None:
    """Make a tool of a definition, in the words of OpenAI or Anthropic."""
    written = spot.value
    says = written.get("function", written) if isinstance(written, dict) else None
    if not isinstance(says, dict) or not isinstance(says.get("name"), str):
        spot.lose("This is not the definition of a function, and is left out.")
        return None
    parameters = says.get("parameters", says.get("input_schema"))
    return {
        "name": says["name"],
        "description": says.get("description") or "",
        "parameters": parameters if isinstance(parameters, dict) else {"type": "object"},
        "rules": [{"error": _NO_ANSWER}],
    }


def judge_of(spot: ProjectSpot) -> object:
    """Return the model that a grader is; None: it is not one, which is reported, or none is named."""
    written = spot.value
    if isinstance(written, dict) and {"text", "embedding"} & written.keys():
        return judge_of(spot.at("text"))
    provider = None if written is None else _read(spot)
    if provider is None or provider.id is None:
        return None
    if provider.transform is not None:
        spot.at("transform").lose("Code does not run on import. The judge's own answer is read.")
    model = _model(provider)
    # An agent may have the name of a model; a judge that means the agent uses its label.
    names = [provider.label] if model else [provider.label, provider.id]
    slugs = (slug_of(name) for name in names if name)
    here = next((slug for slug in slugs if slug in spot.project.base.around.agents), None)
    if here is not None:
        return f"scripted/{here}"
    if model is None:
        spot.lose("This cannot be a judge here. The judge of the suite or the site is used.")
        return None
    if model["provider"] not in spot.project.base.around.providers:
        spot.lose(
            f"There is no provider {model['provider']} here. The judge of the suite or the site is used. "
            "Add a provider with this slug to be judged by this model."
        )
        return None
    return (
        f"{model['provider']}/{model['name']}" if len(model) == len(("provider", "name")) else model
    )


def embedder_of(spot: ProjectSpot) -> str | None:
    """Return the model of embeddings that a grader is, or names; None if there is none."""
    written = spot.value
    if isinstance(written, dict) and {"text", "embedding"} & written.keys():
        return embedder_of(spot.at("embedding"))
    provider = None if written is None else _read(spot)
    match = _EMBEDDING.fullmatch(str(provider.id)) if provider else None
    return f"{_PROVIDERS[match[1]][0]}/{match[2]}" if match else None
