import pytest

from evals_app.formats.masking.check_digits import (
    is_french_id,
    is_german_tax_id,
    is_iban,
    is_luhn,
    is_spanish_id,
)

_RIGHT = {
    is_iban: [
        "DE89 3704 0044 0532 0130 00",
        "gb29nwbk60161331926819",
        "FR1420041010050500013M02606",
    ],
    is_luhn: ["4111111111111111", "378282246310005"],
    is_spanish_id: ["12345678Z", "X1234567L", "45678912-s"],
    is_french_id: ["1 85 05 78 006 084 91", "269057511602392"],
    is_german_tax_id: ["36574261809", "86 095 742 719"],
}


@pytest.mark.parametrize("check", _RIGHT)
def test_each_single_wrong_digit_is_noticed(check: object) -> None:
    assert callable(check)
    for right in _RIGHT[check]:
        assert check(right)
        for place, char in enumerate(right):
            if char.isdigit() and not (check is is_french_id and place == 0):
                wrong = f"{right[:place]}{(int(char) + 1) % 10}{right[place + 1 :]}"
                assert not check(wrong), wrong


def test_another_length_is_another_number() -> None:
    assert not is_iban("DE89 3704")
    assert not is_german_tax_id("3657426180")
    assert not is_spanish_id("1234567Z")
