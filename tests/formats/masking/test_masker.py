"""Personal data that was planted by hand in four languages, and ordinary text that must stay."""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from django.conf import locale

from evals_app.engine.record.trial import Message, ToolCall, TurnRecord
from evals_app.formats.conversations.recorded import OutsideGrade, RecordedConversation
from evals_app.formats.masking.addresses import find_addresses
from evals_app.formats.masking.masker import Masker

_DOCS = Path(__file__).parents[3] / "docs"
_WORD = re.compile(r"\w+")


class _Planted(NamedTuple):
    """A text of a user; what is personal in it stands between braces."""

    kind: str
    language: str
    written: str

    @property
    def text(self) -> str:
        return re.sub("[{}]", "", self.written).replace("|", "\n")

    @property
    def as_masked(self) -> str:
        return re.sub(r"\{.*?\}", f"[{self.kind} 1]", self.written).replace("|", "\n")


def _planted() -> list[_Planted]:
    lines = Path(__file__).with_name("planted.tsv").read_text(encoding="utf-8").splitlines()
    return [_Planted(*line.split("\t")) for line in lines]


def _says(text: str, **more: object) -> RecordedConversation:
    return RecordedConversation("7", (TurnRecord(1, text),), **more)  # type: ignore[arg-type]


def _masked(text: str, **more: object) -> str:
    (turn,) = Masker().of_conversation(_says(text, **more)).turns
    return turn.user


def test_of_eight_kinds_in_four_languages_at_least_99_of_100_are_masked() -> None:
    planted = _planted()
    missed = [one for one in planted if _masked(one.text) != one.as_masked]

    assert len(planted) > 200
    assert len(Counter((one.kind, one.language) for one in planted)) == 32
    assert len(missed) <= len(planted) / 100, [_masked(one.text) for one in missed]


@pytest.mark.parametrize("language", ["de", "es", "fr"])
def test_ordinary_words_of_other_languages_stay(language: str) -> None:
    file = Path(locale.__file__).parent / language / "LC_MESSAGES" / "django.po"
    said = re.findall(r'^msgstr "(.+)"', file.read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert _share_masked(said) < 0.002


def test_ordinary_words_of_english_stay() -> None:
    lines = [line for file in _DOCS.glob("*.md") for line in file.read_text().splitlines()]

    assert _share_masked(lines) < 0.002


def _share_masked(texts: list[str]) -> float:
    """Return the share of words that are gone from the texts."""
    words = sum(len(_WORD.findall(text)) for text in texts)
    left = sum(
        len(
            _WORD.findall(
                re.sub(r"\[(?:name|e-mail|phone|IP address|address) \d+\]", "", _masked(text))
            )
        )
        for text in texts
    )
    assert words > 500
    return (words - left) / words


def test_a_person_has_one_mask_however_they_are_written() -> None:
    text = "Hi, my name is Maria Lopez. Ask Mrs. Lopez, not Pedro Lopez. MARIA"

    assert _masked(text) == "Hi, my name is [name 1]. Ask Mrs. [name 1], not [name 2]. [name 1]"


def test_a_number_has_one_mask_however_it_is_grouped() -> None:
    text = "Card 4111 1111 1111 1111, I mean 4111111111111111, not 4242 4242 4242 4242."

    assert _masked(text) == "Card [card 1], I mean [card 1], not [card 2]."


@pytest.mark.parametrize(
    "text",
    [
        "Order 4711-2024-001 of 16.11.2026 10:30 cost 1,299.00 EUR.",
        "Tracking 00340434161094015902, invoice 2024-10-001234",
        "DE89 3704 0044 0532 0130 01 has a wrong digit",
        "4111 1111 1111 1112 has one too",
        "Version 1.2.3.4.5 at 10:30:15",
        "Dear customer, hello team, Hi there!",
        "Guten Tag, ich bin Kunde bei Ihnen",
        "Room 12 is on floor 3, in hall B",
    ],
)
def test_what_only_looks_personal_stays(text: str) -> None:
    assert _masked(text) == text


def test_names_of_the_file_are_masked_wherever_they_appear() -> None:
    assert _masked("does zyta have it? Zyta Quark does", names=("Zyta Quark",)) == (
        "does zyta have it? [name 1] does"
    )


def test_every_part_of_a_conversation_is_masked() -> None:
    call = ToolCall(
        "find_customer",
        {"customer_name": "zyta quark", "phone": 491511234567},
        result={"items": [{"name": "Blue Shoes", "street": "Elm 3"}]},
    )
    turn = TurnRecord(
        1,
        "I am ann@x.org",
        reply="Hello Zyta!",
        messages=(Message("assistant", "Hello Zyta!", (call,), reasoning="Zyta again"),),
    )
    conversation = RecordedConversation(
        "ann@x.org",
        (turn,),
        history=(Message("assistant", "Zyta?"),),
        tags=("from ann@x.org",),
        facts={"Requester": "Zyta Quark", "plan": "gold"},
        grades=(OutsideGrade("polite", reason="Greets Zyta"),),
    )

    masked = Masker().of_conversation(conversation)

    (turn,) = masked.turns
    (message,) = turn.messages
    (call,) = message.tool_calls
    assert (turn.user, turn.reply, message.text) == ("I am [e-mail 1]", *["Hello [name 1]!"] * 2)
    assert message.reasoning == "[name 1] again"
    assert call.args == {"customer_name": "[name 1]", "phone": "[phone 1]"}
    assert call.result == {"items": [{"name": "Blue Shoes", "street": "[address 1]"}]}
    assert masked.history[0].text == "[name 1]?"
    assert masked.tags == ("from [e-mail 1]",)
    assert masked.facts == {"Requester": "[name 1]", "plan": "gold"}
    assert masked.grades[0].reason == "Greets [name 1]"
    assert re.fullmatch("[0-9a-f]{16}", masked.id)
    assert Masker().of_conversation(masked) == masked


def test_patterns_of_the_site_are_kinds_of_their_own_and_all_are_counted() -> None:
    masker = Masker({"order": r"\bR-\d{4}\b"})

    masked = masker.of_conversation(_says("R-1234 and R-1235, R-1234: write to ann@x.org"))

    assert masked.turns[0].user == "[order 1] and [order 2], [order 1]: write to [e-mail 1]"
    assert masker.counts == {"order": 3, "e-mail": 1}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Hauptstr. 5, 80331 München. Der Kühlschrank ist kaputt.", "Hauptstr. 5, 80331 München"),
        ("Am Bahnhof 3, 50667 Köln. Bitte Geld zurück.", "Am Bahnhof 3, 50667 Köln"),
        ("Hauptstr. 5, 80331 München Bitte melden", "Hauptstr. 5, 80331 München"),
        ("Rathausplatz 1, 9000 St. Gallen. Danke", "Rathausplatz 1, 9000 St. Gallen"),
        ("Kaiserstraße 1, 60313 Frankfurt a. M. Bitte", "Kaiserstraße 1, 60313 Frankfurt a. M"),
        ("Kurweg 3, 23795 Bad Segeberg. Hallo", "Kurweg 3, 23795 Bad Segeberg"),
        ("Marktplatz 3, 45468 Mülheim an der Ruhr. Die", "Marktplatz 3, 45468 Mülheim an der Ruhr"),
        ("12 rue de la Paix. Le Colis", "12 rue de la Paix"),
        ("12 rue de la Paix, 75002 Paris. Le colis", "12 rue de la Paix, 75002 Paris"),
        ("PLZ 10115 Berlin. Wann kommt", "10115 Berlin"),
    ],
)
def test_an_address_ends_with_its_town(text: str, address: str) -> None:
    (found,) = find_addresses(text)

    assert text[found.start : found.end] == address


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Meine Steuernummer: 12/345/67890.", "Meine Steuernummer: [tax number 1]."),
        ("Mein Geburtsdatum ist 03.04.1981, ja", "Mein Geburtsdatum ist [birth date 1], ja"),
        ("I was born on April 3, 1981.", "I was born on [birth date 1]."),
        ("née le 3 avril 1981", "née le [birth date 1]"),
        ("Fecha de nacimiento: 3 de abril de 1981", "Fecha de nacimiento: [birth date 1]"),
        ("Kundennummer 4711-08 bitte", "Kundennummer [customer number 1] bitte"),
        ("Customer number: C-20391.", "Customer number: [customer number 1]."),
        ("BIC COBADEFFXXX", "BIC [BIC 1]"),
        ("Kennzeichen M-AB 1234", "Kennzeichen [number plate 1]"),
        ("Sehr geehrte Frau Dr. von Stein, danke", "Sehr geehrte Frau Dr. von [name 1], danke"),
        ("Danke!\nViele Grüße\nv. Stein", "Danke!\nViele Grüße\nv. [name 1]"),
    ],
)
def test_what_words_before_it_say_is_masked(text: str, masked: str) -> None:
    assert _masked(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "A SWIFT TRANSFER takes 2 days",
        "The account number is wrong",
        "It was delivered on 03.04.2026",
        "Herr von der Hotline sagte das",
        "The number plate fell off",
    ],
)
def test_words_that_announce_nothing_personal_stay(text: str) -> None:
    assert _masked(text) == text
