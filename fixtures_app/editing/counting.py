"""How many other rows belong to each row of a list."""

from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce


def count_of(rows: QuerySet[Any], key: str) -> Coalesce:
    """Count the rows whose `key` is the row of the list.

    The database counts for the page that is shown. With a join it would count, and sort, all rows of
    the list first.
    """
    own = rows.filter(**{key: OuterRef("pk")}).order_by()
    return Coalesce(Subquery(own.values(key).annotate(count=Count("pk")).values("count")), 0)
