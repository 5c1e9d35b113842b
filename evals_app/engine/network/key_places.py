"""Which addresses a provider may have, and which variable may be sent where.

People who edit providers and agents enter an address and the variable of a key. Without these rules
every secret of the environment could be sent to any server, and any server of a private network be
called.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from evals_app.engine.basics.permits import permits
from evals_app.engine.network.addresses import RequestTarget, is_named, read_url, url_problem
from evals_app.engine.network.provider_kinds import KINDS
from fixtures_app.ground.words import near

# Where Ollama serves its own machine: it may be called, and needs no key.
_OLLAMA = ("localhost:11434", "127.0.0.1:11434", "[::1]:11434")


def permitted_hosts() -> tuple[str, ...]:
    """Return the hosts of private networks whose models may be called."""
    return (*permits().hosts, *_OLLAMA)


def address_problem(base_url: str) -> str | None:
    """Explain why a base URL cannot be called, as far as that is known without looking up its name."""
    if "?" in base_url:
        return "A base URL cannot contain a question mark."
    return url_problem(base_url, permitted=permitted_hosts())


def variable_problem(variable: str) -> str | None:
    """Explain why a variable is not used as a key.

    The name is not repeated, because it may be the key itself, entered by accident.
    """
    if permits().key_hosts(variable):
        return None
    listed = list(dict.fromkeys(entry.partition("@")[0] for entry in permits().keys))
    hint = near(variable, listed)
    return (
        "This variable is not permitted as an API key. Permitted by your administrator in"
        f" EVALS_KEY_VARIABLES: {', '.join(listed) or 'none'}.{hint}"
    )


def place_problem(
    kind: str, variable: str, base_url: str, *, is_operators: bool = False
) -> str | None:
    """Explain why a key, which is permitted, may not be sent to this base URL.

    `is_operators`: the address is what the operator's environment gives to this kind.
    """
    hosts, target = permits().key_hosts(variable), read_url(base_url)
    is_own_place = is_operators and variable == KINDS[kind].key_env
    if is_own_place or _is_one_of(target, filter(None, hosts)):
        return None
    if usual := list(_usual_hosts(variable)):
        if "" in hosts and target.scheme == "https" and _is_one_of(target, usual):
            return None
        places = [f"https://{host}" for host in usual] if "" in hosts else filter(None, hosts)
        return (
            f"{variable} is sent only to {' or '.join(places)}. Your administrator can permit this host with"
            f" {variable}@{target.authority} in EVALS_KEY_VARIABLES."
        )
    if "" not in hosts:
        return (
            f"This key is sent only to {' or '.join(hosts)}, as set by your administrator in"
            " EVALS_KEY_VARIABLES."
        )
    if target.scheme == "https" or is_operators or is_named(target, permitted_hosts()):
        return None
    return (
        "A key is sent only over https://, unless your administrator names the host with the key in"
        " EVALS_KEY_VARIABLES, or in EVALS_PRIVATE_HOSTS."
    )


def header_problem(variable: str, url: str) -> str | None:
    """Explain why a variable, which headers may contain, may not be sent to this address."""
    hosts, target = permits().variable_hosts(variable), read_url(url)
    named = list(filter(None, hosts))
    if not hosts or _is_one_of(target, named):
        return None  # not permitted at all, which is reported elsewhere
    if "" not in hosts:
        return (
            f"{variable} is sent only to {' or '.join(named)}. Your administrator can permit this host with"
            f" {variable}@{target.authority} in EVALS_HEADER_VARIABLES."
        )
    if target.scheme == "https" or is_named(target, permits().hosts):
        return None
    return (
        f"{variable} is sent only over https://, unless your administrator permits"
        f" {variable}@{target.authority} in EVALS_HEADER_VARIABLES, or the host in"
        " EVALS_PRIVATE_HOSTS."
    )


def is_vouched_for(variable: str, base_url: str) -> bool:
    """Return whether a host is a known model API, or one that the operator has named."""
    target = read_url(base_url)
    usual = (host for kind in KINDS.values() for host in _usual_hosts(kind.key_env or ""))
    return (
        is_named(target, permitted_hosts())
        or _is_one_of(target, usual)
        or _is_one_of(target, filter(None, permits().key_hosts(variable)))
    )


def _usual_hosts(variable: str) -> Iterator[str]:
    """Return the hosts of the APIs that a usual key is for; none for any other variable."""
    for kind in KINDS.values():
        if variable and kind.key_env == variable:
            if kind.base_url:
                yield urlsplit(kind.base_url).netloc
            yield from kind.more_hosts


def _is_one_of(target: RequestTarget, hosts: Iterator[str] | list[str]) -> bool:
    return any(
        target.host.endswith(host[1:].lower())
        if host.startswith("*.")
        else is_named(target, [host])
        for host in hosts
    )
