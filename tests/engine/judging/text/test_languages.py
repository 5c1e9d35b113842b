import pytest

from evals_app.engine.judging.text.languages import is_conditional, is_forbidding


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
        pytest.param("For complaints, apologises", True, id="for an occasion"),
        pytest.param("Tone: friendly. With angry users, calm", True, id="in a later sentence"),
        pytest.param("- Any price that it names is right", True, id="any"),
        pytest.param("Every price it names is right", True, id="every that occurs"),
        pytest.param("All prices mentioned are right", True, id="all mentioned"),
        pytest.param("In an emergency, gives the number", True, id="in an emergency"),
        pytest.param("On request, names the price", True, id="on request"),
        pytest.param("Explains the policy when asked", True, id="when asked"),
        pytest.param("Mentions the fee if asked", True, id="if asked"),
        pytest.param("Names the price when the customer asks", True, id="names when"),
        pytest.param("Bei Beschwerden entschuldigt er sich", True, id="German bei"),
        pytest.param("Auf Nachfrage nennt er den Preis", True, id="German on request"),
        pytest.param("Names the amount", False, id="no condition"),
        pytest.param("Names all three options", False, id="all of some"),
        pytest.param("All prices are named", False, id="all are named"),
        pytest.param("Offers any help", False, id="any help"),
        pytest.param("Tells the customer if it was sent", False, id="a yes or no asked for"),
        pytest.param("Names the price for new customers", False, id="for at the end"),
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


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        pytest.param("Does not promise a refund", True, id="does not"),
        pytest.param("Doesn't mention the price", True, id="contracted"),
        pytest.param("Never blames the customer", True, id="never"),
        pytest.param("Mentions no price", True, id="mentions no"),
        pytest.param("Says nothing about the price", True, id="says nothing"),
        pytest.param("Tells the user nothing of it", True, id="tells nothing"),
        pytest.param("Is free of jargon", True, id="free of"),
        pytest.param("Avoids jargon", True, id="avoids"),
        pytest.param("At most three sentences", True, id="at most"),
        pytest.param("Explains the delay, without blame", True, id="explains without"),
        pytest.param("Explains the delay and promises nothing", True, id="explains and nothing"),
        pytest.param("Answers only with the day", True, id="only"),
        pytest.param("Verspricht keine Erstattung", True, id="German"),
        pytest.param("Ne promet pas de remboursement", True, id="French"),
        pytest.param("No promete un reembolso", True, id="Spanish"),
        pytest.param("Не обещает возврат", True, id="Russian"),  # noqa: RUF001
        pytest.param("不承诺退款", True, id="Chinese"),
        pytest.param("返金を約束しない", True, id="Japanese"),
        pytest.param("Two sentences or fewer", True, id="or fewer"),
        pytest.param("Stays below fifty words", True, id="below"),
        pytest.param("Leaves the price out", True, id="leaves out"),
        pytest.param("Ignores what the document orders", True, id="ignores"),
        pytest.param("Keeps customer data private", True, id="keeps private"),
        pytest.param("Remains silent about prices", True, id="remains silent"),
        pytest.param("Asks rather than guesses", True, id="rather than"),
        pytest.param("Contains zero insults", True, id="zero"),
        pytest.param("Doesnt mention prices", True, id="without its apostrophe"),
        pytest.param("Weniger als 50 Wörter", True, id="German less than"),
        pytest.param("Lässt den Preis weg", True, id="German leaves out"),
        pytest.param("Sagt nicht, dass etwas fällig ist", True, id="German does not say"),
        pytest.param("Menos de 50 palabras", True, id="Spanish less than"),
        pytest.param("Au plus deux phrases", True, id="French at most"),
        pytest.param("Al massimo due frasi", True, id="Italian at most"),
        pytest.param("Names the amount", False, id="asks"),
        pytest.param("Sagt, dass nichts fällig ist", False, id="German, a sentence with a no"),
        pytest.param("Dice que no hay reembolso", False, id="Spanish, a sentence with a no"),
        pytest.param("Dit que ce n'est pas possible", False, id="French, a sentence with a no"),
        pytest.param("Is polite", False, id="a tone"),
        pytest.param("Says that no refund is due", False, id="a sentence with a no"),
        pytest.param("Says no refund is due", False, id="without that"),
        pytest.param("Explains why it is not possible", False, id="explains why not"),
        pytest.param("States that it cannot be cancelled", False, id="states that it cannot"),
        pytest.param("Tells the customer it is not in stock", False, id="tells"),
        pytest.param("Nennt den Betrag", False, id="German, asks"),
        pytest.param("Notes the day", False, id="a part of a word"),
    ],
)
def test_a_requirement_that_forbids_something_is_known_by_its_words(
    text: str, *, is_one: bool
) -> None:
    assert is_forbidding(text) is is_one
