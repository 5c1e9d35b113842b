"""Pages as a browser holds them: what a form on a page would post, and what the page says.

page = open_page(client, url)
page.post(name="New name")        # everything as the page has it, but for the name
page.row("turns", 1, user="Hi")   # fields of a row that the page does not have yet
"""

from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.test import Client
from lxml import html

Fields = dict[str, list[Any]]


@dataclass
class PageForm:
    """The form of an editing page."""

    client: Client
    url: str
    response: HttpResponse
    fields: Fields = field(default_factory=dict)
    text: str = ""
    opens_rows: bool = True

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
        """Add a row to a formset, and return its prefix."""
        total = int(self.fields.get(f"{prefix}-TOTAL_FORMS", ["0"])[0])
        row = f"{prefix}-{total}"
        self.fields[f"{prefix}-TOTAL_FORMS"] = [str(total + 1)]
        self.fields.setdefault(f"{prefix}-INITIAL_FORMS", ["0"])
        for key, value in {"position": total, **values}.items():
            given = value if isinstance(value, list) else [value]
            self.fields[f"{row}-{key.replace('__', '-')}"] = [str(value) for value in given]
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
        """Send the form, and return the page that comes back."""
        self.set(**changes)
        response = self.client.post(self.url, self.fields)
        return _read(self.client, self.url, response, opens_rows=self.opens_rows)

    @property
    def is_saved(self) -> bool:
        return self.response.status_code == 302

    @property
    def problems(self) -> list[str]:
        """The problems that the top of the page lists."""
        links = _parsed(self.html).xpath("//a[@data-problem]") if self.html else []
        return [" ".join(link.text_content().split()) for link in links]


def open_page(client: Client, url: str, *, opens_rows: bool = True) -> PageForm:
    """Open a page, and the rows whose inputs it loads only then."""
    response = client.get(url)
    assert response.status_code == 200, f"{url}: {response.status_code}"
    return _read(client, url, response, opens_rows=opens_rows)


def _read(client: Client, url: str, response: Any, *, opens_rows: bool) -> PageForm:
    if response.status_code != 200:
        return PageForm(client, url, response, opens_rows=opens_rows)
    page = _parsed(response.content.decode())
    model = url.strip("/").split("/")[2]
    fields: Fields = {}
    for form in page.xpath(f"//form[@id='{model}_form']"):
        if opens_rows:
            _load_what_is_closed(client, form)
        fields = _fields(form)
    for area in page.iter("textarea"):
        area.text = ""
    text = " ".join(page.text_content().split())
    return PageForm(client, url, response, fields, text, opens_rows)


def _load_what_is_closed(client: Client, form: Any) -> None:
    """Load what a browser loads when someone opens it."""
    for later in form.xpath(".//*[@data-later]"):
        part = html.fragment_fromstring(
            client.get(later.get("data-later")).content.decode(), create_parent="div"
        )
        for template in part.xpath(".//template"):
            template.drop_tree()
        later.getparent().replace(later, part)


def posted_by(inputs: str) -> Fields:
    """Return what a form with these inputs would post."""
    return _fields(_parsed(f"<div><form>{inputs}</form></div>").find(".//form"))


def _parsed(text: str) -> Any:
    page = html.fromstring(text)
    for template in page.xpath("//template"):
        template.drop_tree()  # nothing in it is posted or seen
    return page


def _fields(form: Any) -> Fields:
    """Return what a browser would post."""
    for box in form.xpath(".//fieldset[@disabled]//*[@name]"):
        box.set("disabled", "")
    for area in form.iter("textarea"):
        area.text = (area.text or "").removeprefix("\n")
    for box in form.xpath(".//input[not(@type='checkbox' or @type='radio')]"):
        value = box.get("value", "")
        # Browsers take newlines out of inputs of one line.
        box.set("value", value if box.type == "hidden" else value.replace("\n", ""))
    fields: Fields = {}
    for name, value in form.form_values():
        fields.setdefault(name, []).append(value)
    return fields


def shown_text(response: Any) -> str:
    """Return the text of a page or of a part of one, with single spaces."""
    tree = html.fromstring(f"<div>{response.content.decode()}</div>")
    return " ".join(" ".join(tree.itertext()).split())
