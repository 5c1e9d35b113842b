"""Measure importing many real conversations with masking, and the pages that show them.

    DATABASE_URL=postgresql://... python -m benchmarks.recorded --count 100000 --requests 20

Take an empty database that has been migrated. Times are of the processor, in this process; the
database's own are in `wall`. Exits with 1 below 500 conversations a second, or if a page takes longer
than is allowed.
"""
# ruff: noqa: E402 - models can be imported once Django is set up

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evals_app.engine.statistics.rates import percentile
from evals_app.formats.conversations.read import read_conversations
from evals_app.formats.masking.masker import Masker
from evals_app.models import Assertion, ConversationImport, Run, Suite
from evals_app.runs.process.worker_loop import work
from evals_app.runs.recorded.grade_conversations import WantedConversations, start_grading
from evals_app.runs.recorded.import_conversations import import_conversations
from evals_app.runs.recorded.sets import find_or_make_set
from tests.runs.suites import make_suite

MAX_MS = 300.0
MIN_A_SECOND = 500
TOPICS = ("price", "parcel", "login", "refund", "contract", "other")
QUESTIONS = (
    "Good morning, my parcel 00{n} has not arrived. You can call me at +49 30 901820{n:02d}.",
    "My name is Anna Keller, anna.keller{n}@example.org. Why was I charged 9 euros and not 6.90?",
    "I moved to Hauptstrasse {n}, 10115 Berlin. Where do I change my address in the account?",
    "The login says that my password is wrong, and the reset mail does not come. What can I do?",
)
ANSWER = (
    "Thank you for writing to us. I have looked at your account: the amount is 6.90 euros, and the"
    " difference goes back to your card within five working days. Is there anything else?"
)


def content_of(count: int) -> bytes:
    """Write conversations as a help desk would, with things to mask."""
    chance = random.Random(30)
    lines = []
    for n in range(count):
        turns = chance.randint(1, 3)
        said = [
            {"role": role, "content": text.format(n=n % 97)}
            for turn in range(turns)
            for role, text in (("user", QUESTIONS[(n + turn) % 4]), ("assistant", ANSWER))
        ]
        day = f"2026-{n % 11 + 1:02d}-{n % 28 + 1:02d}T09:14:00Z"
        row = {"id": f"T-{n}", "date": day, "tags": [TOPICS[n % 6]], "channel": "chat"}
        lines.append(json.dumps(row | {"messages": said}))
    return "\n".join(lines).encode()


def measured_import(count: int) -> tuple[ConversationImport, float]:
    """Import them, and return how many were a second of processor time."""
    content = content_of(count)
    target = find_or_make_set("Benchmark")
    wall, cpu = time.monotonic(), time.process_time()
    file = read_conversations("bench.jsonl", content)
    row = import_conversations(target, file, masker=Masker())
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    print(
        f"import: {row.added:,} of {len(content) / 1e6:.0f} MB, {count / cpu:,.0f} a second of"
        f" processor time, {count / wall:,.0f} wall"
    )
    return row, count / cpu


def grade_all(row: ConversationImport) -> Run:
    """Grade all by a check that asks no model."""
    suite = Suite.objects.filter(slug="bench").first() or make_suite(slug="bench")
    Assertion.objects.get_or_create(suite=suite, type="contains", options={"value": "6.90"})
    began = time.monotonic()
    [run] = start_grading(row.conversation_set, suite, WantedConversations())
    print(f"grading: started in {time.monotonic() - began:.1f} s wall")
    work()
    print(f"grading: ended after {time.monotonic() - began:.1f} s wall")
    return run


def pages(row: ConversationImport, run: Run) -> Iterator[tuple[str, Callable[[Client], object]]]:
    """Return what is asked for."""
    name, pk = "admin:evals_app_conversationset", row.conversation_set_id
    page = reverse(f"{name}_change", args=[pk])
    yield "list of sets", lambda client: client.get(reverse(f"{name}_changelist"))
    last = row.conversation_set.conversations.order_by("-pk").values_list("pk", flat=True)
    middle = last[row.added // 2]
    filters = {
        "a set": "",
        "a set, by day": "?since=2026-03-04&until=2026-03-09",
        "a set, by topic": "?topic=refund",
        "a set, by rare topic": "?topic=nothing",
        "a set, by id": f"?id=T-{row.added - 7}",
        "a set, by fact": "?flag=channel%3Dchat",
        "a set, by rare fact": "?flag=channel%3Dphone",
        "a set, failed": "?verdict=failed",
        "a set, passed": "?verdict=passed",
        "a set, further on": f"?before={middle}",
    }
    for title, query in filters.items():
        yield title, lambda client, query=query: client.get(page + query)  # type: ignore[misc]
    execution = reverse("admin:evals_app_execution_change", args=[row.run.executions.last().pk])  # type: ignore[union-attr]
    yield "a conversation", lambda client: client.get(execution)
    yield "grade dialog", lambda client: client.get(reverse(f"{name}_grade", args=[pk]))
    price = reverse(f"{name}_price", args=[pk])
    body = {"suite": run.suite_id, "count": 100}
    yield "price of 100", lambda client: client.post(price, body)
    body_all = {"suite": run.suite_id}
    yield "price of all", lambda client: client.post(price, body_all)
    yield (
        "grading run",
        lambda client: client.get(reverse("admin:evals_app_run_change", args=[run.pk])),
    )


def main() -> int:
    """Import, grade, and ask for each page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=20)
    options = parser.parse_args()
    row, a_second = measured_import(options.count)
    run = grade_all(row)
    user = User.objects.filter(username="bench").first() or User.objects.create_superuser("bench")
    client = Client()
    client.force_login(user)
    is_slow = a_second < MIN_A_SECOND
    for title, ask in pages(row, run):
        times = []
        for number in range(options.requests + 1):
            wall, cpu = time.monotonic(), time.process_time()
            response = ask(client)
            assert getattr(response, "status_code", 0) == 200, title  # noqa: PLR2004, S101
            if number:
                times.append((1000 * (time.process_time() - cpu), 1000 * (time.monotonic() - wall)))
        cpus, walls = ([pair[n] for pair in times] for n in (0, 1))
        p95 = percentile(cpus, 0.95) or 0.0
        print(
            f"{title:24} median {statistics.median(cpus):6.0f} ms, p95 {p95:6.0f} ms of processor"
            f" time; wall median {statistics.median(walls):6.0f} ms"
        )
        is_slow |= p95 > MAX_MS
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
