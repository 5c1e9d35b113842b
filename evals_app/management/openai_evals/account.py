"""Whose evals are saved: the variables that the official SDK reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evals_app.engine.basics.permits import permits
from evals_app.engine.network.addresses import is_named, reach_problem, read_url
from evals_app.management import usage_error

_USUAL = "https://api.openai.com/v1"
_NO_KEY = (
    "OPENAI_API_KEY is not set. Set it to a key of the project that contains the evals: a key sees "
    "only its own project."
)
_NOT_A_KEY = "OPENAI_API_KEY is not a key: it has spaces or characters that are not ASCII."
_NOT_ENCRYPTED = (
    "OPENAI_BASE_URL: a key is sent only over https://, unless the host is in EVALS_PRIVATE_HOSTS."
)


@dataclass(frozen=True, slots=True)
class Account:
    """Where to ask, and as whom."""

    base_url: str
    key: str = field(repr=False)
    organization: str = ""
    project: str = ""

    @property
    def headers(self) -> dict[str, str]:
        named = {"openai-organization": self.organization, "openai-project": self.project}
        sent = {"authorization": f"Bearer {self.key}"}
        return sent | {name: value for name, value in named.items() if value}


def read_account(environ: Mapping[str, str]) -> Account:
    """Read the account from the environment.

    Raises:
        CommandError: there is no key, or it may not be sent to the address.
    """

    def variable(name: str) -> str:
        return environ.get(name, "").strip()

    key, base_url = variable("OPENAI_API_KEY"), variable("OPENAI_BASE_URL") or _USUAL
    if not key:
        raise usage_error(_NO_KEY)
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise usage_error(_NOT_A_KEY)
    _check_address(base_url)
    return Account(
        base_url.rstrip("/"), key, variable("OPENAI_ORG_ID"), variable("OPENAI_PROJECT_ID")
    )


def _check_address(base_url: str) -> None:
    problem = reach_problem(base_url, permitted=permits().hosts)
    if not problem and "?" in base_url:
        problem = "A base URL cannot contain a question mark."
    if problem:
        raise usage_error(f"OPENAI_BASE_URL: {problem}")
    target = read_url(base_url)
    if target.scheme != "https" and not is_named(target, permits().hosts):
        raise usage_error(_NOT_ENCRYPTED)
