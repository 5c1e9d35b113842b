import pytest

from evals_app.engine.judging.languages import is_conditional


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        pytest.param("If the order is late, it apologises", True, id="if"),
        pytest.param("Apologises when the user is angry", True, id="when"),
        pytest.param("**Where** prices occur: with currency", True, id="where"),
        pytest.param("Offers a refund unless it was opened", True, id="unless"),
        pytest.param("In case of a complaint, names a contact", True, id="in case"),
        pytest.param("Should the user insist, hands over", True, id="should"),
        pytest.param("Falls der Kunde nachfragt: freundlich", True, id="German falls"),
        pytest.param("Entschuldigt sich, wenn es spät ist", True, id="German wenn"),
        pytest.param("Nennt einen Kontakt, sofern gewünscht", True, id="German sofern"),
        pytest.param("Si le client insiste, transfère", True, id="French"),
        pytest.param("Cuando el cliente insiste, transfiere", True, id="Spanish"),
        pytest.param("Als de klant boos is: excuses", True, id="Dutch"),
        pytest.param("Se il cliente insiste, trasferisce", True, id="Italian"),
        pytest.param("Если клиент настаивает", True, id="Russian"),
        pytest.param("如果用户投诉", True, id="Chinese"),
        pytest.param("यदि ग्राहक नाराज़ है", True, id="Hindi"),
        pytest.param("Names the amount", False, id="no condition"),
        pytest.param("Says when the money arrives", False, id="a time that is asked for"),
        pytest.param("Tells the user where to send it", False, id="a place that is asked for"),
        pytest.param("Apologises once", False, id="once"),
        pytest.param("The reply should be polite", False, id="should be"),
        pytest.param("Nicht länger als drei Sätze", False, id="a comparison"),
        pytest.param("Gifts are named", False, id="a part of a word"),
    ],
)
def test_a_requirement_that_is_a_condition_is_known_by_its_words(
    text: str, *, is_one: bool
) -> None:
    assert is_conditional(text) is is_one
