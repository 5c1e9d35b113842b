from typing import Any

import pytest

from evals_app.formats.struere import is_suite, may_be_fixture


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        pytest.param("x.eval.yaml", {"trials": 2}, True, id="name of Struere"),
        pytest.param("x.suite.yaml", {"judgeModel": "m"}, False, id="native name"),
        pytest.param("x.yaml", {"judgeModel": "m"}, True, id="camelCase"),
        pytest.param("x.yaml", {"judge_model": "m"}, False, id="snake_case"),
        pytest.param("x.yaml", {"cases": [{"limits": {}}]}, False, id="native key of a case"),
        pytest.param("x.yaml", {"cases": [{"turns": [{"expected": "x"}]}]}, False, id="of a turn"),
        pytest.param("x.yaml", {"cases": [{"finalAssertions": []}]}, True, id="camelCase case"),
        pytest.param("x.yaml", {"suite": "A", "cases": []}, True, id="keys of both"),
        pytest.param("x.yaml", {"cases": [3, {"turns": "x"}]}, True, id="misshapen"),
    ],
)
def test_a_suite_is_known_by_its_name_then_by_its_keys(
    path: str, data: dict[str, Any], *, expected: bool
) -> None:
    assert is_suite(path, data) is expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({"chunks": []}, False, id="chunks"),
        pytest.param({"entity_types": []}, False, id="entity types"),
        pytest.param({"entities": [], "relations": []}, True, id="keys of both"),
        pytest.param([], True, id="list"),
    ],
)
def test_a_fixture_without_native_keys_may_be_of_struere(data: Any, *, expected: bool) -> None:
    assert may_be_fixture(data) is expected
