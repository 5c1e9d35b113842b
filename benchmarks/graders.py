"""What the checks cost that ask no model: each of them grades 10,000 replies on one core.

    python -m benchmarks.graders
    python -m benchmarks.graders --only meteor --pairs 50000

Every check of the table is measured with the options of its example; where it compares, with the
expected text of the pair. The replies are the reference pairs of the tests over and over, then as
many different ones of 60 words, a third of them not the expected ones. Prints CPU seconds, the
least of some rounds, and exits with 1 if a check takes more than 2 s for 10,000 replies.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from random import Random

from evals_app.engine.graders import GRADERS, PlainGrader
from evals_app.engine.graders.measures import wordnet
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Message, ToolCall, Trial, TurnRecord
from evals_app.engine.record.view import View
from tests.engine.graders.pairs import REFERENCES

MAX_S_PER_10_000 = 2.0
WARM_UP = 200

_STEMS = """
    account address answer approve arrive ask attach bill book box call cancel card change charge
    check claim clean click close code collect confirm connect contact cost count credit customer
    date deal delay deliver deposit detail direct email end enter error expect explain fail file
    find form help item issue keep later letter link list load locate lock log mail mark match
    message month move name need note notice number offer open order pack page parcel part pass
    pay phone place plan point post price print process product question quick reach read receipt
    record refund register reply report request reset return review round rule safe sale search
    send service set ship show sign sort stand start state stay step stock stop store store support
    switch ticket time track trade travel trust type update use user view visit wait warn week
    work write year
"""
_ENDINGS = ("", "", "", "s", "ed", "ing", "er", "ly")
_SHORT = ("the", "the", "a", "to", "of", "is", "you", "your", "we", "it", "in", "on", "and", "will")
_SIGNS = ("",) * 9 + (",", ".", "?")


def short_pairs(count: int) -> list[tuple[str, str]]:
    """Return the reference pairs over and over."""
    return [(pair.reply, pair.expected) for pair in islice(cycle(REFERENCES), count)]


def long_pairs(count: int, *, words: int = 60, seed: int = 1) -> list[tuple[str, str]]:
    """Return different pairs of so many words, two thirds of which are the same."""
    random, stems = Random(seed), _STEMS.split()

    def word() -> str:
        plain = (
            random.choice(_SHORT)
            if random.random() < 1 / 3
            else random.choice(stems) + random.choice(_ENDINGS)
        )
        return plain + random.choice(_SIGNS)

    pairs = []
    for _ in range(count):
        expected = [word() for _ in range(words)]
        reply = [word() if random.random() < 1 / 3 else expected_word for expected_word in expected]
        pairs.append((" ".join(reply), " ".join(expected)))
    return pairs


def plain_graders(only: Sequence[str] = ()) -> Iterator[tuple[str, PlainGrader]]:
    """Return the checks that ask nobody, by name; those that can read the expected text do."""
    for kind, grader_class in GRADERS.items():
        if issubclass(grader_class, PlainGrader) and (not only or kind in only):
            options = dict(grader_class.example)
            # An example of numbers keeps its own: the expected texts are none.
            if grader_class.uses_expected and isinstance(options.get("value"), str):
                del options["value"]
            yield kind, grader_class.model_validate(options)


def view(reply: str, expected: str) -> View:
    """Look at a turn that called a tool, and gave a reply."""
    call = ToolCall("entity.query", {"type": "order"}, {"entities": []})
    message = Message("assistant", reply, (call,))
    turn = TurnRecord(index=1, user="Hello", reply=reply, messages=(message,))
    return View(Trial("Case", 1, 1, "agent", turns=(turn,)), turn, expected)


def seconds(grader: PlainGrader, pairs: Sequence[tuple[str, str]], *, rounds: int) -> float:
    """Grade every reply, so many times over; give the CPU time of the fastest round.

    Raises:
        SystemExit: a grade is in error, so that its time says nothing.
    """
    if grader.family == "json":
        pairs = [(json.dumps({"answer": reply}), expected) for reply, expected in pairs]
    views = [view(reply, expected) for reply, expected in pairs]
    # What is read once a process, such as the files of WordNet, is no part of it.
    for reply_view in views[:WARM_UP]:
        grade = grader.grade(reply_view)
        if grade.status is GradeStatus.ERROR:
            raise SystemExit(f"{type(grader).__name__} is in error: {grade.reason}")
    took = []
    for _ in range(rounds):
        began = time.process_time()
        for reply_view in views:
            grader.grade(reply_view)
        took.append(time.process_time() - began)
    return min(took)


def measure(*, pairs: int, rounds: int, only: Sequence[str] = ()) -> bool:
    """Print a line for each check; say whether all are fast enough."""
    known = wordnet.find_wordnet()
    print(f"METEOR: {known.variant if known else 'no_synonyms'}\n")
    print(f"| {pairs:,} replies, CPU s | reference pairs | 60 words |\n|---|---|---|")
    short, long = short_pairs(pairs), long_pairs(pairs)
    most = MAX_S_PER_10_000 * pairs / 10_000
    is_fast = True
    for kind, grader in plain_graders(only):
        took = [seconds(grader, sample, rounds=rounds) for sample in (short, long)]
        is_slow = max(took) > most
        is_fast = is_fast and not is_slow
        note = f" above {most:g} s" if is_slow else ""
        print(f"| `{kind}` | {took[0]:.2f} | {took[1]:.2f} |{note}", flush=True)
    return is_fast


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=10_000, help="Replies to grade.")
    parser.add_argument("--rounds", type=int, default=3, help="Of which the fastest counts.")
    parser.add_argument("--only", nargs="*", default=[], metavar="TYPE", help="Only these checks.")
    if not measure(**vars(parser.parse_args())):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
