"""Measure importing many real conversations with masking, and the pages that show them.

    DATABASE_URL=postgresql://... python -m benchmarks.recorded --count 100000 --requests 20
    DATABASE_URL=postgresql://... python -m benchmarks.recorded --pages --requests 20

Take an empty database that has been migrated; with `--pages`, one that this has filled. Times are of
the processor, in this process, and `wall`, which has the database's own. Exits with 1 below 500
conversations a second, or if a page takes longer than is allowed on a machine that does nothing else.
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
from django.db import connection
from django.test import Client
from django.urls import reverse

from evals_app.engine.statistics.rates import percentile
from evals_app.formats.conversations.read import read_conversations
from evals_app.formats.masking.masker import Masker
from evals_app.models import Assertion, ConversationImport, ConversationSet, Run, Suite
from evals_app.runs.process.worker_loop import work
from evals_app.runs.recorded.grade_conversations import WantedConversations
from evals_app.runs.recorded.import_conversations import import_conversations
from evals_app.runs.recorded.note_groups import find_or_make_group
from evals_app.runs.recorded.readings import draw, write_note
from evals_app.runs.recorded.sets import find_or_make_set
from evals_app.runs.recorded.waiting_gradings import ask_for_grading, start_waiting_gradings
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
    asked = ask_for_grading(row.conversation_set, suite, WantedConversations())
    print(f"grading: asked for in {1000 * (time.monotonic() - began):.0f} ms wall")
    start_waiting_gradings()
    print(f"grading: started after {time.monotonic() - began:.1f} s wall")
    work()
    print(f"grading: ended after {time.monotonic() - began:.1f} s wall")
    return asked[0] if isinstance(asked, list) else asked.runs[0]


def pages(row: ConversationImport, run: Run) -> Iterator[tuple[str, Callable[[Client], object]]]:
    """Return what is asked for."""
    name, pk = "admin:evals_app_conversationset", row.conversation_set_id
    page = reverse(f"{name}_change", args=[pk])
    conversations = row.conversation_set.conversations.order_by("-pk")
    middle = conversations.values_list("pk", flat=True)[row.added // 2]
    first = conversations.values_list("pk", flat=True).last()
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
        "a set, its last page": f"?before={(first or 0) + 20}",
    }
    asked = {title: page + query for title, query in filters.items()}
    shown = {"a conversation": row.run.executions.last(), "a grading": run.executions.last()}
    for title, execution in shown.items():
        asked[title] = reverse("admin:evals_app_execution_change", args=[execution.pk])  # type: ignore[union-attr]
    runs, executions = "admin:evals_app_run", reverse("admin:evals_app_execution_changelist")
    rest, chosen = "/api/conversation-sets/benchmark/", {"suite": run.suite_id}
    asked |= {
        "list of sets": reverse(f"{name}_changelist"),
        "grade dialog": reverse(f"{name}_grade", args=[pk]),
        "home": reverse("admin:index"),
        "list of runs": reverse(f"{runs}_changelist"),
        "grading run": reverse(f"{runs}_change", args=[run.pk]),
        "its conversations": f"{executions}?run={run.pk}",
        "its last page": f"{executions}?run={run.pk}&p={row.added // 50 - 1}",
        "REST: sets": "/api/conversation-sets/",
        "REST: a set": rest,
        "REST: imports": f"{rest}imports/",
        "REST: conversations": f"{rest}conversations/",
        "REST: by rare topic": f"{rest}conversations/?topic=nothing",
        "REST: by id": f"{rest}conversations/?id=T-{row.added - 7}",
        "REST: of the run": f"/api/runs/{run.pk}/executions/",
        **_reading_pages(row.conversation_set, run),
    }
    for title, address in asked.items():
        yield title, lambda client, address=address: client.get(address)  # type: ignore[misc]
    price = reverse(f"{name}_price", args=[pk])
    for title, body in {
        "price of all": chosen,
        "price of 100": chosen | {"count": 100},
        "price of a day": chosen | {"a_day": 5},
        "price of a topic": chosen | {"topic": "refund"},
    }.items():
        yield title, lambda client, body=body: client.post(price, body)  # type: ignore[misc]
    for title, of in {"set": ("conversationset", pk), "run": ("run", run.pk)}.items():
        draws = reverse(f"admin:evals_app_{of[0]}_read", args=[of[1]]) + "?more=1"
        yield f"draw of a {title}", lambda client, draws=draws: client.post(draws, {"count": 5})  # type: ignore[misc]


def _reading_pages(target: ConversationSet, run: Run) -> dict[str, str]:
    by = User.objects.get(username="bench")
    reading = draw(target, WantedConversations(count=50), by=by)
    draw(run, WantedConversations(count=50), by=by)
    group = find_or_make_group(reading, "Too expensive", by=by)
    for item in reading.items.order_by("position")[:50]:
        write_note(item, by=by, kind="wrong", text="Says 9 euros.", group=group)
    return {
        "reading": reverse("admin:evals_app_reading_item", args=[reading.pk, 7]),
        "groups": reverse("admin:evals_app_reading_groups", args=[reading.pk]),
    }


def main() -> int:
    """Import, grade, and ask for each page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--pages", action="store_true", help="only pages, of what is there")
    options = parser.parse_args()
    user = User.objects.filter(username="bench").first() or User.objects.create_superuser("bench")
    a_second = float(MIN_A_SECOND)
    if options.pages:
        row = ConversationImport.objects.filter(added__gt=0).earliest("pk")
        run = Run.objects.filter(conversation_set=row.conversation_set).earliest("pk")
    else:
        row, a_second = measured_import(options.count)
        run = grade_all(row)
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    if connection.vendor == "postgresql":
        connection.cursor().execute("ANALYZE")  # as its autovacuum does within a minute
    is_slow = a_second < MIN_A_SECOND
    for title, ask in pages(row, run):
        times = []
        for number in range(options.requests + 1):
            wall, cpu = time.monotonic(), time.process_time()
            response = ask(client)
            assert getattr(response, "status_code", 0) in {200, 302}, title  # noqa: S101
            if number:
                times.append((1000 * (time.process_time() - cpu), 1000 * (time.monotonic() - wall)))
        cpus, walls = ([pair[n] for pair in times] for n in (0, 1))
        p95, wall = percentile(cpus, 0.95) or 0.0, percentile(walls, 0.95) or 0.0
        print(
            f"{title:24} median {statistics.median(cpus):5.0f} ms, p95 {p95:5.0f} ms of processor"
            f" time; wall median {statistics.median(walls):5.0f} ms, p95 {wall:5.0f} ms"
        )
        is_slow |= wall > MAX_MS
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
