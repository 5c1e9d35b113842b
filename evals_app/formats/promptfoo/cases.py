"""Tests: what several have in common joined, variables loaded, combinations spelt out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

from evals_app.engine.specs.files import is_shown_as_it_is, media_type
from evals_app.formats.promptfoo.redteam import CRITERIA, PREFIX, is_attacker
from evals_app.formats.promptfoo.rows import as_test
from evals_app.formats.promptfoo.shapes import Scenario, Test
from evals_app.formats.promptfoo.source import ProjectSpot, is_data, is_file
from evals_app.formats.promptfoo.templates import NunjucksTemplate, compose_variables, text_of

_MAX_COMBINATIONS = 1_000
_NAME_CHARS = 120
_TAG_CHARS = 200
_OTHER_AGENT = "A suite tests one agent. Put this test into its own suite."
_ATTACKER = (
    "A model would vary this attack while it talks to the agent, which does not happen here. The "
    "agent receives the attack as it is written."
)


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place says of a test: all tests, a row of a scenario, or the test itself."""

    spot: ProjectSpot
    says: Test


@dataclass(frozen=True, slots=True)
class ExpandedTest:
    """One test with one set of variables."""

    layers: Sequence[Layer]
    name: str
    values: Mapping[str, Any]
    files: Sequence[str]

    @property
    def spot(self) -> ProjectSpot:
        return self.layers[-1].spot

    @property
    def assertions(self) -> list[ProjectSpot]:
        """Return the places of its assertions, those of all tests first."""
        *shared, own = self.layers
        default = shared[:1] if not own.says.options.disable_default_asserts else []
        # A test's own assertions take the place of those of its scenario.
        nearest = next((item for item in (own, *shared[1:]) if item.says.assertions), own)
        return [
            layer.spot.at("assert", n)
            for layer in (*default, nearest)
            for n in range(len(layer.says.assertions))
        ]

    @property
    def threshold(self) -> float | None:
        return self._last("threshold")  # type: ignore[no-any-return]

    @property
    def tags(self) -> list[str]:
        """Return its metadata as tags, in the words of promptfoo's filter: category=math."""
        return [
            tag for key, value in self._description() for tag in _tags(key, value) if _fits(tag)
        ]

    def tell_untagged(self) -> None:
        """Report metadata that does not become a tag, where it is written."""
        for key, value in self._description():
            tags = _tags(key, value)
            spot = next(
                layer.spot.at("metadata", key)
                for layer in reversed(self.layers)
                if key in layer.says.metadata
            )
            if value and not tags:
                spot.lose("Only texts and numbers become tags. This metadata is left out.")
            elif not all(map(_fits, tags)):
                spot.lose(f"A tag has up to {_TAG_CHARS} characters. This metadata is left out.")

    def _description(self) -> Iterator[tuple[str, object]]:
        """Return the metadata that only describes the test."""
        used = {"conversationId", *(CRITERIA if self._is_attack else ())}
        yield from ((key, value) for key, value in self.metadata.items() if key not in used)

    @property
    def _is_attack(self) -> bool:
        rows = (spot.value for spot in self.assertions)
        types = (row.get("type") for row in rows if isinstance(row, dict))
        return any(isinstance(name, str) and PREFIX in name for name in types)

    @property
    def conversation(self) -> object:
        """Name the conversation that it belongs to where a prompt repeats what was said before."""
        named = self.metadata.get("conversationId")
        if any(layer.says.options.disable_conversation_var for layer in self.layers):
            return self.spot.document.path, self.spot.loc, self.name
        return self.spot.loc[:2] if named is None and self.spot.loc[:1] == ("scenarios",) else named

    @property
    def metadata(self) -> dict[str, object]:
        """Return what is said about it, in all places together."""
        merged: dict[str, object] = {}
        for layer in self.layers:
            merged |= layer.says.metadata
        return merged

    def option(self, key: str) -> ProjectSpot | None:
        """Return the place of an option, nearest to the test."""
        spots = (layer.spot.at("options", key) for layer in reversed(self.layers))
        return next((spot for spot in spots if spot.value is not None), None)

    def transforms(self) -> list[ProjectSpot]:
        """Return the place of the code that changes each reply; `postprocess` is its old name."""
        spots = (self.option("transform"), self.option("postprocess"))
        return [spot for spot in spots if spot is not None][:1]

    def text_option(self, key: str) -> str:
        """Return a text that goes before or after what is said."""
        spot = self.option(key)
        if spot is None:
            return ""
        template = NunjucksTemplate(text_of(spot.value))
        _tell_kept(spot, template)
        return template.message(self.values)

    def names_of(self, key: str) -> Sequence[str] | None:
        """Return the names of the prompts or providers that it is for; None: of all."""
        return self._last(key)  # type: ignore[no-any-return]

    def _last(self, key: str) -> Any:
        values = (getattr(layer.says, key) for layer in reversed(self.layers))
        return next((value for value in values if value is not None), None)


def _tags(key: str, value: object) -> list[str]:
    """Write the texts and numbers of a value of metadata as tags."""
    items = value if isinstance(value, list) else [value]
    return [f"{key}={text_of(item)}" for item in items if isinstance(item, str | int | float)]


def _fits(tag: str) -> bool:
    return len(tag) <= _TAG_CHARS


def is_meant(wanted: Sequence[str] | None, labels: Sequence[str]) -> bool:
    """Whether a filter (None: all) means one of these labels: exactly, as a group, with a star."""
    return wanted is None or any(
        label in (name, name.removesuffix(":*")) or label.startswith(f"{name.removesuffix(':*')}:")
        for name in wanted
        for label in labels
    )


def tests_of(config: ProjectSpot) -> ProjectSpot:
    """Return the place of the tests: a file may be a list of them."""
    return config if isinstance(config.value, list) else config.at("tests")


def read_cases(config: ProjectSpot) -> list[ExpandedTest]:
    """Read all tests of a configuration, in its order; those that are invalid are reported."""
    spot = config.at("defaultTest")
    default = list(_layers(spot)) or [Layer(spot, Test())]
    tests = [[*default, layer] for layer in _layers(tests_of(config))]
    for spot in _entries(config.at("scenarios")):
        scenario = spot.part(Scenario)
        rows = list(_layers(spot.at("config"))) if scenario else []
        own: list[Layer | None] = [*_layers(spot.at("tests"))] if scenario else []
        tests += [
            [*default, row, *([test] if test else [])] for row in rows for test in own or [None]
        ]
    return [case for layers in tests for case in _cases(layers)]


def _layers(spot: ProjectSpot) -> Iterator[Layer]:
    for entry in _entries(spot):
        says = entry.part(Test)
        if says is None:
            continue
        if says.provider is not None:
            entry.at("provider").lose(_ATTACKER if is_attacker(says.provider) else _OTHER_AGENT)
        yield Layer(entry, says)


def _entries(spot: ProjectSpot) -> Iterator[ProjectSpot]:
    """Return the entries of a list, with those of the files that it names."""
    for entry in spot.entries():
        written = entry.value
        if isinstance(written, str):
            for file in entry.load(written, checks=1):
                yield from _of_file(file)
        elif isinstance(written, dict) and "path" in written and "vars" not in written:
            entry.lose(
                "A program generates these tests, and programs do not run on import. Save the "
                "tests to a file.",
                checks=1,
            )
        else:
            yield entry


def _of_file(file: ProjectSpot) -> Iterator[ProjectSpot]:
    if file.document.path.endswith(".csv"):
        tests = [as_test(row) for row in file.value]
        reading = replace(file.reading, document=replace(file.document, data=tests))
        yield from replace(file, reading=reading).entries()
    else:
        yield from _entries(file)


# Variables.


@dataclass(slots=True)
class _Variables:
    """Variables as they are loaded; `files` are what is shown to the agent instead of said."""

    values: dict[str, Any] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    def load(self, spot: ProjectSpot) -> None:
        written = spot.value
        if isinstance(written, str) and (is_file(written) or is_data(written)):
            for file in spot.load(written):
                self.load(file)
        elif isinstance(written, dict):
            self.values |= {str(key): self._value(spot.at(key)) for key in written}
        elif written is not None:
            spot.say(
                "Expected variables: keys with values, or file:// and the path of a file with them."
            )

    def _value(self, spot: ProjectSpot) -> Any:
        value = spot.value
        if isinstance(value, list):
            return [self._value(spot.at(n)) for n in range(len(value))]
        if not is_file(value):
            return value
        contents = [self._content(spot, path) for path in spot.files(value)]
        return contents[0] if len(contents) == 1 and "*" not in value else contents or ""

    def _content(self, spot: ProjectSpot, path: str) -> object:
        if _is_picture(path):
            self.files.append(path)
            return ""
        if is_data(path):
            document = spot.project.document(spot, path)
            return document.data if document else ""
        return (spot.project.text(spot, path) or "").strip()


def _is_picture(path: str) -> bool:
    try:
        return is_shown_as_it_is(media_type(path))
    except ValueError:
        return False


def _cases(layers: Sequence[Layer]) -> Iterator[ExpandedTest]:
    """Return a case for each combination of variables that have several values."""
    loaded = _Variables()
    for layer in layers:
        loaded.load(layer.spot.at("vars"))
    case = ExpandedTest(layers, "", {}, list(dict.fromkeys(loaded.files)))
    several = {
        name: value
        for name, value in loaded.values.items()
        if isinstance(value, list) and value and isinstance(value[0], str)
    }
    if any(layer.says.options.disable_var_expansion for layer in layers):
        several = {}
    if prod(map(len, several.values())) > _MAX_COMBINATIONS:
        case.spot.say(f"These variables have more than {_MAX_COMBINATIONS:,} combinations.")
        return
    for name, value in loaded.values.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and "{{" in text:
                _tell_kept(_spot_of(name, layers), NunjucksTemplate(text))
    for combination in product(*several.values()):
        chosen = dict(zip(several, combination, strict=True))
        values = compose_variables({**loaded.values, **chosen})
        yield replace(case, values=values, name=_name(layers[-1].says.description, values, chosen))


def _spot_of(name: str, layers: Sequence[Layer]) -> ProjectSpot:
    """Return where a variable is written: nearest to the test, or the test if it is in a file."""
    spots = (layer.spot.at("vars", name) for layer in reversed(layers))
    return next((spot for spot in spots if spot.value is not None), layers[-1].spot)


def _tell_kept(spot: ProjectSpot, template: NunjucksTemplate) -> None:
    """Report what of a text cannot be filled in."""
    if template.problem:
        spot.lose(f"{template.problem}. It stays as it is.")


def _name(
    description: str | None, values: Mapping[str, object], chosen: Mapping[str, object]
) -> str:
    """Name a case by its description, or by its variables."""
    listing = ", ".join(
        f"{key}: {text_of(value)}" for key, value in (chosen or values).items() if value
    )
    if description:
        described = NunjucksTemplate(description)
        name = description if described.problem else described.literal(values)
        name = f"{name} ({listing})" if chosen else name
    else:
        name = listing
    name = " ".join(name.split())
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS].rstrip()} ..."
