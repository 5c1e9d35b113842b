from typing import get_args

import pytest

from evals_app.engine.llm.call import ModelCall
from evals_app.engine.network.provider_kinds import KINDS, ApiKind
from evals_app.engine.specs.base_spec import MaxTokensParameter, ProviderSpec

WITH_API = [pytest.param(name, kind, id=name) for name, kind in KINDS.items() if kind.api]


def test_only_azure_has_no_address_of_its_own() -> None:
    assert [name for name, kind in KINDS.items() if kind.api and not kind.base_url] == [
        "azure_openai"
    ]


@pytest.mark.parametrize(("name", "kind"), WITH_API)
def test_what_a_kind_says_can_be_used(name: str, kind: ApiKind) -> None:
    base_url = kind.base_url or "https://name.openai.azure.com/openai/v1/"
    written = {"provider": "P", "slug": "p", "kind": name, "base_url": base_url}

    assert ProviderSpec.model_validate(written).base_url == base_url
    assert kind.max_tokens_parameter in get_args(MaxTokensParameter)
    assert kind.lacks <= set(ModelCall.__dataclass_fields__)
    assert kind.embedding_model is None or kind.has_embeddings
