"""A client that openapi-python-client makes of the schema, as integrators make theirs."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from openapi_python_client import generate
from openapi_python_client.config import Config, ConfigFile, MetaType

from evals_app.library.importing.examples import import_examples
from evals_app.models import Agent, ApiToken, Provider, Suite
from fixtures_app.models import Fixture
from tests.api.clients import make_user

# As docs/rest.md has it: bodies that are files.
FILES = dict.fromkeys(
    ("application/yaml", "application/zip", "application/x-protobuf"), "application/octet-stream"
)
NAME = "evalwell_client"
WRITTEN: dict[str, Any] = {
    "suites": Suite,
    "agents": Agent,
    "fixtures": Fixture,
    "providers": Provider,
}


@pytest.fixture
def package(schema: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Generate the client without network; give the name of its package."""
    document = tmp_path / "schema.json"
    document.write_text(json.dumps(schema))
    config = Config.from_sources(
        ConfigFile(content_type_overrides=FILES, post_hooks=[]),
        MetaType.NONE,
        document_source=document,
        file_encoding="utf-8",
        overwrite=False,
        output_path=tmp_path / NAME,
    )
    complaints = [f"{error.header} {error.detail}" for error in generate(config=config)]
    assert complaints == []
    monkeypatch.syspath_prepend(tmp_path)
    yield NAME
    for module in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[module]


@pytest.fixture
def site() -> Iterator[httpx.WSGITransport]:
    """The site itself, in this process and in the transaction of the test."""
    moments = (request_started, request_finished)
    for moment in moments:  # as Django's own test client does
        moment.disconnect(close_old_connections)
    yield httpx.WSGITransport(get_wsgi_application())
    for moment in moments:
        moment.connect(close_old_connections)


@pytest.mark.slow
@pytest.mark.django_db
def test_a_generated_client_reads_and_writes_every_example(
    package: str, site: httpx.WSGITransport
) -> None:
    import_examples()
    _, token = ApiToken.issue(name="CI", user=make_user(), scope="author")
    url = "http://testserver"
    client = import_module(package).AuthenticatedClient(base_url=url, token=token)
    headers = {"Authorization": f"Bearer {token}"}
    client.set_httpx_client(httpx.Client(transport=site, base_url=url, headers=headers))

    def call(operation: str, noun: str, slug: str, **given: Any) -> Any:
        module = import_module(f"{package}.api.{noun}.{noun}_{operation}")
        return module.sync_detailed(slug, client=client, **given)

    became = {}
    for noun, model in WRITTEN.items():
        for slug in model.objects.values_list("slug", flat=True):
            read = call("get", noun, slug)
            put = call("put", noun, slug, body=read.parsed, if_match=read.headers["ETag"])
            assert put.status_code == 200, (noun, slug, put.content)
            became[noun, slug] = {change.what for change in put.parsed.changes}

    assert {noun for noun, _ in became} == WRITTEN.keys()
    assert {key: what for key, what in became.items() if what != {"unchanged"}} == {}
