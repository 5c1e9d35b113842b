from typing import get_args

import pytest

from evals_app.engine.llm.call import ModelCall
from evals_app.engine.llm.kinds import KINDS, Kind
from evals_app.engine.spec import MaxTokensParameter, ProviderKind, ProviderSpec

WITH_API = [pytest.param(kind, id=name) for name, kind in KINDS.items() if kind.api]


def test_every_kind_that_can_be_written_is_known_and_no_other() -> None:
    assert tuple(KINDS) == get_args(ProviderKind)


def test_only_azure_has_no_address_of_its_own() -> None:
    assert [name for name, kind in KINDS.items() if kind.api and not kind.base_url] == [
        "azure_openai"
    ]


@pytest.mark.parametrize("kind", WITH_API)
def test_what_a_kind_says_can_be_used(kind: Kind) -> None:
    written = {"provider": "P", "slug": "p", "kind": "openai", "base_url": kind.base_url}

    assert ProviderSpec.model_validate(written).base_url == kind.base_url
    assert kind.max_tokens_parameter in get_args(MaxTokensParameter)
    assert kind.lacks <= set(ModelCall.__dataclass_fields__)
    assert kind.embedding_model is None or kind.has_embeddings
