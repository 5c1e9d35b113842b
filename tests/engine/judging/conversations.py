"""A conversation as a judge is shown it, and what judges quote of it: truly, and made up."""

from evals_app.engine.judging.text.transcript import TranscriptPiece

ANSWER = """\
Thanks for your patience, Ms. Okafor! I\u2019ve looked at order **ORD-1042**.

The refund of \u20ac40.50 was not approved, because the parcel was opened. You can still exchange the \
lamp within 14 days:

1. Print the label we\u2019ll e-mail to you.
2. Hand the parcel in at any `DHL` shop \u2013 it\u2019s free of charge.
3. Wait for our message.

| Step | Takes |
|------|-------|
| Transport | 2\u20133 days |
| Inspection | 1 day |

We never charge a restocking fee. Questions? See [our returns page](https://shop.example/returns) or \
call 0800\u202f123\u202f456. Une r\u00e9ponse en fran\u00e7ais est possible. Das Ger\u00e4t ist nicht defekt.
The organisation is closed on 24 December; business hours resume on 27 December at 9:30."""

PIECES = (
    TranscriptPiece(2, "assistant", ANSWER),
    TranscriptPiece(
        2,
        "tool result entity.get",
        '{"order": "ORD-1042", "status": "returned", "note": "Seal broken.\\nLamp \\"Aurora\\" is'
        ' fine.", "fee": -5, "total": 40.5}',
    ),
    TranscriptPiece(2, "tool call entity.get", '{"id": "ORD-1042"}'),
    TranscriptPiece(
        2,
        "user",
        "Please refund my order ORD-1042 today. Your colleague Martha promised me 60 euros and a "
        "voucher. I never opened the parcel, the courier broke it. I am really angry about this.",
    ),
    TranscriptPiece(1, "assistant", "Yes"),
    TranscriptPiece(
        1, "user", "Are you there? I have a question on a lamp from your spring catalogue."
    ),
)

# (what it is, the quote)
TRUE = [
    # Letter by letter, in other typography, wrapped, in other case.
    ("word for word", "The refund of \u20ac40.50 was not approved, because the parcel was opened."),
    ("a part of a sentence", "because the parcel was opened"),
    ("keyboard apostrophe", "I've looked at order **ORD-1042**."),
    ("keyboard dash", "Hand the parcel in at any `DHL` shop - it's free of charge."),
    ("no-break spaces", "call 0800 123 456"),
    ("an en dash in a range", "2-3 days"),
    ("upper case", "WE NEVER CHARGE A RESTOCKING FEE"),
    ("lower case", "thanks for your patience, ms. okafor"),
    ("other line wraps", "You can still exchange\nthe lamp\nwithin 14 days"),
    ("typographic marks around", "\u201cWe never charge a restocking fee.\u201d"),
    ("marks of another language", "\u00bbWe never charge a restocking fee.\u00ab"),
    ("doubled spaces", "We  never   charge a restocking  fee"),
    ("a full stop less", "Wait for our message"),
    ("full-width letters", "\uff37e never charge a restocking fee"),
    ("accents composed otherwise", "Une re\u0301ponse en franc\u0327ais est possible"),
    ("a soft hyphen", "re\u00adstocking fee. Questions?"),
    # Markdown and escapes.
    ("without bold", "looked at order ORD-1042"),
    ("with other bold", "the parcel was **opened**"),
    ("without code marks", "at any DHL shop"),
    ("without the target of a link", "See our returns page or call"),
    ("without the numbers of a list", "e-mail to you. Hand the parcel in"),
    ("cells of a table", "Transport: 2\u20133 days"),
    ("rows of a table", "| Transport | 2\u20133 days |\n| Inspection | 1 day |"),
    ("a bullet for a number", "- Wait for our message."),
    ("a block quote", "> We never charge a restocking fee."),
    ("JSON as it is", '"status": "returned"'),
    ("JSON without marks", "status: returned"),
    ("an escaped line end, read", "Seal broken.\nLamp"),
    ("escaped marks, read", 'Lamp "Aurora" is fine.'),
    ("a negative number", '"fee": -5'),
    ("the code of what cannot be seen", "restocking\\u200b fee"),
    # Left out, and said so.
    ("dots", "I've looked at order ORD-1042. ... You can still exchange the lamp within 14 days"),
    ("dots in brackets", "Thanks for your patience [...] looked at order ORD-1042"),
    ("one sign for the dots", "Hand the parcel in at any DHL shop \u2026 free of charge"),
    ("dots in round brackets", "We never charge (...) fee. Questions"),
    ("dots at both ends", "... was not approved, because the parcel was opened ..."),
    ("three parts", "You can still exchange ... Print the label ... Wait for our message"),
    ("dots between lines", "Print the label we'll e-mail to you.\n...\nWait for our message."),
    # A sentence skipped in silence.
    ("a sentence skipped", "We never charge a restocking fee. See our returns page"),
    ("two sentences of two", "Thanks for your patience, Ms. Okafor! We never charge a restocking fee."),
    ("a line skipped", "Print the label we'll e-mail to you.\nWait for our message."),
    ("of one sentence and another", "Wait for our message. Une r\u00e9ponse en fran\u00e7ais est possible."),
    # Small words, spelling.
    ("an article less", "because parcel was opened"),
    ("an article more", "The refund of the \u20ac40.50 was not approved"),
    ("another article", "because a parcel was opened"),
    ("American spelling", "The organization is closed on 24 December"),
    ("in full", "It is free of charge"),
    ("a preposition less", "is closed 24 December"),
    # Short, and enough.
    ("a number", "\u20ac40.50"),
    ("all that was said", "Yes."),
]  # fmt: skip

FABRICATED = [
    # Another number.
    ("another amount", "The refund of \u20ac45.50 was not approved, because the parcel was opened."),
    ("an amount cut short", "The refund of \u20ac40 was not approved"),
    ("another currency", "The refund of $40.50 was not approved"),
    ("another number of days", "You can still exchange the lamp within 40 days"),
    ("the end of a number", "exchange the lamp within 4 days"),
    ("another order", "I've looked at order ORD-1043."),
    ("the end of a range", "Transport: 3 days"),
    ("another telephone", "call 0800 123 457"),
    ("another time", "business hours resume on 27 December at 9:00"),
    ("without its sign", '"fee": 5'),
    # Turned around.
    ("without not", "The refund of \u20ac40.50 was approved, because the parcel was opened."),
    ("not elided", "The refund of \u20ac40.50 was ... approved, because the parcel was opened"),
    ("not in another place", "because the parcel was not opened"),
    ("without never", "We charge a restocking fee."),
    ("never for always", "We always charge a restocking fee."),
    ("can not for can", "You can't exchange the lamp within 14 days"),
    ("cannot for can", "You cannot still exchange the lamp within 14 days"),
    ("a turned word", "Une r\u00e9ponse en fran\u00e7ais est impossible"),
    ("without nicht", "Das Ger\u00e4t ist defekt."),
    ("kein", "Das ist kein Ger\u00e4t."),
    # Said by the user.
    ("the user's wish", "Please refund my order ORD-1042 today."),
    ("the user's claim", "Your colleague Martha promised me 60 euros and a voucher."),
    ("the user's amount", "promised me 60 euros"),
    ("the user's denial", "I never opened the parcel"),
    ("the user's blame", "the courier broke it"),
    ("the user's feeling", "I am really angry about this"),
    ("the user's question", "Are you there?"),
    ("the user's subject", "a question on a lamp from your spring catalogue"),
    ("the user's words, elided", "Your colleague Martha ... a voucher"),
    ("the user's words, nearly", "courier broke the it. I am really angry"),
    # Trivial.
    ("an article", "a"),
    ("a small word", "is"),
    ("another", "the"),
    ("two of them", "of the"),
    ("three of them", "and at the"),
    ("a sign", "!"),
    ("marks around nothing", "\u201c \u201d"),
    ("dots", "..."),
    ("a word", "refund"),
    ("a word and dots", "... lamp ..."),
    # Invented, or with another name.
    ("invented", "Your money will arrive on Friday."),
    ("half invented", "You can still exchange the lamp for a voucher"),
    ("another name", "Thanks for your patience, Ms. Okoro!"),
    ("nearly the name", "Thanks for your patience, Ms. Okafors!"),
    ("another shop", "Hand the parcel in at any UPS shop"),
    ("another month", "The organisation is closed on 24 November"),
    ("another article of the shop", 'Lamp "Aurore" is fine'),
    ("another status", '"status": "refunded"'),
    ("stitched in another order", "Wait for our message ... Thanks for your patience"),
    ("stitched from two speakers", "The refund of \u20ac40.50 ... Your colleague Martha"),
]  # fmt: skip
