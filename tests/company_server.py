"""An identity provider like that of a company, in a thread of its own."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import requests
from django.test import Client

from evalsite.sign_in import company
from evalsite.sign_in.variables import IdentityProvider

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it uses a part of Authlib that will move
    from oidc_provider_mock import _app as provider
    from oidc_provider_mock import run_server_in_thread

__all__ = ["provider"]

ANN = {
    "name": "Ann Smith",
    "preferred_username": "ann@example.org",
    "email": "ann@example.org",
    "email_verified": True,
    "groups": ["quality", "everyone-in-berlin"],
}


@dataclass
class Company:
    """The provider, and what its people do."""

    url: str

    def hire(self, subject: str, **claims: Any) -> None:
        """Give someone an account, or change what is said of them."""
        answer = requests.put(f"{self.url}/users/{subject}", json=claims, timeout=5)
        answer.raise_for_status()

    def send_back(self, address: str, subject: str) -> str:
        """Sign in at the provider; return where the browser is sent."""
        form = {"sub": subject}
        answer = requests.post(address, data=form, allow_redirects=False, timeout=5)
        return answer.headers["Location"]

    def sign_in(self, client: Client, subject: str, *, start: str = "") -> Any:
        """Go through all of it; return the last answer of the site."""
        there = client.get(f"/admin/login/company/{start}")
        back = self.send_back(there["Location"], subject)
        return client.get(back.removeprefix("http://testserver"))


@contextmanager
def company_server(settings: Any, **changes: str) -> Iterator[Company]:
    """Run the provider, and let the site know it."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with run_server_in_thread() as server:
        url = f"http://localhost:{server.server_port}"
        found = IdentityProvider(
            url, "evalwell", "s3cret", "Acme", "openid profile email", "groups"
        )
        settings.IDENTITY_PROVIDER = found._replace(**changes)
        company.client_of.cache_clear()
        yield Company(url)
