"""How a provider is reached: its address, and its key, which stays in the environment."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from evals_app.engine.addresses import Target, read_url
from evals_app.engine.errors import AuthFailedError, ConfigurationError
from evals_app.engine.key_places import (
    address_problem,
    is_vouched_for,
    permitted_hosts,
    place_problem,
    variable_problem,
)
from evals_app.engine.kinds import KINDS
from evals_app.engine.llm.adapter import Access
from evals_app.engine.spec import ModelSpec, ProviderSpec


@dataclass(frozen=True, slots=True)
class MissingKey:
    """A provider whose key is not in the environment."""

    provider: str
    variable: str

    def __str__(self) -> str:
        return (
            f"Provider {self.provider!r} needs an API key: "
            f"set the environment variable {self.variable}."
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
    """Say why a model cannot be asked; None if it can, as far as this site knows."""
    provider = providers.get(model.provider)
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
    """Say that nobody can judge a check of a suite, and what to do; `site` is the site's judge."""
    keyed = [each for each in providers if variable_of(each.kind, each.api_key_env)]
    missing = {each.variable: each.provider for each in missing_keys(keyed, environ)}
    usable = [each for each in keyed if each.slug not in missing.values()]
    problem = (
        f"Suite {suite} has a check that a model must judge ({check!r}), and there is none: the suite"
        f" names no judge model, and {site}, the judge of this site, cannot be asked."
    )
    if not usable:
        return f"{problem} No provider has a key: set {_listed(missing)} in the environment."
    models = ", ".join(f"{each.provider} ({each.slug}/{_example(each)})" for each in usable)
    return (
        f"{problem} Choose a model of a provider with a key as the suite's judge model, or for the"
        f" site in EVALS_JUDGE_MODEL. There is a key for {models}."
    )


def _listed(names: Iterable[str]) -> str:
    *others, last = sorted(names)
    return f"{', '.join(others)} or {last}" if others else last


def _example(provider: ProviderSpec) -> str:
    """Name a model of a provider that can judge: of those with a price the cheapest."""
    written = [each for each in provider.prices if each.output_usd and "*" not in each.model]
    return min(written, key=lambda each: each.output_usd).model if written else "MODEL"


def variable_of(kind: str, named: str | None) -> str:
    """Give the name of the variable that holds the key, empty where none is needed.

    `named` is what the provider itself says of it.
    """
    known = KINDS.get(kind)  # a row that is being written may have none yet
    return (named or known.key_env or "") if known and known.api else ""


def refusal(spec: ProviderSpec, environ: Mapping[str, str]) -> str | None:
    """Say why the operator does not permit a provider as it is written; None if it may be called."""
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
    return f"Provider {spec.slug!r} is not called. {problem}" if problem else None


def unknown_address(spec: ProviderSpec) -> str | None:
    """Give the base URL if somebody wrote one of which nobody has said that it may be called."""
    variable = variable_of(spec.kind, spec.api_key_env)
    if spec.base_url is None or is_vouched_for(variable, spec.base_url):
        return None
    return spec.base_url


def access(spec: ProviderSpec, environ: Mapping[str, str]) -> Access:
    """Give how a provider is reached.

    Raises:
        AuthFailedError: its key is missing, or cannot be one.
        ConfigurationError: it has no address, or one that is none; or the operator does not permit
            it.
    """
    kind, variable = KINDS[spec.kind], variable_of(spec.kind, spec.api_key_env)
    place = _place(spec, environ)
    if problem := refusal(spec, environ):
        raise ConfigurationError(problem)
    key = _key(variable, environ)
    if variable and not key:
        raise AuthFailedError(str(MissingKey(spec.slug, variable)))
    if not (key.isascii() and key.isprintable()):
        raise AuthFailedError(f"The environment variable {variable} holds no usable API key.")
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
    """Where a provider is; `is_operators`: as the environment says, not who edits providers."""

    base_url: str
    target: Target
    is_operators: bool


def _place(spec: ProviderSpec, environ: Mapping[str, str]) -> _Place:
    kind = KINDS[spec.kind]
    variable = kind.base_url_env or ""
    from_environment = "" if spec.base_url else environ.get(variable, "").strip()
    base_url = spec.base_url or from_environment or kind.base_url
    if base_url is None:
        raise ConfigurationError(f"Provider {spec.slug!r} needs its base URL.")
    try:
        return _Place(base_url, read_url(base_url), bool(from_environment))
    except ValueError:
        where = f"the environment variable {variable}" if from_environment else "its base URL"
        msg = (
            f"Provider {spec.slug!r} cannot be reached: {where} is no whole address without name "
            "and password, for example https://models.example.org/v1."
        )
        raise ConfigurationError(msg) from None


def _key(variable: str, environ: Mapping[str, str]) -> str:
    # A line end comes along easily from a file, and no HTTP header may hold one.
    return environ.get(variable, "").strip()
