import pytest
from django.db.models import QuerySet

from evals_app.admin.paging import InfinitePaginator
from evals_app.models import Execution
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
