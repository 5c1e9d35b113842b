import pytest

from evals_app.engine.running.users.stated_values import StatedValues

KNOWN = StatedValues.of(
    [
        "My order is A-1042 and I paid 49.90 EUR on 3 May 2026.",
        "Write to kim.lee@example.com or call +49 151 2345678. See https://shop.example/a?id=7.",
        "It has 12 parts, 1,250 g each.",
    ]
)


@pytest.mark.parametrize(
    "said",
    [
        "Where is my parcel?",
        "It is order a1042.",
        "Order 1042, please!",
        "(A-1042)",
        "I paid 49,90 €.",
        "I paid 49.9.",
        "That was 3 May 2026.",
        "I am kim.lee@example.com, +49 151 2345678.",
        "I saw https://shop.example/a?id=7.",
        "All 12 of them weigh 1250 g.",
        "\u0661\u0662 parts",
    ],
)
def test_what_was_given_may_be_said(said: str) -> None:
    assert KNOWN.lacks(said) == []


@pytest.mark.parametrize(
    ("said", "made_up"),
    [
        ("Order A-1043.", ["A-1043"]),
        ("Order A-104.", ["A-104"]),
        ("I paid 50 EUR.", ["50"]),
        ("I paid 4.990 EUR.", ["4.990"]),
        ("It came on 4 May 2026.", ["4"]),
        ("I am lee@example.com.", ["lee@example.com"]),
        ("Look at www.shop.example!", ["www.shop.example"]),
        ("Call +49 151 2345679, 17 times, 17.", ["2345679", "17"]),
        ("\u0661\u0663 parts", ["13"]),
    ],
)
def test_what_was_never_given_is_found(said: str, made_up: list[str]) -> None:
    assert KNOWN.lacks(said) == made_up
