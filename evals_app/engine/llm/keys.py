"""How a provider is reached: its address, and its key, which stays in the environment."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from evals_app.engine.basics.errors import AuthFailedError, ConfigurationError
from evals_app.engine.llm.apis.adapter import Access
from evals_app.engine.llm.judge_plugins import PLUGIN, judge_problem
from evals_app.engine.network.addresses import RequestTarget, read_url
from evals_app.engine.network.key_places import (
    address_problem,
    is_vouched_for,
    permitted_hosts,
    place_problem,
    variable_problem,
)
from evals_app.engine.network.provider_kinds import KINDS, variable_of
from evals_app.engine.specs.base_spec import ModelSpec, ProviderSpec


@dataclass(frozen=True, slots=True)
class MissingKey:
    """A provider whose key is not in the environment."""

    provider: str
    variable: str

    def __str__(self) -> str:
        return (
            f"Provider {self.provider!r} needs an API key: ask your administrator to"
            f" set the environment variable {self.variable}."
        )


def missing_keys(providers: Iterable[ProviderSpec], environ: Mapping[str, str]) -> list[MissingKey]:
    """List the providers that could not be called; scripted ones need no key, nor does Ollama."""
    return [
        MissingKey(spec.slug, variable)
        for spec in providers
        if (variable := variable_of(spec.kind, spec.api_key_env)) and not _key(variable, environ)
    ]


def why_unreachable(
    model: ModelSpec, providers: Mapping[str, ProviderSpec], environ: Mapping[str, str]
) -> str | None:
    """Explain why a model cannot be called; None if it can, as far as this site knows."""
    provider = providers.get(model.provider)
    if provider is None and model.provider == PLUGIN:
        return judge_problem(model.name)
    if provider is None:
        known = ", ".join(providers)
        return f"there is no provider {model.provider!r}. Known: {known}."
    if problem := refusal(provider, environ):
        return problem
    for missing in missing_keys([provider], environ):
        return f"the environment variable {missing.variable} is not set."
    return None


def no_judge(
    suite: str,
    check: str,
    site: str,
    providers: Collection[ProviderSpec],
    environ: Mapping[str, str],
) -> str:
    """State that a check of a suite has no judge, and what to do; `site` is the site's judge."""
    keyed = [provider for provider in providers if variable_of(provider.kind, provider.api_key_env)]
    missing = {key.variable: key.provider for key in missing_keys(keyed, environ)}
    usable = [provider for provider in keyed if provider.slug not in missing.values()]
    problem = (
        f"Suite {suite} has a check that needs a judge model ({check!r}), but there is none: the suite"
        f" does not name one, and {site}, the judge of this site, is not available."
    )
    if not usable:
        return f"{problem} No provider has a key: set {_names_text(missing)} in the environment."
    models = ", ".join(
        f"{provider.provider} ({provider.slug}/{_example(provider)})" for provider in usable
    )
    return (
        f"{problem} Choose a judge model for the suite, or set EVALS_JUDGE_MODEL for the site. "
        f"These providers have a key: {models}."
    )


def _names_text(names: Iterable[str]) -> str:
    *others, last = sorted(names)
    return f"{', '.join(others)} or {last}" if others else last


def _example(provider: ProviderSpec) -> str:
    """Name a model of a provider that can judge: the cheapest with a price."""
    written = [price for price in provider.prices if price.output_usd and "*" not in price.model]
    return min(written, key=lambda price: price.output_usd).model if written else "MODEL"


def refusal(spec: ProviderSpec, environ: Mapping[str, str]) -> str | None:
    """Explain why the operator does not permit a provider; None if it may be called."""
    try:
        place = _place(spec, environ)
    except ConfigurationError as error:
        return str(error)
    variable = variable_of(spec.kind, spec.api_key_env)
    problem = None if place.is_operators else address_problem(place.base_url)
    if problem is None and variable:
        problem = variable_problem(variable)
        problem = f"{variable}: {problem}" if problem else None
    if problem is None and variable:
        is_operators = place.is_operators
        problem = place_problem(spec.kind, variable, place.base_url, is_operators=is_operators)
    return f"Provider {spec.slug!r} cannot be called. {problem}" if problem else None


def unknown_address(spec: ProviderSpec) -> str | None:
    """Return the base URL if it is neither a known API nor named by the operator."""
    variable = variable_of(spec.kind, spec.api_key_env)
    if spec.base_url is None or is_vouched_for(variable, spec.base_url):
        return None
    return spec.base_url


def access(spec: ProviderSpec, environ: Mapping[str, str]) -> Access:
    """Return how a provider is reached.

    Raises:
        AuthFailedError: its key is missing or invalid.
        ConfigurationError: its address is missing or invalid, or the operator does not permit it.
    """
    kind, variable = KINDS[spec.kind], variable_of(spec.kind, spec.api_key_env)
    place = _place(spec, environ)
    if problem := refusal(spec, environ):
        raise ConfigurationError(problem)
    key = _key(variable, environ)
    if variable and not key:
        raise AuthFailedError(str(MissingKey(spec.slug, variable)))
    if not (key.isascii() and key.isprintable()):
        raise AuthFailedError(
            f"The environment variable {variable} does not contain a valid API key."
        )
    own = (place.target.authority,) if place.is_operators else ()
    return Access(
        kind=kind,
        base_url=place.base_url,
        max_tokens_parameter=spec.max_tokens_parameter or kind.max_tokens_parameter,
        key=key,
        variable=variable,
        permitted=(*permitted_hosts(), *own),
        is_trusted=place.is_operators or is_vouched_for(variable, place.base_url),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a provider is; `is_operators`: set by the environment, not by people who edit providers."""

    base_url: str
    target: RequestTarget
    is_operators: bool


def _place(spec: ProviderSpec, environ: Mapping[str, str]) -> _Place:
    kind = KINDS[spec.kind]
    variable = kind.base_url_env or ""
    from_environment = "" if spec.base_url else environ.get(variable, "").strip()
    base_url = spec.base_url or from_environment or kind.base_url
    if base_url is None:
        raise ConfigurationError(f"Provider {spec.slug!r} needs a base URL.")
    try:
        return _Place(base_url, read_url(base_url), bool(from_environment))
    except ValueError:
        where = f"the environment variable {variable}" if from_environment else "its base URL"
        raise ConfigurationError(
            f"Provider {spec.slug!r} cannot be reached: {where} must be a full address without user "
            "name and password, for example https://models.example.org/v1."
        ) from None


def _key(variable: str, environ: Mapping[str, str]) -> str:
    # Values from files often end with a line end, which no HTTP header may contain.
    return environ.get(variable, "").strip()
