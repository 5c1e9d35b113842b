"""What a file of another system cannot say, written beside it: agent.evalwell.yaml beside agent.yaml."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Unpack

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from evals_app.engine.specs.base_spec import Spec
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from evals_app.formats.foreign.attached import AttachedFiles
from evals_app.formats.foreign.draft import (
    SIDECAR,
    Draft,
    cut_texts,
    make_draft,
    rows,
    sidecar_of,
    validate_part,
    written_assertions,
)
from evals_app.formats.foreign.kept import unsaid
from evals_app.formats.foreign.shapes import SourcePlaces
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import (
    FormatError,
    Loc,
    NoAgent,
    Problem,
    ProblemDetails,
    shorten,
    value_at,
)
from evals_app.formats.reading.yaml_source import read_yaml
from fixtures_app.ground.words import suggestion


def is_sidecar(path: str) -> bool:
    """Whether a file adds to another one, by its name."""
    return path.endswith(SIDECAR)


def sidecars_among(paths: Iterable[str], chosen: Iterable[str]) -> list[str]:
    """Return the sidecars of the chosen files of a folder, and those that are beside no file."""
    others, wanted = list(paths), set(map(sidecar_of, chosen))
    unwanted = set(map(sidecar_of, others)) - wanted
    return [path for path in others if is_sidecar(path) and path not in unwanted]


class _Match(BaseModel):
    """The checks that are meant: of a type, and with these values."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str = Field(description="The type of the check, as the suite here has it.")


def _keeps_type(options: dict[str, object]) -> dict[str, Any]:
    if "type" in options:
        raise ValueError("The type of a check stays what it is. Write only its options here.")
    return options


class _Checks(Spec):
    """Options of all checks that match."""

    match: _Match = Field(description="Which checks: their type, and any of their options.")
    set: Annotated[dict[str, Any], AfterValidator(_keeps_type)] = Field(
        description="The options that they get."
    )


def _all_but(spec: type[BaseModel], *names: str) -> dict[str, Any]:
    return {name: (Any, None) for name in spec.model_fields if name not in names}


_Case = create_model("_Case", __base__=Spec, **_all_but(CaseSpec, "name", "turns"))
_Suite = create_model(
    "_Suite",
    __base__=Spec,
    cases=(dict[str, _Case], {}),
    checks=(list[_Checks], []),
    **_all_but(SuiteSpec, "cases"),
)
Sidecar = create_model("Sidecar", __base__=_Suite, suites=(dict[str, _Suite], {}))


@dataclass(slots=True)
class _Overridden:
    """A suite, its data in our words with what a sidecar says, and where each part of that is written."""

    draft: Draft
    data: Any
    written: dict[Loc, Loc] = field(default_factory=dict)

    @classmethod
    def of(cls, draft: Draft) -> "_Overridden":
        spec = draft.spec
        whole = (
            deepcopy(draft.data) if spec is None else spec.model_dump(mode="json", by_alias=True)
        )
        return cls(draft, whole)

    def put(self, ours: Loc, value: object, written: Loc) -> None:
        part: Any = value_at(self.data, ours[:-1])
        part[ours[-1]] = value
        self.written[ours] = written

    def result(self, document: ParsedFile) -> Draft:
        """Return the draft of what it is now; one that has errors already stays as it is."""
        draft, before = self.draft, _Overridden.of(self.draft)
        names_agent = ("agent",) in self.written
        if not self.written or (draft.spec is None and not names_agent):
            return draft

        def place(loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> Problem:
            for length in range(len(loc), 0, -1):
                if written := self.written.get(loc[:length]):
                    return SourcePlaces(document, written)(loc[length:], message, **about)
            return draft.place(loc, message, **about)

        kind, dialect, file = draft.kind, draft.dialect, draft.document
        known = make_draft(kind, dialect, file, before.data, place=draft.place).problems
        after = make_draft(kind, dialect, file, self.data, place=place)
        problems = [
            problem
            for problem in draft.problems
            if problem not in known and not (names_agent and isinstance(problem, NoAgent))
        ]
        is_read = all(problem.level != "error" for problem in problems)
        return replace(
            after,
            spec=after.spec if is_read else None,
            problems=(*problems, *after.problems),
            unsaid=frozenset(key for key in unsaid(draft) if (key,) not in self.written),
        )


def with_sidecars(
    drafts: Sequence[Draft], given: Sequence[str], unread: Collection[str], attached: AttachedFiles
) -> tuple[list[Draft], list[Problem]]:
    """Return drafts with what is written beside their files, and what is wrong with that.

    `given` are the paths of all files of the import, `unread` those that cannot be read.
    """
    beside: dict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        if draft.kind == "suite" and draft.slug and draft.dialect != "native":
            beside[sidecar_of(draft.document.path)].append(draft)
    problems: list[Problem] = []
    results: dict[int, Draft] = {}
    for path, suites in beside.items():
        content = attached.given.get(path) or attached.find(path)
        if content is None:
            continue
        try:
            document = read_yaml(path, content)
        except FormatError as error:
            problems += error.problems
            continue
        sidecar, wrong = validate_part(Sidecar, document.data, document)
        problems += [*wrong, *cut_texts(document)]
        if sidecar is not None:
            overridden = list(map(_Overridden.of, suites))
            problems += _apply(document, overridden)
            results |= {id(suite.draft): suite.result(document) for suite in overridden}
    problems += _beside_nothing(given, {*beside, *map(sidecar_of, unread)})
    return [results.get(id(draft), draft) for draft in drafts], problems


def _beside_nothing(given: Sequence[str], beside: Collection[str]) -> Iterator[Problem]:
    """Report sidecars that are beside none of the files that they may add to."""
    for path in filter(is_sidecar, given):
        if path in beside:
            continue
        files = [other for other in given if other != path and sidecar_of(other) == path]
        message = (
            f"No suite of another system is read from {files[0]}, so nothing is added. Write this "
            "into the file itself if it is Evalwell's own."
            if files
            else f"There is no file {path.removesuffix(SIDECAR)}.* in this import, to which this adds. "
            "Import both together."
        )
        yield Problem(path, 0, 0, "", "", message)


def _apply(document: ParsedFile, suites: Sequence[_Overridden]) -> Iterator[Problem]:
    yield from _apply_part(document, (), suites)
    slugs = {str(suite.draft.slug): suite for suite in suites}
    for slug in document.data.get("suites", ()):
        here = ("suites", slug)
        if slug in slugs:
            yield from _apply_part(document, here, [slugs[slug]])
        else:
            yield document.problem(here, _no("suite", slug, slugs), at_key=True)


def _apply_part(
    document: ParsedFile, here: Loc, suites: Sequence[_Overridden]
) -> Iterator[Problem]:
    """Apply what is said of some suites; each case and each check must be in one of them."""
    part: Any = value_at(document.data, here)
    for key in part.keys() - {"cases", "checks", "suites"}:
        for suite in suites:
            suite.put((key,), part[key], (*here, key))
    for name, keys in part.get("cases", {}).items():
        written = (*here, "cases", name)
        cases = [
            (suite, case, loc) for suite in suites for case, loc in rows(suite.data, "cases", ())
        ]
        meant = [(suite, loc) for suite, case, loc in cases if case.get("name") == name]
        if not meant:
            names = (str(case.get("name")) for _, case, _ in cases)
            yield document.problem(written, _no("case", name, names), at_key=True)
        for suite, loc in meant:
            for key, value in keys.items():
                suite.put((*loc, key), value, (*written, key))
    for n, override in enumerate(part.get("checks", ())):
        yield from _set_options(document, (*here, "checks", n), override, suites)


def _set_options(
    document: ParsedFile, here: Loc, override: Mapping[str, Any], suites: Sequence[_Overridden]
) -> Iterator[Problem]:
    checks = [
        (suite, check, loc) for suite in suites for check, loc in written_assertions(suite.data)
    ]
    for key, wanted in sorted(override["match"].items(), key=lambda item: item[0] != "type"):
        values = [check.get(key) for _, check, _ in checks]
        checks = [item for item in checks if item[1].get(key) == wanted]
        if not checks:
            seen = list(dict.fromkeys(shorten(str(value)) for value in values if value is not None))
            message = f"No check matches this.{suggestion(str(wanted), seen)}"
            yield document.problem((*here, "match", key), message)
            return
    for suite, _, loc in checks:
        for key, value in override["set"].items():
            suite.put((*loc, key), value, (*here, "set", key))


def _no(noun: str, name: str, known: Iterable[str]) -> str:
    return f"The file beside this one has no {noun} {name!r}.{suggestion(name, known)}"
