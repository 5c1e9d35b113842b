"""Save OpenAI Evals: from a server of our own that pages, limits, fails and breaks off."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from openai import OpenAI

from evals_app.formats.importing import SourceFile
from evals_app.library.importing.file_import import import_files
from evals_app.library.importing.uploads import unpack
from evals_app.management.commands.save_openai_evals import Command
from evals_app.management.openai_evals import api as api_module
from evals_app.management.openai_evals import work as work_module
from evals_app.management.openai_evals.folder import open_folder
from evals_app.models import Case, Suite
from tests.agent_server import Asked, Sent
from tests.engine.permitting import permitting
from tests.evals_api import (
    BROKEN_OFF,
    FAILED,
    KEY,
    LIMITED,
    EvalsApi,
    Json,
    a_run,
    an_eval,
    an_item,
    refusal,
)

ROOT = Path(__file__).resolve().parent.parent.parent
ROWS = (
    b'{"item": {"ticket": "It is dark", "label": "Hardware", "picture": "file-picture"}}\n'
    b'{"item": {"ticket": "Pay me", "label": "Money", "scan": {"file_id": "file-scan"}}}\n'
)
ITEMS_OF_FILE = {"type": "file_id", "id": "file-rows"}
STORED = {"type": "stored_completions", "metadata": {"use": "desk"}, "created_after": 10}


@dataclass
class Saved:
    code: int
    out: str
    err: str
    pauses: list[float]

    @property
    def counts(self) -> str:
        return self.out.splitlines()[0]


def save(folder: Path) -> Saved:
    out, err = StringIO(), StringIO()
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    code: Any = 0
    try:
        call_command(Command(sleep=sleep), str(folder), stdout=out, stderr=err, no_color=True)
    except SystemExit as ended:
        code = ended.code
    assert KEY not in out.getvalue() + err.getvalue()
    return Saved(code, out.getvalue(), err.getvalue(), pauses)


def refused(folder: Path) -> str:
    with pytest.raises(CommandError) as caught:
        call_command("save_openai_evals", str(folder), stdout=StringIO(), stderr=StringIO())
    assert caught.value.returncode == 2
    assert KEY not in str(caught.value)
    return str(caught.value)


def manifest(folder: Path) -> Json:
    data: Json = json.loads((folder / "manifest.json").read_text())
    return data


def missing(folder: Path) -> dict[str, str]:
    return {entry["what"]: entry["address"] for entry in manifest(folder)["missing"]}


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def items(run_id: str, count: int) -> list[Json]:
    return [an_item(f"outputitem_{run_id}_{n}") for n in range(count)]


def large() -> list[Json]:
    """Return 5 evals (3 pages) of 3 runs (2 pages) of 5 items (3 pages) each."""
    return [
        an_eval(f"eval_{n}", *(a_run(f"evalrun_{n}{k}", *items(f"{n}{k}", 5)) for k in range(3)))
        for n in range(5)
    ]


WHOLE = "5 evals, 15 runs, 75 of 75 items, 0 files, 0 prompts; nothing is missing"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "saved"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    with permitting(hosts=("localhost",)):
        yield


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[EvalsApi]:
    with EvalsApi() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


# What is saved


def test_every_page_of_everything_is_saved(api: EvalsApi, folder: Path) -> None:
    api.evals = large()

    saved = save(folder)

    assert (saved.code, saved.counts, saved.pauses) == (0, WHOLE, [])
    assert api.repeated == []
    pages = [json.loads(path.read_text()) for path in folder.glob("*/evalrun_*-items*.json")]
    ids = [item["id"] for page in pages for item in page["data"]]
    assert len(ids) == len(set(ids)) == 75
    runs = [json.loads((folder / f"eval_3/evalrun_3{k}.json").read_text()) for k in range(3)]
    assert [run["eval_id"] for run in runs] == ["eval_3"] * 3
    assert [line.split(":")[0] for line in saved.err.splitlines()] == [
        f"Eval {n} of 5" for n in range(1, 6)
    ]


def test_the_manifest_has_counts_and_digests(api: EvalsApi, folder: Path) -> None:
    api.evals = [an_eval("eval_1", a_run("evalrun_1", *items("1", 3)))]

    save(folder)

    kept = manifest(folder)
    assert kept["is_whole"] is True
    assert kept["account"] == {"base_url": api.url}
    assert kept["started_at"] <= kept["finished_at"]
    assert kept["counts"]["items"] == {"expected": 3, "saved": 3, "is_least": False}
    assert kept["files"].keys() == files_in(folder) - {"manifest.json"}
    for name, digest in kept["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_files_are_saved_wherever_they_are_named(api: EvalsApi, folder: Path) -> None:
    content = [{"type": "input_image", "file_id": "file-judged"}]
    asked = [{"role": "user", "content": content}]
    judge = {"type": "score_model", "name": "Judge", "model": "gpt", "input": asked}
    message = [{"role": "user", "content": [{"type": "input_file", "file_id": "file-asked"}]}]
    of_file = a_run("evalrun_1", source=ITEMS_OF_FILE)
    of_item = a_run("evalrun_2", an_item("item_1", messages=message))
    api.evals = [an_eval("eval_1", of_file, of_item, testing_criteria=[judge])]
    api.files = {
        "file-rows": ("rows.jsonl", ROWS.replace(b"file-picture", b"file-20260101picture0000")),
        "file-20260101picture0000": ("a.b.PNG", b"\x89PNG\x00\xff"),
        "file-scan": ("scan", b""),
        "file-judged": ("odd.na/me", b"{}"),
        "file-asked": ("asked.pdf", b"%PDF"),
    }

    saved = save(folder)

    assert saved.counts == "1 eval, 2 runs, 1 of 1 item, 5 files, 0 prompts; nothing is missing"
    assert {
        name: (folder / "files" / name).read_bytes()
        for name in ("file-20260101picture0000.PNG", "file-scan", "file-judged", "file-asked.pdf")
    } == {
        "file-20260101picture0000.PNG": b"\x89PNG\x00\xff",
        "file-scan": b"",
        "file-judged": b"{}",
        "file-asked.pdf": b"%PDF",
    }
    described = json.loads((folder / "files/file-asked.metadata.json").read_text())
    assert described["filename"] == "asked.pdf"
    rows = (folder / "files/file-rows.jsonl").read_bytes()
    assert (folder / "eval_1/file-rows.jsonl").read_bytes() == rows == api.files["file-rows"][1]


def test_each_version_of_a_prompt_is_saved_with_what_it_names(api: EvalsApi, folder: Path) -> None:
    runs = [a_run(f"evalrun_{n}") for n in range(4)]
    named = [{"version": "1"}, {"version": "2"}, {}, {"id": "pmpt_2", "version": "1"}]
    for run, prompt in zip(runs, named, strict=True):
        run["data_source"]["prompt"] = {"id": "pmpt_1", **prompt}
    api.evals = [an_eval("eval_1", *runs)]
    api.prompts = {
        "pmpt_1": {"id": "pmpt_1", "tools": []},
        "pmpt_1?1": {"id": "pmpt_1", "version": "1", "variables": {}},
        "pmpt_1?2": {"id": "pmpt_1", "version": "2", "image": {"file_id": "file-logo"}},
        "pmpt_2?1": {"prompt_id": "pmpt_2"},
    }
    api.files = {"file-logo": ("logo.png", b"PNG")}

    saved = save(folder)

    assert saved.counts == "1 eval, 4 runs, 0 of 0 items, 1 file, 4 prompts; nothing is missing"
    assert {path.name for path in (folder / "prompts").iterdir()} == {
        "pmpt_1.json",
        "pmpt_1-v1.json",
        "pmpt_1-v2.json",
        "pmpt_2-v1.json",
    }


def test_a_prompt_that_keys_cannot_read_is_missing_until_it_is_copied(
    api: EvalsApi, folder: Path
) -> None:
    run = a_run("evalrun_1", an_item("item_1", prompt={"id": "pmpt_1", "version": "4"}))
    api.evals = [an_eval("eval_1", run)]

    saved = save(folder)

    assert saved.code == 1
    assert "0 of 1 prompt; 1 missing" in saved.counts
    assert missing(folder) == {"prompt pmpt_1, version 4": f"{api.url}/prompts/pmpt_1?version=4"}
    assert "https://platform.openai.com/chat/edit?prompt=pmpt_1&version=4" in saved.err
    assert "prompts/pmpt_1-v4.txt" in saved.err

    (folder / "prompts").mkdir()
    (folder / "prompts/pmpt_1-v4.txt").write_text("You answer in French.")

    assert save(folder).code == 0


def test_stored_answers_are_saved_by_filter_and_by_id(api: EvalsApi, folder: Path) -> None:
    api.evals = [
        an_eval(
            "eval_1",
            a_run("evalrun_1", an_item("item_1", response="resp_1"), source=STORED),
            a_run("evalrun_2", an_item("item_2", was="chatcmpl-other", too="resp_old")),
        )
    ]
    api.completions = [
        {"id": "chatcmpl-1", "created": 11, "metadata": {"use": "desk"}},
        {"id": "chatcmpl-2", "created": 12, "metadata": {"use": "desk"}},
        {"id": "chatcmpl-3", "created": 13, "metadata": {"use": "desk"}},
        {"id": "chatcmpl-early", "created": 9, "metadata": {"use": "desk"}},
        {"id": "chatcmpl-late", "created": 1_800_000_000, "metadata": {"use": "desk"}},
        {"id": "chatcmpl-other", "created": 11, "metadata": {"use": "shop"}},
        {"id": "chatcmpl-none", "created": 11, "metadata": {}},
    ]
    api.responses = {"resp_1": {"id": "resp_1", "previous_response_id": "resp_0"}}

    saved = save(folder)

    assert "4 stored completions, 1 stored response; nothing is missing" in saved.counts
    assert {path.name for path in (folder / "completions").glob("chatcmpl-*")} == {
        f"chatcmpl-{name}{part}.json"
        for name in ("1", "2", "3", "other")
        for part in ("", "-messages")
    }
    assert (folder / "responses/resp_1-input_items.json").exists()
    assert manifest(folder)["no_longer_stored"] == ["resp_0", "resp_old"]
    assert "resp_0, resp_old" in saved.err

    api.server.asked.clear()
    save(folder)

    assert api.asked("chat/completions") == 0


def test_what_other_services_have_is_listed(api: EvalsApi, folder: Path) -> None:
    item = an_item("item_1", image_url="https://pictures.test/1.png")
    api.evals = [an_eval("eval_1", a_run("evalrun_1", item))]

    saved = save(folder)

    assert saved.code == 0
    assert manifest(folder)["not_part_of_a_save"] == ["https://pictures.test/1.png"]
    assert "https://pictures.test/1.png" in saved.err


def test_an_account_without_evals_is_asked_about_its_project(api: EvalsApi, folder: Path) -> None:
    saved = save(folder)

    assert saved.counts == "0 evals, 0 runs, 0 of 0 items, 0 files, 0 prompts; nothing is missing"
    assert "project" in saved.err


@pytest.mark.django_db
def test_what_is_saved_is_imported(api: EvalsApi, folder: Path) -> None:
    logs = {"type": "stored_completions"}
    logged = a_run("evalrun_2", *items("2", 5), source=logs)
    del logged["data_source"]["input_messages"]
    logged["data_source"]["model"] = "gpt-5-mini"
    api.evals = [
        an_eval("eval_file", a_run("evalrun_1", source=ITEMS_OF_FILE), name="From a file"),
        an_eval("eval_logs", logged, name="From logs"),
        an_eval("eval_runs", *large()[0]["runs"], name="From a run"),
    ]
    api.files = {"file-rows": ("rows.jsonl", ROWS), "file-scan": ("scan", b"")}

    assert save(folder).code == 0
    call_command("import_evals", str(folder), stdout=StringIO(), stderr=StringIO())

    cases = {suite.slug: suite.cases.count() for suite in Suite.objects.all()}
    assert cases == {"from-a-file": 2, "from-logs": 5, "from-a-run": 5}
    assert Case.objects.filter(turns__user="Pay me").exists()


def test_the_requests_are_those_of_the_official_sdk(api: EvalsApi, folder: Path) -> None:
    item = an_item("item_1", response="resp_1")
    of_logs = a_run("evalrun_1", item, source=STORED | {"model": "gpt-5"})
    api.evals = [an_eval("eval_1", of_logs, a_run("evalrun_2", source=ITEMS_OF_FILE))]
    api.files = {"file-rows": ("rows.jsonl", b'{"item": {"a": "b"}}')}
    api.completions = [
        {"id": "chatcmpl-1", "created": 11, "model": "gpt-5", "metadata": {"use": "desk"}}
    ]
    api.responses = {"resp_1": {"id": "resp_1"}}
    save(folder)
    ours = _requests(api)
    api.server.asked.clear()

    with OpenAI(base_url=api.url, api_key=KEY, max_retries=0) as client:
        page: Any = {"limit": 100, "order": "asc"}
        list(client.evals.list(**page))
        list(client.evals.runs.list("eval_1", **page))
        for run_id in ("evalrun_1", "evalrun_2"):
            list(client.evals.runs.output_items.list(run_id, eval_id="eval_1", **page))
        client.files.retrieve("file-rows")
        client.files.content("file-rows")
        completions: Any = client.chat.completions
        list(completions.list(model="gpt-5", metadata={"use": "desk"}, **page))
        list(completions.messages.list("chatcmpl-1", **page))
        client.responses.retrieve("resp_1")
        list(client.responses.input_items.list("resp_1", **page))

    assert ours == _requests(api)


def _requests(api: EvalsApi) -> list[tuple[str, list[tuple[str, str]], str]]:
    """Return what was asked for, the parameters in one order."""
    return sorted(
        (parts.path, sorted(parse_qsl(parts.query)), asked.headers["authorization"])
        for asked in api.server.asked
        for parts in [urlsplit(asked.path)]
    )


@pytest.mark.django_db
def test_one_run_or_a_packed_eval_is_imported(api: EvalsApi, folder: Path, tmp_path: Path) -> None:
    of_file = a_run("evalrun_1", source=ITEMS_OF_FILE)
    api.evals = [
        an_eval("eval_file", of_file, name="From a file"),
        an_eval("eval_runs", *large()[0]["runs"], name="From runs"),
    ]
    api.files = {"file-rows": ("rows.txt", ROWS), "file-scan": ("scan", b"")}
    save(folder)
    named = [folder / "eval_runs/eval_runs.json", *folder.glob("eval_runs/evalrun_02*")]
    packed = shutil.make_archive(str(tmp_path / "eval"), "zip", folder, "eval_file")

    call_command("import_evals", *map(str, named), stdout=StringIO(), stderr=StringIO())
    upload = unpack([SourceFile("eval.zip", Path(packed).read_bytes())])
    import_files(upload.files, find=upload.find, find_paths=upload.find_paths)

    assert {suite.slug: suite.cases.count() for suite in Suite.objects.all()} == {
        "from-runs": 5,
        "from-a-file": 2,
    }
    assert upload.passed_over() == []


# What does not work


def test_it_waits_as_long_as_the_api_asks(api: EvalsApi, folder: Path) -> None:
    api.evals = large()
    api.faults["/v1/evals"] = [LIMITED, LIMITED]
    api.faults["/v1/evals/eval_2/runs/evalrun_21/output_items"] = [LIMITED]

    saved = save(folder)

    assert (saved.counts, saved.pauses) == (WHOLE, [7.0, 7.0, 7.0])
    assert "Waiting 7 s" in saved.err


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(FAILED, id="a failure of the server"),
        pytest.param(BROKEN_OFF, id="a connection that breaks off"),
        pytest.param(Sent.text("<html>"), id="a page for people"),
        pytest.param(refusal(409, "Locked"), id="a conflict"),
    ],
)
@pytest.mark.parametrize(
    "path", ["/v1/evals", "/v1/evals/eval_0/runs", "/v1/evals/eval_0/runs/evalrun_00/output_items"]
)
def test_what_passes_is_asked_for_again(
    api: EvalsApi, folder: Path, path: str, fault: Sent
) -> None:
    api.evals = large()
    api.faults[path] = [fault, fault, fault]

    saved = save(folder)

    assert (saved.code, saved.counts, saved.pauses) == (0, WHOLE, [1.0, 2.0, 4.0])


def test_a_file_that_breaks_off_begins_again(api: EvalsApi, folder: Path) -> None:
    api.evals = [an_eval("eval_1", a_run("evalrun_1", source=ITEMS_OF_FILE))]
    api.files = {"file-rows": ("rows.jsonl", b'{"item": {"a": "b"}}')}
    api.faults["/v1/files/file-rows/content"] = [BROKEN_OFF]

    assert save(folder).code == 0
    assert (folder / "eval_1/file-rows.jsonl").read_bytes() == b'{"item": {"a": "b"}}'


BAD_PLACES = pytest.mark.parametrize(
    ("path", "what", "counts"),
    [
        (
            "/v1/evals/eval_1/runs",
            "runs of eval_1",
            "5 evals, 12 of at least 12 runs, 60 of at least 60 items",
        ),
        (
            "/v1/evals/eval_1/runs/evalrun_11/output_items",
            "items of run evalrun_11",
            "5 evals, 15 runs, 70 of 75 items",
        ),
    ],
)


@BAD_PLACES
@pytest.mark.parametrize(
    "fault", [FAILED, BROKEN_OFF, refusal(403, "No permission"), refusal(404, "Gone")]
)
def test_the_rest_is_saved_and_the_next_start_gets_what_is_missing(
    api: EvalsApi, folder: Path, *, path: str, what: str, counts: str, fault: Sent
) -> None:
    api.evals = large()
    api.always[path] = fault

    saved = save(folder)

    assert (saved.code, saved.counts) == (1, f"{counts}, 0 files, 0 prompts; 1 missing")
    ((named, address),) = missing(folder).items()
    assert named == what
    assert address.startswith(f"{api.url.removesuffix('/v1')}{path}")
    assert f"missing: {what}" in saved.err
    assert manifest(folder)["is_whole"] is False

    api.always.clear()

    assert save(folder).counts == WHOLE


def test_a_page_in_the_middle_that_fails_is_where_the_next_start_goes_on(
    api: EvalsApi, folder: Path
) -> None:
    api.evals = [an_eval("eval_1", a_run("evalrun_1", *items("1", 7)))]
    path = "/v1/evals/eval_1/runs/evalrun_1/output_items"

    def fail_late(where: str, page: Json) -> Json:
        if where == path and page["first_id"] == "outputitem_1_4":
            api.always[path] = FAILED
            return page | {"has_more": True}
        return page

    api.meddle = fail_late
    assert save(folder).counts.startswith("1 eval, 1 run, 6 of 7 items")

    api.always.clear()
    api.meddle = lambda _, page: page
    api.server.asked.clear()

    assert save(folder).code == 0
    assert api.asked("evals/eval_1/runs/evalrun_1/output_items") == 1


def test_a_large_page_that_fails_is_asked_for_in_small_ones(api: EvalsApi, folder: Path) -> None:
    api.evals = [an_eval("eval_1", a_run("evalrun_1", *items("1", 12)))]
    api.page = 100
    answer = api.server.answer
    api.server.answer = lambda asked: FAILED if "items?limit=100" in asked.path else answer(asked)

    assert save(folder).counts.startswith("1 eval, 1 run, 12 of 12 items")


def test_a_file_that_is_gone_is_missing_until_there_is_a_copy(api: EvalsApi, folder: Path) -> None:
    api.evals = [an_eval("eval_1", a_run("evalrun_1", source=ITEMS_OF_FILE))]

    saved = save(folder)

    assert (saved.code, "0 of 1 file," in saved.counts) == (1, True)
    assert missing(folder) == {"file file-rows": f"{api.url}/files/file-rows/content"}
    assert saved.pauses == []

    (folder / "files").mkdir(exist_ok=True)
    (folder / "files/file-rows.jsonl").write_bytes(ROWS)
    api.files = {"file-scan": ("scan", b"")}

    assert save(folder).code == 0
    assert (folder / "eval_1/file-rows.jsonl").read_bytes() == ROWS


def test_a_file_of_another_size_than_it_should_have_is_missing(api: EvalsApi, folder: Path) -> None:
    api.evals = [an_eval("eval_1", a_run("evalrun_1", source=ITEMS_OF_FILE))]
    api.files = {"file-rows": ("rows.jsonl", ROWS)}
    api.always["/v1/files/file-rows/content"] = Sent(content=ROWS[:20])

    assert "file file-rows" in (save(folder).err and missing(folder))

    api.always.clear()
    api.files = {"file-rows": ("rows.jsonl", ROWS), "file-scan": ("scan", b"")}

    assert save(folder).code == 0


def test_fewer_items_than_the_run_counts_are_missing(api: EvalsApi, folder: Path) -> None:
    run = a_run("evalrun_1", *items("1", 3), result_counts={"total": 5})
    api.evals = [an_eval("eval_1", run)]

    saved = save(folder)

    assert (saved.code, "3 of 5 items" in saved.counts) == (1, True)


@pytest.mark.parametrize(
    "meddle",
    [
        pytest.param({"has_more": True, "last_id": "outputitem_1_0"}, id="the same place again"),
        pytest.param({"has_more": True, "data": [], "last_id": None}, id="no place"),
        pytest.param({"has_more": True, "data": [1], "last_id": 7}, id="no id"),
    ],
)
def test_a_list_that_leads_in_a_circle_ends(
    api: EvalsApi, folder: Path, meddle: dict[str, Any]
) -> None:
    api.evals = [an_eval("eval_1", a_run("evalrun_1", *items("1", 5)))]
    api.meddle = lambda path, page: page | meddle if path.endswith("output_items") else page

    saved = save(folder)

    assert saved.code == 1
    assert "items of run evalrun_1" in missing(folder)
    assert api.asked("evals/eval_1/runs/evalrun_1/output_items") <= 2


def test_a_list_that_does_not_say_whether_it_ends_is_read_until_it_is_empty(
    api: EvalsApi, folder: Path
) -> None:
    api.evals = large()
    api.meddle = lambda _, page: {"object": "list", "data": page["data"]}

    assert save(folder).counts == WHOLE


def test_objects_without_an_id_are_missing(api: EvalsApi, folder: Path) -> None:
    api.evals = [an_eval("eval_1", a_run("../evil"), a_run("evalrun_2"))]
    api.page = 10

    saved = save(folder)

    assert (saved.code, "1 of 2 runs" in saved.counts) == (1, True)


def test_a_page_that_is_too_large_for_an_import_is_saved_in_parts(
    api: EvalsApi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_module, "MAX_BYTES", 1_500)
    api.evals = [an_eval("eval_1", a_run("evalrun_1", *items("1", 7)))]
    api.page = 5

    assert save(folder).code == 0

    pages = sorted(folder.glob("eval_1/evalrun_1-items*.json"))
    assert max(page.stat().st_size for page in pages) <= 1_500
    assert len(pages) > 2
    api.server.asked.clear()
    assert save(folder).counts.startswith("1 eval, 1 run, 7 of 7 items")
    assert api.asked("evals/eval_1/runs/evalrun_1/output_items") == 0


def test_a_key_that_is_withdrawn_ends_it(api: EvalsApi, folder: Path) -> None:
    api.evals = large()
    api.always["/v1/evals/eval_2/runs"] = refusal(401, f"Incorrect API key: {KEY}")

    saved = save(folder)

    assert saved.code == 1
    assert saved.counts.startswith("3 of at least 5 evals, 6 of at least 6 runs, 30 of at least 30")
    assert KEY not in (folder / "manifest.json").read_text()
    assert api.asked("evals/eval_3") == 0

    api.always.clear()

    assert save(folder).counts == WHOLE


def test_an_api_that_answers_no_more_ends_it(api: EvalsApi, folder: Path) -> None:
    api.evals = large()
    answer, gone = api.server.answer, "/v1/evals/eval_1/runs/evalrun_10/output_items"

    def stop(asked: Asked) -> Sent:
        if asked.path.startswith(gone):
            api.server.answer = lambda _: BROKEN_OFF
        return api.server.answer(asked) if asked.path.startswith(gone) else answer(asked)

    api.server.answer = stop

    saved = save(folder)

    assert saved.code == 1
    assert len(saved.pauses) < 20
    assert "everything that is not counted" in missing(folder)


def test_a_pause_of_a_day_ends_it(api: EvalsApi, folder: Path) -> None:
    api.evals = large()
    api.faults["/v1/evals/eval_1/runs"] = [Sent(status=429, headers={"retry-after": "80000"})]

    saved = save(folder)

    assert (saved.code, saved.pauses) == (1, [])
    assert "80,000 s" in saved.err


def test_limits_without_an_end_are_given_up(api: EvalsApi, folder: Path) -> None:
    api.evals = large()
    api.always["/v1/evals/eval_1/runs"] = Sent(status=429)

    saved = save(folder)

    assert (saved.code, list(missing(folder))) == (1, ["runs of eval_1"])
    assert saved.pauses[:7] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]
    assert set(saved.pauses[7:]) == {60.0}


def test_a_silent_server_is_asked_again(
    api: EvalsApi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_module, "_SILENCE_S", 0.2)
    api.evals = large()
    answer = api.server.answer
    slow = iter([0.5])

    def late(asked: Asked) -> Sent:
        time.sleep(next(slow, 0))
        return answer(asked)

    api.server.answer = late

    assert save(folder).counts == WHOLE


# Again


def test_a_second_start_fetches_only_lists_of_evals_and_runs(api: EvalsApi, folder: Path) -> None:
    api.evals = [*large(), an_eval("eval_f", a_run("evalrun_f", source=ITEMS_OF_FILE))]
    api.files = {"file-rows": ("rows.jsonl", ROWS), "file-scan": ("scan", b"")}
    first = save(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    api.server.asked.clear()

    second = save(folder)

    assert (second.code, second.counts) == (0, first.counts)
    assert api.asked("files") == 0
    assert [path for path in api.paths if "output_items" in path] == []
    changed = {path.name for path, moment in before.items() if path.stat().st_mtime_ns != moment}
    assert changed == {"manifest.json"}


def test_a_run_in_progress_is_fetched_again(api: EvalsApi, folder: Path) -> None:
    run = a_run("evalrun_1", *items("1", 3), status="in_progress")
    api.evals = [an_eval("eval_1", run)]

    saved = save(folder)

    assert (saved.code, list(missing(folder))) == (1, ["the end of run evalrun_1"])

    api.evals = [an_eval("eval_1", a_run("evalrun_1", *items("1", 7)))]

    assert save(folder).counts.startswith("1 eval, 1 run, 7 of 7 items")
    kept = json.loads((folder / "eval_1/evalrun_1.json").read_text())
    assert kept["status"] == "completed"


def test_a_run_that_went_on_stays_old_until_its_items_are_here(api: EvalsApi, folder: Path) -> None:
    api.evals = [an_eval("eval_1", a_run("evalrun_1", *items("1", 3), status="queued"))]
    save(folder)
    api.evals = [an_eval("eval_1", a_run("evalrun_1", *items("1", 7)))]
    api.always["/v1/evals/eval_1/runs/evalrun_1/output_items"] = FAILED

    assert save(folder).code == 1

    api.always.clear()

    assert save(folder).counts.startswith("1 eval, 1 run, 7 of 7 items")


def test_new_evals_and_runs_are_added_and_deleted_ones_stay(api: EvalsApi, folder: Path) -> None:
    api.evals = large()[:2]
    save(folder)
    api.evals = [an_eval("eval_0", a_run("evalrun_new", *items("new", 2))), *large()[2:]]

    saved = save(folder)

    assert (
        saved.counts == "5 evals, 16 runs, 77 of 77 items, 0 files, 0 prompts; nothing is missing"
    )
    assert (folder / "eval_1/evalrun_12-items-3.json").exists()


def test_a_changed_file_is_named_until_it_is_as_it_was(api: EvalsApi, folder: Path) -> None:
    api.evals = large()
    save(folder)
    path = folder / "eval_1/evalrun_11-items-2.json"
    path.write_text(path.read_text().replace("Hardware", "Software"))

    assert save(folder).code == 1
    assert save(folder).code == 1
    assert list(missing(folder)) == ["eval_1/evalrun_11-items-2.json"]

    path.unlink()

    assert (save(folder).code, "Hardware" in path.read_text()) == (0, True)


def test_a_killed_save_goes_on(api: EvalsApi, folder: Path) -> None:
    api.evals = large()
    path = "/v1/evals/eval_2/runs/evalrun_21/output_items"
    api.always[path] = Sent(parts=_slowly(api))
    ours = ("EVALWELL_", "EVALS_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    child = subprocess.Popen(
        [sys.executable, "manage.py", "save_openai_evals", str(folder)],
        cwd=ROOT,
        env=environment | {"EVALS_PRIVATE_HOSTS": "localhost"},
        stderr=subprocess.PIPE,
    )
    with child:
        while api.asked("evals/eval_2/runs/evalrun_21/output_items") == 0:
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    assert manifest(folder)["finished_at"] is None
    (folder / "eval_0/.abc.tmp").write_text("half a file")
    api.always.clear()
    had = {path for path in api.paths if "output_items" in path and "evalrun_21" not in path}
    api.server.asked.clear()

    saved = save(folder)

    assert (saved.code, saved.counts) == (0, WHOLE)
    assert had.isdisjoint(api.paths)
    assert not list(folder.glob("*/.*"))


def test_ctrl_c_ends_it_and_a_second_start_goes_on(api: EvalsApi, folder: Path) -> None:
    api.evals = large()
    path = "/v1/evals/eval_2/runs/evalrun_21/output_items"
    api.always[path] = Sent(parts=_slowly(api))
    child = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "manage.py", "save_openai_evals", str(folder)],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "evalsite.settings"},
        stderr=subprocess.PIPE,
        text=True,
    )
    with child:
        while api.asked("evals/eval_2/runs/evalrun_21/output_items") == 0:
            assert child.poll() is None
            time.sleep(0.01)
        try:
            _, err = _interrupt(child)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGABRT)  # it says where it waits
            pytest.fail(child.communicate()[1])
    assert (child.returncode, "Traceback" in err) == (130, False)
    api.always.clear()

    assert save(folder).counts == WHOLE


def _interrupt(child: subprocess.Popen[str]) -> tuple[str, str]:
    """Press Ctrl-C, and again where the HTTP client swallowed the first, as people do."""
    child.send_signal(signal.SIGINT)
    try:
        return child.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGINT)
        return child.communicate(timeout=20)


def _slowly(api: EvalsApi) -> Iterator[bytes]:
    while not api.server.closing.wait(0.05):
        yield b" "


# Whose it is, and where it goes


def test_the_account_is_that_of_the_sdk(
    api: EvalsApi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj_1")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{api.url}/")
    api.headers = {"openai-organization": "our-company"}

    save(folder)

    sent = api.server.asked[0].headers
    assert sent["authorization"] == f"Bearer {KEY}"
    assert (sent["openai-organization"], sent["openai-project"]) == ("org-1", "proj_1")
    assert manifest(folder)["account"] == {
        "base_url": api.url,
        "organization": "org-1",
        "project": "proj_1",
        "organization_of_the_key": "our-company",
    }


@pytest.mark.parametrize(
    ("variables", "headers"),
    [
        ({"OPENAI_PROJECT_ID": "proj_2"}, {}),
        ({"OPENAI_ORG_ID": "org-2"}, {}),
        ({}, {"openai-project": "proj_2"}),
        ({}, {"openai-organization": "their-company"}),
    ],
)
def test_another_account_is_refused(
    api: EvalsApi,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    headers: dict[str, str],
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj_1")
    api.headers = {"openai-organization": "our-company", "openai-project": "proj_1"}
    api.evals = large()
    save(folder)
    before = {name: (folder / name).read_bytes() for name in files_in(folder)}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    api.headers = {**api.headers, **headers}

    assert "another account" in refused(folder)
    assert {name: (folder / name).read_bytes() for name in files_in(folder)} == before


@pytest.mark.parametrize("evals", [[an_eval("eval_theirs")], []])
def test_a_key_that_sees_none_of_the_saved_evals_is_refused(
    api: EvalsApi, folder: Path, evals: list[Json]
) -> None:
    api.evals = large()
    save(folder)
    api.evals = evals

    assert "5 evals" in refused(folder)
    assert manifest(folder)["is_whole"] is True


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("OPENAI_API_KEY", "", "OPENAI_API_KEY"),
        ("OPENAI_API_KEY", "sk one", "spaces"),
        ("OPENAI_API_KEY", "schlüssel", "ASCII"),
        ("OPENAI_API_KEY", "sk-wrong", "401"),
        ("OPENAI_BASE_URL", "api.openai.com", "https://"),
        ("OPENAI_BASE_URL", "http://api.openai.com/v1", "https://"),
        ("OPENAI_BASE_URL", "https://api.openai.com/v1?a=b", "question mark"),
        ("OPENAI_BASE_URL", "https://127.0.0.1/v1", "EVALS_PRIVATE_HOSTS"),
        ("OPENAI_BASE_URL", "https://user:password@api.openai.com/v1", "password"),
    ],
)
def test_a_wrong_set_up_is_named(
    api: EvalsApi,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    name: str,
    value: str,
    word: str,
) -> None:
    monkeypatch.setenv(name, value)

    assert word in refused(folder)
    assert not folder.exists() or files_in(folder) == set()


def test_a_list_of_evals_that_cannot_be_had_leaves_a_save_as_it_is(
    api: EvalsApi, folder: Path
) -> None:
    api.evals = large()
    save(folder)
    before = (folder / "manifest.json").read_bytes()
    api.always["/v1/evals"] = refusal(404, "Evals have been shut down")

    assert "shut down" in refused(folder)
    assert (folder / "manifest.json").read_bytes() == before


def test_the_folder_is_new_or_an_earlier_save(api: EvalsApi, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "used").mkdir()
    (tmp_path / "used/notes.txt").write_text("mine")
    for name, text in (
        ("other", '{"name": "an app"}'),
        ("broken", '{"format": "openai-evals-sa'),
        ("edited", '{"format": "openai-evals-save", "account": "mine", "files": {}}'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(text)

    assert "is a file" in refused(tmp_path / "file")
    assert "not empty" in refused(tmp_path / "used")
    assert "manifest.json" in refused(tmp_path / "other")
    assert "manifest.json" in refused(tmp_path / "broken")
    assert "manifest.json" in refused(tmp_path / "edited")
    assert "cannot be written" in refused(tmp_path / "file/below")
    assert api.paths == []


def test_a_disk_that_is_full_is_named(
    api: EvalsApi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.evals = large()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(folder / "eval_0"))

    monkeypatch.setattr("evals_app.management.openai_evals.folder.write_whole", full)

    assert refused(folder).endswith("eval_0 cannot be written: No space left on device.")


def test_two_saves_do_not_share_a_folder(api: EvalsApi, folder: Path) -> None:
    with open_folder(folder):
        assert "is running" in refused(folder)
