"""How a run compares texts is chosen when it starts: the first way that there is."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.models import ModelPrice, Provider, Suite
from evals_app.runs.starting.freeze import CannotStartError, freeze
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db

KEYS = {"OPENAI_API_KEY": "a", "GEMINI_API_KEY": "b", "ANTHROPIC_API_KEY": "c"}
OPENAI = "embeddings openai/text-embedding-3-small"
GEMINI = "embeddings gemini/gemini-embedding-001"
LOCAL = "embeddings ollama/nomic-embed-text"
JUDGE = "semantic_equivalence anthropic/claude-haiku-5-5"


def comparing_suite(**options: Any) -> Suite:
    suite = make_suite()
    suite.default_assertions.create(
        type="semantic_similarity", options={"value": "x", **options}, threshold=0.8
    )
    return suite


def head_of(
    suite: Suite,
    *,
    environ: Mapping[str, str] | None = None,
    local: str | None = None,
    **options: Any,
) -> SnapshotSpec:
    with freeze(
        suite, environ=environ or {}, find_local_model=lambda _: local, **options
    ) as frozen:
        return frozen.head


def method_of(suite: Suite, **options: Any) -> str | None:
    similarity = head_of(suite, **options).similarity
    return similarity.method if similarity else None


@pytest.mark.parametrize(
    ("keys", "local", "method"),
    [
        pytest.param(["OPENAI", "GEMINI", "ANTHROPIC"], "nomic-embed-text", OPENAI, id="OpenAI's"),
        pytest.param(["GEMINI", "ANTHROPIC"], "nomic-embed-text", GEMINI, id="else Gemini's"),
        pytest.param(["ANTHROPIC"], "nomic-embed-text", LOCAL, id="else Ollama's"),
        pytest.param(["ANTHROPIC"], None, JUDGE, id="else a judge"),
        pytest.param([], None, "fuzzy_match", id="else shared words"),
    ],
)
def test_the_first_way_that_there_is_is_taken(
    keys: list[str], local: str | None, method: str
) -> None:
    environ = {name: value for name, value in KEYS.items() if name.partition("_")[0] in keys}

    assert method_of(comparing_suite(), environ=environ, local=local) == method


def test_the_sites_model_comes_first(settings: LazySettings) -> None:
    settings.EVALS_EMBEDDING_MODEL = "gemini/gemini-embedding-001"

    assert method_of(comparing_suite(), environ=KEYS) == GEMINI


def test_a_folder_comes_before_servers_on_this_machine(
    settings: LazySettings, tmp_path: Path
) -> None:
    pytest.importorskip("model2vec")
    settings.EVALS_MODEL2VEC_DIR = str(tmp_path)

    suite = comparing_suite()
    similarity = head_of(suite, local="nomic-embed-text").similarity

    assert similarity is not None
    assert (similarity.way, similarity.directory) == ("static", str(tmp_path))
    assert method_of(suite, environ=KEYS) == OPENAI


def test_a_check_that_is_off_needs_nothing() -> None:
    def find(_: str | None) -> str:
        pytest.fail("Nobody needs it.")

    suite = comparing_suite(require="embeddings")
    suite.default_assertions.update(enabled=False)

    with freeze(suite, environ={}, find_local_model=find) as frozen:
        assert frozen.head.similarity is None


def test_the_way_is_kept_with_the_provider_and_its_price() -> None:
    provider = Provider.objects.get(slug="openai")
    provider.prices.all().delete()
    ModelPrice.objects.create(
        provider=provider,
        model="text-embedding-3-small",
        valid_from="2026-01-01",
        input_usd=1,
        output_usd=0,
    )

    head = head_of(comparing_suite(), environ=KEYS)

    kept = next(provider for provider in head.providers if provider.slug == "openai")
    assert [price.model for price in kept.prices] == ["text-embedding-3-small"]
    assert SnapshotSpec.read(head.canonical()).similarity == head.similarity


def test_the_judge_that_compares_is_kept_with_its_provider() -> None:
    head = head_of(comparing_suite(), environ={"ANTHROPIC_API_KEY": "c"})

    assert [provider.slug for provider in head.providers] == ["anthropic"]
    assert head.judge is None


def test_a_script_compares_no_meaning() -> None:
    suite = comparing_suite()
    suite.judge_model = "scripted/echo"
    suite.save()

    assert method_of(suite) == "fuzzy_match"


def test_a_check_may_name_its_own_model() -> None:
    head = head_of(comparing_suite(embedding_model="gemini/gemini-embedding-001"), environ=KEYS)

    assert head.similarity is None
    assert [provider.slug for provider in head.providers] == ["gemini"]


@pytest.mark.parametrize(
    ("options", "environ", "says"),
    [
        pytest.param(
            {"require": "embeddings"},
            {"ANTHROPIC_API_KEY": "c"},
            "requires embeddings, and there are none. Set OPENAI_API_KEY",
            id="embeddings are required",
        ),
        pytest.param(
            {"embedding_model": "openai/embed-1"},
            {},
            "uses openai/embed-1: the environment variable OPENAI_API_KEY is not set.",
            id="no key",
        ),
        ({"embedding_model": "anthropic/claude"}, KEYS, "Anthropic has no embeddings."),
        ({"embedding_model": "nobody/x"}, KEYS, "there is no provider 'nobody'"),
    ],
)
def test_what_cannot_be_measured_as_asked_does_not_start(
    options: dict[str, Any], environ: dict[str, str], says: str
) -> None:
    with pytest.raises(CannotStartError) as refused:
        head_of(comparing_suite(**options), environ=environ)

    (problem,) = refused.value.problems
    assert says in problem


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        pytest.param("EVALS_EMBEDDING_MODEL", "openai/e", "OPENAI_API_KEY is not set", id="no key"),
        pytest.param("EVALS_EMBEDDING_MODEL", "embed", "Write the model as", id="no model"),
        pytest.param("EVALS_MODEL2VEC_DIR", "/no/such/folder", "not a folder", id="no folder"),
        pytest.param("EVALS_MODEL2VEC_DIR", "/", "embeddings-local", id="no library"),
    ],
)
def test_a_setting_that_cannot_be_kept_does_not_start(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    setattr(settings, name, value)
    monkeypatch.setitem(sys.modules, "model2vec", None)  # as where it is not installed

    with pytest.raises(CannotStartError) as refused:
        head_of(comparing_suite())

    (problem,) = refused.value.problems
    assert says in problem
