"""How a provider is reached: its address, and its key, which stays in the environment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from evals_app.engine.errors import AuthFailedError, ConfigurationError
from evals_app.engine.llm.adapter import Access
from evals_app.engine.llm.kinds import KINDS
from evals_app.engine.spec import ProviderSpec


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


def variable_of(kind: str, named: str | None) -> str:
    """Give the name of the variable that holds the key, empty where none is needed.

    `named` is what the provider itself says of it.
    """
    known = KINDS.get(kind)  # a row that is being written may have none yet
    return (named or known.key_env or "") if known and known.api else ""


def access(spec: ProviderSpec, environ: Mapping[str, str]) -> Access:
    """Give how a provider is reached.

    Raises:
        AuthFailedError: its key is missing, or cannot be one.
        ConfigurationError: it has no address, or one that is none.
    """
    kind, variable = KINDS[spec.kind], variable_of(spec.kind, spec.api_key_env)
    key = _key(variable, environ)
    if variable and not key:
        raise AuthFailedError(str(MissingKey(spec.slug, variable)))
    if not (key.isascii() and key.isprintable()):
        raise AuthFailedError(f"The environment variable {variable} holds no usable API key.")
    return Access(
        kind=kind,
        base_url=_base_url(spec, environ),
        max_tokens_parameter=spec.max_tokens_parameter or kind.max_tokens_parameter,
        key=key,
        variable=variable,
    )


def _base_url(spec: ProviderSpec, environ: Mapping[str, str]) -> str:
    kind = KINDS[spec.kind]
    variable = kind.base_url_env or ""
    said = "" if spec.base_url else environ.get(variable, "").strip()
    base_url = spec.base_url or said or kind.base_url
    if base_url is None:
        raise ConfigurationError(f"Provider {spec.slug!r} needs its base URL.")
    if not _is_address(base_url):
        where = f"the environment variable {variable}" if said else "its base URL"
        msg = (
            f"Provider {spec.slug!r} cannot be reached: {where} is no whole address without name "
            "and password, for example https://models.example.org/v1."
        )
        raise ConfigurationError(msg)
    return base_url


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.port != 0
            and "@" not in parts.netloc
        )
    except ValueError:
        return False


def _key(variable: str, environ: Mapping[str, str]) -> str:
    # A line end comes along easily from a file, and no HTTP header may hold one.
    return environ.get(variable, "").strip()
