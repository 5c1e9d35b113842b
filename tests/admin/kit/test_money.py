from decimal import Decimal

import pytest

from evals_app.admin.kit.quantities import UsdInput


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        pytest.param(Decimal("0.100000000"), "0.1", id="zeros of a database"),
        pytest.param(Decimal("100.000000000"), "100", id="no power of ten"),
        pytest.param(Decimal("0.000000001"), "0.000000001", id="the least"),
        pytest.param(Decimal(0), "0", id="nothing"),
        pytest.param("1,5", "1,5", id="as typed"),
        pytest.param(None, None, id="not set"),
    ],
)
def test_an_amount_is_shown_as_a_person_would_write_it(
    stored: Decimal | str | None, shown: str | None
) -> None:
    assert UsdInput().prepare_value(stored) == shown


def test_an_amount_that_stays_the_same_is_no_change() -> None:
    field = UsdInput(required=False)

    assert not field.has_changed(Decimal("0.100000000"), "0.1")
    assert not field.has_changed(None, "")
    assert field.has_changed(Decimal("0.1"), "0.11")
