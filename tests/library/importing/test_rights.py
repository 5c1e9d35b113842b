import pytest
from django.core.exceptions import PermissionDenied

from evals_app.formats.importing import SourceFile
from evals_app.formats.reading.problems import FormatError
from evals_app.library.importing.file_import import import_files
from evals_app.library.importing.rights import Rights
from evals_app.models import Provider, Suite
from tests.library.written import AGENT, EVERYTHING, FIXTURE, PROVIDER, SUITE, written

pytestmark = pytest.mark.django_db

NOT_YAML = SourceFile("broken.suite.yaml", b"\t")
ADDS_SUITES = ("evals_app.add_suite", "evals_app.view_suite")


def who_may(*permissions: str) -> Rights:
    return Rights(permissions.__contains__, "ada")


@pytest.mark.parametrize("permissions", [(), ("evals_app.view_suite", "fixtures_app.view_fixture")])
def test_who_may_write_nothing_is_refused_before_anything_is_read(
    permissions: tuple[str, ...],
) -> None:
    with pytest.raises(PermissionDenied):
        import_files([NOT_YAML], rights=who_may(*permissions), dry_run=True)


@pytest.mark.parametrize(
    ("missing", "prepared"),
    [
        ("evals_app.add_suite", []),
        ("evals_app.change_suite", [SUITE]),
        ("fixtures_app.add_entitytype", []),
        ("evals_app.add_agent", []),
    ],
)
def test_an_import_takes_the_rights_of_what_it_changes(
    missing: str, prepared: list[SourceFile]
) -> None:
    files = EVERYTHING
    if prepared:
        import_files(EVERYTHING)
        changed = SourceFile(SUITE.path, SUITE.content.replace(b"trials: 2", b"trials: 4"))
        files = [*EVERYTHING[:-1], changed]
    kinds = ["evals_app.{}_suite", "evals_app.{}_agent"]
    kinds += ["fixtures_app.{}_fixture", "fixtures_app.{}_entitytype"]
    every = {kind.format(verb) for kind in kinds for verb in ("add", "change", "view")}

    with pytest.raises(PermissionDenied, match=missing):
        import_files(files, rights=who_may(*every - {missing}))
    import_files(files, rights=who_may(*every))  # no right to write providers is asked for


def test_an_import_takes_no_right_for_what_stays_as_it_is_but_to_see_it() -> None:
    import_files([AGENT])
    suite = written("new.suite.yaml", "suite: New\nslug: new\nagent: shop\ncases: []\n")

    with pytest.raises(PermissionDenied, match="agent"):
        import_files([AGENT, suite], rights=who_may(*ADDS_SUITES))
    import_files([AGENT, suite], rights=who_may(*ADDS_SUITES, "evals_app.view_agent"))

    assert Suite.objects.get().slug == "new"


def test_nothing_is_compared_of_a_kind_of_which_somebody_may_do_nothing() -> None:
    import_files([PROVIDER])

    for slug in ("proxy", "other"):
        file = SourceFile(
            PROVIDER.path, PROVIDER.content.replace(b"slug: proxy", b"slug: " + slug.encode())
        )
        with pytest.raises(PermissionDenied, match="add_provider"):
            import_files([file], rights=who_may(*ADDS_SUITES), dry_run=True)

    assert not Provider.objects.filter(slug="other").exists()


STRICT_TYPE = written(
    "types.fixture.yaml",
    """
    name: Types
    slug: types
    entities: []
    entity_types: [{slug: order, schema: {properties: {total: {type: string}}}}]
    """,
)
WRITES_TYPES = (
    "fixtures_app.add_entitytype",
    "fixtures_app.change_entitytype",
    "fixtures_app.add_fixture",
)


def test_stored_data_is_in_no_message_to_who_may_not_see_it() -> None:
    import_files([FIXTURE])

    with pytest.raises(FormatError) as blind:
        import_files([STRICT_TYPE], rights=who_may(*WRITES_TYPES), dry_run=True)
    with pytest.raises(FormatError) as seeing:
        import_files(
            [STRICT_TYPE], rights=who_may(*WRITES_TYPES, "fixtures_app.view_fixture"), dry_run=True
        )

    assert "12.5" in str(seeing.value)
    assert not any(word in str(blind.value) for word in ("12.5", "order-1", "orders"))


SUITE_OF = "suite: A\nslug: a\ncases: []\nagent: "
FIXTURE_OF = "name: A\nslug: a\nchunks: []\nentities: [{ref: r, data: {}, type: "


@pytest.mark.parametrize(
    ("path", "text", "secret"),
    [
        pytest.param("a.suite.yaml", f"{SUITE_OF}shup", "shop", id="agent"),
        pytest.param("a.suite.yaml", f"{SUITE_OF}x\nfixtures: ordres", "orders", id="fixture"),
        ("a.suite.yaml", f"{SUITE_OF}x\njudge_model: scripted/shup", "shop"),
        pytest.param("a.suite.yaml", f"{SUITE_OF}x\njudge_model: proxi/m", "proxy", id="provider"),
        pytest.param("a.fixture.yaml", f"{FIXTURE_OF}ordr}}]", "'order'", id="entity type"),
        pytest.param("a.fixture.yaml", f"{FIXTURE_OF}order}}]", "total", id="schema"),
    ],
)
def test_no_message_suggests_what_somebody_may_not_see(path: str, text: str, secret: str) -> None:
    import_files([*EVERYTHING, PROVIDER])
    files = [SourceFile(path, text.encode())]

    with pytest.raises(FormatError) as seeing:
        import_files(files, dry_run=True)
    with pytest.raises(FormatError) as blind:
        import_files(files, rights=who_may(*ADDS_SUITES, "fixtures_app.add_fixture"), dry_run=True)

    assert secret in str(seeing.value)
    assert secret not in str(blind.value)
