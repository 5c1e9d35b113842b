"""Where a provider's models may be, and which key may be sent there.

Whoever edits providers names an address and the variable of a key. If both were free, every secret
of the environment could be sent to any server, and every server of a private network be asked.
"""

import difflib
from collections.abc import Iterator
from urllib.parse import urlsplit

from evals_app.engine.addresses import Target, is_named, read_url, url_problem
from evals_app.engine.kinds import KINDS
from evals_app.engine.permits import permits

# Where Ollama serves the machine it runs on: there to be asked, and without a key.
_OLLAMA = ("localhost:11434", "127.0.0.1:11434", "[::1]:11434")


def permitted_hosts() -> tuple[str, ...]:
    """Give the hosts of private networks at which models may be asked."""
    return (*permits().hosts, *_OLLAMA)


def address_problem(base_url: str) -> str | None:
    """Say why a base URL cannot be called, as far as it is known without looking its name up."""
    if "?" in base_url:
        return "A base URL has no part that begins with a question mark."
    return url_problem(base_url, permitted=permitted_hosts())


def variable_problem(variable: str) -> str | None:
    """Say why a variable is not used as a key.

    The variable itself is not repeated: somebody may have written a key in its place.
    """
    if permits().key_hosts(variable):
        return None
    listed = list(dict.fromkeys(each.partition("@")[0] for each in permits().keys))
    near = difflib.get_close_matches(variable, listed, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return (
        "The operator does not permit this variable as a key of models (EVALS_KEY_VARIABLES);"
        f" permitted: {', '.join(listed) or 'none'}.{hint}"
    )


def place_problem(
    kind: str, variable: str, base_url: str, *, is_operators: bool = False
) -> str | None:
    """Say why a key, which is permitted, may not be sent to this base URL.

    `is_operators`: the address is what the operator's environment gives to this kind.
    """
    hosts, target = permits().key_hosts(variable), read_url(base_url)
    is_own_place = is_operators and variable == KINDS[kind].key_env
    if is_own_place or _is_one_of(target, filter(None, hosts)):
        return None
    if usual := list(_usual_hosts(variable)):
        if "" in hosts and target.scheme == "https" and _is_one_of(target, usual):
            return None
        places = [f"https://{each}" for each in usual] if "" in hosts else filter(None, hosts)
        return (
            f"{variable} is sent to {' or '.join(places)} only. The operator permits another host"
            f" with {variable}@{target.authority} in EVALS_KEY_VARIABLES."
        )
    if "" not in hosts:
        return (
            f"This key is sent to {' or '.join(hosts)} only, as the operator says in"
            " EVALS_KEY_VARIABLES."
        )
    if target.scheme == "https" or is_operators or is_named(target, permitted_hosts()):
        return None
    return (
        "A key is sent over https:// only, unless the operator names the host beside the key in"
        " EVALS_KEY_VARIABLES, or in EVALS_PRIVATE_HOSTS."
    )


def is_vouched_for(variable: str, base_url: str) -> bool:
    """Whether a host is a usual one of model APIs, or one that the operator has named."""
    target = read_url(base_url)
    usual = (host for kind in KINDS.values() for host in _usual_hosts(kind.key_env or ""))
    return (
        is_named(target, permitted_hosts())
        or _is_one_of(target, usual)
        or _is_one_of(target, filter(None, permits().key_hosts(variable)))
    )


def _usual_hosts(variable: str) -> Iterator[str]:
    """Give the hosts of the APIs that a usual key is for; none for any other variable."""
    for kind in KINDS.values():
        if variable and kind.key_env == variable:
            if kind.base_url:
                yield urlsplit(kind.base_url).netloc
            yield from kind.more_hosts


def _is_one_of(target: Target, hosts: Iterator[str] | list[str]) -> bool:
    return any(
        target.host.endswith(host[1:].lower())
        if host.startswith("*.")
        else is_named(target, [host])
        for host in hosts
    )
