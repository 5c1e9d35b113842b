import pytest
from django.db.models import QuerySet
from django.test import Client
from lxml import html

from evals_app.admin.kit.paging import InfinitePaginator
from evals_app.models import Execution
from fixtures_app.models import EntityType
from tests.makers import make_run

pytestmark = pytest.mark.django_db


class FewNewest(InfinitePaginator):
    newest = 5


def walked(rows: QuerySet[Execution], paginator: type[InfinitePaginator]) -> list[list[int]]:
    """Return the keys of each page until one is empty."""
    pages = paginator(rows.order_by("-id"), 2)
    keys: list[list[int]] = []
    while not keys or keys[-1]:
        keys.append([row.pk for row in pages.page(len(keys) + 1)])
    return keys[:-1]


@pytest.mark.parametrize("paginator", [InfinitePaginator, FewNewest])
@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param({}, id="all"),
        pytest.param({"position__gte": 9}, id="only new ones"),
        pytest.param({"position__lte": 3}, id="only old ones"),
        pytest.param({"position__in": [0, 5, 11]}, id="few"),
        pytest.param({"verdict": "failed"}, id="every other one"),
        pytest.param({"run__suite_slug": "other"}, id="none"),
    ],
)
def test_pages_hold_every_row_once_the_newest_first(
    chosen: dict[str, object], paginator: type[InfinitePaginator]
) -> None:
    make_run(["passed", "failed"] * 6)
    rows = Execution.objects.filter(**chosen)

    pages = walked(rows, paginator)

    assert [key for page in pages for key in page] == sorted(
        rows.values_list("pk", flat=True), reverse=True
    )
    assert all(len(page) == 2 for page in pages[:-1])


def pages_linked(client: Client, address: str) -> list[str]:
    page = html.fromstring(client.get(address).content)
    return [str(text) for text in page.xpath("//nav[@aria-label='Pages of the list']/a/text()")]


def test_a_list_links_only_pages_that_it_has(admin_client: Client) -> None:
    address = "/admin/fixtures_app/entitytype/"
    EntityType.objects.bulk_create(EntityType(slug=f"type-{n}", schema={}) for n in range(49))
    assert pages_linked(admin_client, address) == []

    EntityType.objects.bulk_create(EntityType(slug=f"more-{n}", schema={}) for n in range(60))

    assert [pages_linked(admin_client, f"{address}?p={page}") for page in (1, 2, 3)] == [
        ["Next"],
        ["Previous", "Next"],
        ["Previous"],
    ]
