from typing import Any

import pytest
from django.core.exceptions import ValidationError

from fixtures_app.editing.units import QuantityField, in_usual_unit

SHARE = QuantityField("share", bounds={"gt": 0, "le": 1}, required=False)
MS = QuantityField("ms", bounds={"ge": 0}, is_whole=True, required=False)
S = QuantityField("s", bounds={"gt": 0, "le": 300}, required=False)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (SHARE, "90", 0.9),
        (SHARE, "90 %", 0.9),
        (SHARE, " 33.3% ", 0.333),
        (SHARE, "0.9 %", 0.009),
        (SHARE, "1 %", 0.01),
        (SHARE, "29", 0.29),
        (SHARE, "", None),
        (MS, "3", 3000),
        (MS, "0.25", 250),
        (MS, "2999", 2_999_000),
        (MS, "20000 s", 20_000_000),
        (MS, "20000 ms", 20_000),
        (MS, "250 ms", 250),
        (MS, "2 min", 120_000),
        (MS, "0", 0),
        (S, "12.5 s", 12.5),
        (S, "500 ms", 0.5),
    ],
)
def test_a_quantity_is_read_in_its_usual_unit(
    field: QuantityField, text: str, value: float | None
) -> None:
    read = field.clean(text)

    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        pytest.param(SHARE, "0.9", ["“90 %”", "“0.9 %”"], id="a share of another writing"),
        pytest.param(SHARE, "1", ["“100 %”", "“1 %”"], id="all or one"),
        pytest.param(SHARE, "0", ["“0 %”", "more than 0 %"], id="too little"),
        pytest.param(SHARE, "120", ["“120 %”", "at most 100 %"], id="too much"),
        pytest.param(SHARE, "90 s", ["“90 s”", "90 %"], id="another unit"),
        pytest.param(SHARE, "nine", ["“nine”", "90 %"], id="a word"),
        pytest.param(SHARE, "9,5", ["“9,5”", "90 %"], id="a comma"),
        pytest.param(SHARE, "NaN", ["“NaN”"], id="no number"),
        pytest.param(SHARE, "1e-2", ["“1e-2”"], id="an exponent"),
        pytest.param(MS, "20000", ["“20000 s”", "“20000 ms”"], id="files have milliseconds"),
        pytest.param(MS, "3000", ["“3000 s”", "“3000 ms”"], id="50 times a minute"),
        pytest.param(S, "20000", ["“20000 s”", "“20000 ms”"], id="a time in seconds, too"),
        pytest.param(MS, "0.0005", ["“0.0005”", "3 decimals"], id="part of a millisecond"),
        pytest.param(MS, "-1", ["“-1 s”", "at least 0 s"], id="negative"),
        pytest.param(S, "10 min", ["“600 s”", "at most 300 s"], id="too long"),
        pytest.param(S, "9" * 400, ["9999"], id="many digits"),
    ],
)
def test_what_is_refused_is_named_in_its_unit(
    field: QuantityField, text: str, words: list[str]
) -> None:
    with pytest.raises(ValidationError) as caught:
        field.clean(text)

    assert [word for word in words if word not in caught.value.messages[0]] == []


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        (SHARE, 0.9, "90 %"),
        (SHARE, 0.29, "29 %"),
        (SHARE, 1.0, "100 %"),
        (SHARE, 1 / 3, "33.33333333333333 %"),
        (SHARE, None, None),
        (SHARE, "nine", "nine"),
        (MS, 250, "0.25 s"),
        (MS, 120_000, "120 s"),
        (S, 60.0, "60 s"),
    ],
)
def test_a_stored_value_is_shown_with_its_unit_and_a_typed_one_as_it_was(
    field: QuantityField, value: Any, shown: str | None
) -> None:
    assert field.prepare_value(value) == shown


@pytest.mark.parametrize("value", [0.9, 0.07, 1 / 3, 1e-9, 0.1 + 0.2 - 0.2])
def test_what_is_shown_reads_back_unchanged(value: float) -> None:
    assert not SHARE.has_changed(value, SHARE.prepare_value(value))
    assert SHARE.has_changed(value, "50 %")
    assert SHARE.has_changed(value, "nine")


def test_a_label_has_the_unit_of_forms() -> None:
    labels = ["Max time (ms)", "Reply timeout (s)", "Mean cost (USD)"]

    assert [in_usual_unit(label) for label in labels] == [
        "Max time (s)",
        "Reply timeout (s)",
        "Mean cost (USD)",
    ]
