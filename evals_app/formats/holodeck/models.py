"""Models that files name, and the providers that follow from an endpoint or a key of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evals_app.engine.network.provider_kinds import KINDS
from evals_app.formats.foreign.draft import Draft, make_draft
from evals_app.formats.foreign.shapes import SourcePlaces, slug_of
from evals_app.formats.holodeck.shapes import Llm
from evals_app.formats.holodeck.source import HolodeckFile
from evals_app.formats.holodeck.variables import API_KEY, variable_in
from evals_app.formats.reading.problems import Loc

SCRIPTED = "scripted"

_SETTINGS = ("temperature", "max_tokens", "top_p")
# What HoloDeck's endpoints leave out, where they have no path of their own.
_PATHS = {"azure_openai": "/openai/v1/", "ollama": "/v1"}


@dataclass(slots=True)
class ModelTranslator:
    """Translates models, and collects the providers that no site has from the start."""

    drafts: list[Draft] = field(default_factory=list)

    def model_value(self, source: HolodeckFile, loc: Loc, llm: Llm) -> dict[str, object]:
        settings = {key: getattr(llm, key) for key in _SETTINGS}
        given = {key: value for key, value in settings.items() if value is not None}
        return {"provider": self._provider(source, loc, llm), "name": llm.name, **given}

    def _provider(self, source: HolodeckFile, loc: Loc, llm: Llm) -> str:
        if llm.provider == SCRIPTED:
            return SCRIPTED
        if llm.auth_provider not in (None, "api_key"):
            message = (
                "Models are called with an API key here. Set ANTHROPIC_API_KEY, or set up a "
                "provider with another address. Left out."
            )
            source.say((*loc, "auth_provider"), message, level="loss")
        kind = KINDS[llm.provider]
        base_url = llm.endpoint or ""
        host, path = _host_and_path(base_url)
        if base_url and not path.strip("/"):
            base_url = base_url.rstrip("/") + _PATHS.get(llm.provider, "")
        variable = _variable(source, (*loc, API_KEY), llm.api_key)
        own = {}
        if base_url and base_url.rstrip("/") != kind.base_url:
            own["base_url"] = base_url
        if variable and variable != kind.key_env:
            own["api_key_env"] = variable
        if not own:
            return llm.provider
        where = (host, path) if "base_url" in own else ("", "")
        slug = slug_of(" ".join((llm.provider, *where, own.get("api_key_env", ""))))
        title = f"{kind.label} ({where[0] or variable})"
        self._add(source, loc, {"provider": title, "slug": slug, "kind": llm.provider, **own})
        return slug

    def _add(self, source: HolodeckFile, loc: Loc, data: Mapping[str, object]) -> None:
        # Many files may use one endpoint: that is one provider.
        if any(draft.data == data for draft in self.drafts):
            return
        places = SourcePlaces(source.document, loc)
        for ours, theirs in (("base_url", "endpoint"), ("api_key_env", API_KEY)):
            if ours in data:
                places.note((ours,), source.document, (*loc, theirs))
        self.drafts.append(make_draft("provider", "holodeck", source.document, data, place=places))


def _host_and_path(url: str) -> tuple[str, str]:
    host, _, path = url.partition("://")[2].partition("/")
    return host.rpartition("@")[2], path


def _variable(source: HolodeckFile, loc: Loc, key: str | None) -> str | None:
    if key is None:
        return None
    name = variable_in(key)
    if name is None:
        message = (
            "Files must not contain keys. Put the key into an environment variable and write its "
            "name here, for example ${OPENAI_API_KEY}. If this was a real key, revoke it."
        )
        source.say(loc, message)
    return name
