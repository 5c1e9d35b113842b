"""Pages as a browser holds them: what a form on a page would post, and what the page says.

page = open_page(client, url)
page.post(name="New name")        # everything as the page has it, but for the name
page.row("turns", 1, user="Hi")   # fields of a row that the page does not have yet
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.http import HttpResponse
from django.test import Client

Fields = dict[str, list[Any]]


class _Reader(HTMLParser):
    """Collects the fields of one form; templates are not posted."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id = form_id
        self.fields: Fields = {}
        self.text: list[str] = []
        self._in_form = False
        self._templates = 0
        self._disabled = 0
        self._fieldsets: list[bool] = []
        self._area: str | None = None
        self._select: tuple[str, list[str], list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        if tag == "form":
            self._in_form = given.get("id") == self.form_id
        elif tag == "template":
            self._templates += 1
        elif tag == "fieldset":
            self._fieldsets.append("disabled" in given)
        is_posted = self._in_form and not self._templates and not any(self._fieldsets)
        if not is_posted or not given.get("name") or "disabled" in given:
            if tag == "option" and self._select is not None:
                self._option(given)
            return
        if tag == "input":
            kind = given.get("type", "text")
            if kind == "file":
                return  # posts nothing until one is chosen
            if kind not in {"checkbox", "radio"} or "checked" in given:
                default = "on" if kind == "checkbox" else ""
                value = given.get("value", default)
                # Browsers take newlines out of inputs of one line.
                self._add(given["name"], value if kind == "hidden" else value.replace("\n", ""))
        elif tag == "textarea":
            self._area = given["name"]
            self._add(given["name"], "")
        elif tag == "select":
            self._select = (given["name"], [], [])

    def _option(self, given: dict[str, str]) -> None:
        assert self._select is not None
        _, values, chosen = self._select
        values.append(given.get("value", ""))
        if "selected" in given:
            chosen.append(given.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._in_form = False
        elif tag == "template":
            self._templates -= 1
        elif tag == "fieldset":
            self._fieldsets.pop()
        elif tag == "textarea":
            self._area = None
        elif tag == "select" and self._select is not None:
            name, values, chosen = self._select
            for value in chosen or values[:1]:
                self._add(name, value)
            self._select = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            # The newline right after the tag is none.
            self.fields[self._area][-1] += (
                data.removeprefix("\n") if not self.fields[self._area][-1] else data
            )
        elif not self._templates:
            self.text.append(data)

    def _add(self, name: str, value: str) -> None:
        self.fields.setdefault(name, []).append(value)


@dataclass
class PageForm:
    """The form of an editing page."""

    client: Client
    url: str
    response: HttpResponse
    fields: Fields = field(default_factory=dict)
    text: str = ""

    @property
    def html(self) -> str:
        return self.response.content.decode()

    def set(self, **changes: Any) -> "PageForm":
        """Change fields; `__` in a name stands for `-`, None leaves a field out."""
        for key, value in changes.items():
            name = key.replace("__", "-")
            if value is None:
                self.fields.pop(name, None)
            else:
                values = value if isinstance(value, list) else [value]
                self.fields[name] = [e if hasattr(e, "read") else str(e) for e in values]
        return self

    def row(self, prefix: str, **values: Any) -> str:
        """Add a row to a formset, and give its prefix."""
        total = int(self.fields.get(f"{prefix}-TOTAL_FORMS", ["0"])[0])
        row = f"{prefix}-{total}"
        self.fields[f"{prefix}-TOTAL_FORMS"] = [str(total + 1)]
        self.fields.setdefault(f"{prefix}-INITIAL_FORMS", ["0"])
        for key, value in {"position": total, **values}.items():
            given = value if isinstance(value, list) else [value]
            self.fields[f"{row}-{key.replace('__', '-')}"] = [str(each) for each in given]
        return row

    def turn(self, **values: Any) -> str:
        """Add a turn without checks to a case."""
        row = self.row("turns", **{"user": "Hello", "checks": "own", **values})
        self.fields[f"{row}-assertions-TOTAL_FORMS"] = ["0"]
        self.fields[f"{row}-assertions-INITIAL_FORMS"] = ["0"]
        return row

    def check(self, prefix: str, kind: str, **values: Any) -> str:
        """Add a check to the rows with a prefix."""
        return self.row(prefix, type=kind, enabled="on", **values)

    def post(self, **changes: Any) -> "PageForm":
        """Send the form, and give the page that comes back."""
        self.set(**changes)
        response = self.client.post(self.url, self.fields)
        return _read(self.client, self.url, response)

    @property
    def is_saved(self) -> bool:
        return self.response.status_code == 302

    @property
    def problems(self) -> list[str]:
        """The problems that the top of the page lists."""
        reader = _Problems()
        reader.feed(self.html)
        return reader.found


class _Problems(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a" and "data-problem" in dict(attrs):
            self._is_inside = True
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = self._is_inside and tag != "a"

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.found[-1] += data


def open_page(client: Client, url: str) -> PageForm:
    response = client.get(url)
    assert response.status_code == 200, f"{url}: {response.status_code}"
    return _read(client, url, response)


def _read(client: Client, url: str, response: Any) -> PageForm:
    if response.status_code != 200:
        return PageForm(client, url, response)
    html = response.content.decode()
    model = url.strip("/").split("/")[2]
    reader = _Reader(f"{model}_form")
    reader.feed(html)
    return PageForm(client, url, response, reader.fields, " ".join("".join(reader.text).split()))


def posted_by(inputs: str) -> Fields:
    """Give what a form with these inputs would post."""
    reader = _Reader("form")
    reader.feed(f'<form id="form">{inputs}</form>')
    return reader.fields
