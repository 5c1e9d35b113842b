"""OpenAI Evals on this machine: an account that pages, limits, fails and breaks off as a test says.

with EvalsApi(evals=[an_eval("eval_1", runs=[...])]) as api:
    api.url, api.paths
    api.faults["/v1/evals"] = [LIMITED, BROKEN_OFF]
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from tests.agent_server import Asked, Sent, WebServer

Json = dict[str, Any]

KEY = "sk-proj-of-this-test"
FAILED = Sent.json({"error": {"message": "The server had an error"}}, status=500)
LIMITED = Sent.json(
    {"error": {"message": "Rate limit reached"}}, status=429, headers={"retry-after": "7"}
)
# More is promised than comes.
BROKEN_OFF = Sent(headers={"content-length": "5000"}, parts=(b'{"data": [',))


def refusal(status: int, message: str) -> Sent:
    return Sent.json({"error": {"message": message}}, status=status)


def an_eval(eval_id: str, *runs: Json, **more: Any) -> Json:
    """Return an eval; its runs are not part of what the API says of it."""
    return {
        "object": "eval",
        "id": eval_id,
        "name": f"Name of {eval_id}",
        "created_at": 1_700_000_000,
        "data_source_config": {"type": "custom", "schema": {}},
        "metadata": {},
        "testing_criteria": [
            {
                "type": "string_check",
                "name": "Right",
                "operation": "eq",
                "input": "{{sample.output_text}}",
                "reference": "{{item.label}}",
            }
        ],
        "runs": runs,
        **more,
    }


def a_run(run_id: str, *items: Json, source: Json | None = None, **more: Any) -> Json:
    """Return a run with its items; those are not part of what the API says of it."""
    return {
        "object": "eval.run",
        "id": run_id,
        "created_at": 1_700_000_100,
        "status": "completed",
        "model": "gpt-5-mini",
        "result_counts": {"total": len(items), "passed": len(items), "failed": 0, "errored": 0},
        "data_source": {
            "type": "completions",
            "model": "gpt-5-mini",
            "input_messages": {
                "type": "template",
                "template": [{"role": "user", "content": "{{item.ticket}}"}],
            },
            "source": source
            or {
                "type": "file_content",
                "content": [{"item": item["datasource_item"]} for item in items],
            },
        },
        "items": items,
        **more,
    }


def an_item(item_id: str, **data: Any) -> Json:
    return {
        "object": "eval.run.output_item",
        "id": item_id,
        "created_at": 1_700_000_200,
        "status": "pass",
        "datasource_item": {"ticket": f"Ticket {item_id}", "label": "Hardware", **data},
        "sample": {
            "input": [{"role": "user", "content": f"Ticket {item_id}"}],
            "output": [{"role": "assistant", "content": "Hardware"}],
        },
        "results": [{"name": "Right", "passed": True, "score": 1.0}],
    }


@dataclass
class EvalsApi:
    """A project of OpenAI, served page by page; `page` is the most that it gives at once."""

    evals: Sequence[Json] = ()
    files: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    # By id, and by id?version.
    prompts: Mapping[str, Json] = field(default_factory=dict)
    completions: Sequence[Json] = ()
    responses: Mapping[str, Json] = field(default_factory=dict)
    page: int = 2
    key: str = KEY
    headers: Mapping[str, str] = field(default_factory=dict)
    # What is answered before all else, by path: each once, or for good.
    faults: dict[str, list[Sent]] = field(default_factory=dict)
    always: dict[str, Sent] = field(default_factory=dict)
    meddle: Callable[[str, Json], Json] = lambda _, page: page

    def __enter__(self) -> Self:
        self.server = WebServer(self._answer)
        self.server.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.__exit__(kind, error, trace)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server.port}/v1"

    @property
    def paths(self) -> list[str]:
        return [asked.path.removeprefix("/v1/") for asked in self.server.asked]

    def asked(self, beginning: str) -> int:
        """Count the requests whose path begins so."""
        return sum(path.startswith(beginning) for path in self.paths)

    @property
    def repeated(self) -> list[str]:
        """Return the paths that were asked for more than once."""
        return [path for path, times in Counter(self.paths).items() if times > 1]

    def _answer(self, asked: Asked) -> Sent:
        parts = urlsplit(asked.path)
        if waiting := self.faults.get(parts.path):
            return waiting.pop(0)
        if parts.path in self.always:
            return self.always[parts.path]
        if asked.headers.get("authorization") != f"Bearer {self.key}":
            return refusal(401, "Incorrect API key provided")
        names = [unquote(name) for name in parts.path.removeprefix("/v1/").split("/")]
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        found = self._found(names, query)
        if isinstance(found, list):
            found = self.meddle(parts.path, self._page_of(found, query))
        if isinstance(found, bytes):
            return Sent(content=found, headers={"content-type": "application/octet-stream"})
        if found is None:
            return refusal(404, f"No such object: {'/'.join(names)}")
        return Sent.json(found, headers={"content-type": "application/json", **self.headers})

    def _found(self, names: list[str], query: Mapping[str, str]) -> Any:
        match names:
            case ["evals"]:
                return [_without(item, "runs") for item in self.evals]
            case ["evals", eval_id, "runs"]:
                return [
                    _without(run, "items") | {"eval_id": eval_id} for run in self._runs(eval_id)
                ]
            case ["evals", eval_id, "runs", run_id, "output_items"]:
                (run,) = (run for run in self._runs(eval_id) if run["id"] == run_id)
                return [item | {"eval_id": eval_id, "run_id": run_id} for item in run["items"]]
            case ["files", file_id] if file_id in self.files:
                name, content = self.files[file_id]
                return {"object": "file", "id": file_id, "filename": name, "bytes": len(content)}
            case ["files", file_id, "content"] if file_id in self.files:
                return self.files[file_id][1]
            case ["prompts", prompt_id]:
                version = query.get("version")
                return self.prompts.get(f"{prompt_id}?{version}" if version else prompt_id)
            case ["chat", "completions"]:
                return [item for item in self.completions if _fits(item, query)]
            case ["chat", "completions", completion_id]:
                return next((c for c in self.completions if c["id"] == completion_id), None)
            case ["chat", "completions", completion_id, "messages"]:
                return [{"id": f"{completion_id}-0", "role": "user", "content": "Hello"}]
            case ["responses", response_id]:
                return self.responses.get(response_id)
            case ["responses", response_id, "input_items"]:
                return [{"id": f"msg_{response_id}", "type": "message", "role": "user"}]
        return None

    def _runs(self, eval_id: str) -> Sequence[Json]:
        return next(item["runs"] for item in self.evals if item["id"] == eval_id)

    def _page_of(self, things: list[Json], query: Mapping[str, str]) -> Json:
        assert query["order"] == "asc"
        ids = [item["id"] for item in things]
        start = ids.index(query["after"]) + 1 if "after" in query else 0
        data = things[start : start + min(self.page, int(query["limit"]))]
        return {
            "object": "list",
            "data": data,
            "first_id": data[0]["id"] if data else None,
            "last_id": data[-1]["id"] if data else None,
            "has_more": start + len(data) < len(things),
        }


def _without(item: Json, key: str) -> Json:
    return {name: value for name, value in item.items() if name != key}


def _fits(completion: Json, query: Mapping[str, str]) -> bool:
    wanted = {key: value for key, value in query.items() if key.startswith("metadata[")}
    has = {f"metadata[{key}]": value for key, value in completion.get("metadata", {}).items()}
    return wanted.items() <= has.items() and query.get("model") in (None, completion.get("model"))
