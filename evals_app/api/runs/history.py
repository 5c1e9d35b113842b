"""The history of a case, read over REST."""

from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.runs.run_views import VIEW
from evals_app.library.importing.rights import Rights
from evals_app.models import CaseResult, Suite
from evals_app.reports.answers.history_answers import CaseInHistory
from evals_app.requests.endpoint import ListEndpoint, describe_get, only_keys, wanted_fields
from evals_app.requests.filters import HistoryFilters
from evals_app.requests.pagination import NewestRunFirst
from evals_app.requests.problems import MissingError
from evals_app.runs.reading.case_history import OfSuite, entries_of, entry_json


@describe_get("suites_case_history", "Read the history of a case", 404)
class CaseHistory(ListEndpoint):
    """The results of a case, the newest run first, each with what was changed since the one before."""

    needs: ClassVar = {"GET": VIEW}
    queryset = CaseResult.objects.none()  # for the schema
    answer = CaseInHistory
    filterset_class = HistoryFilters
    pagination_class = NewestRunFirst
    orderings: ClassVar = {}  # each is compared with the run before it

    row_json = staticmethod(entry_json)

    def get(self, request: Request, **kwargs: object) -> Response:
        suite = OfSuite.find(str(kwargs["slug"]))
        if suite is None:
            raise MissingError(Suite, kwargs["slug"])
        results = self.filter_queryset(suite.results())
        wanted = wanted_fields(request, self.answer.KEYS)
        page = list(self.paginate_queryset(results) or ())
        # The last of a page is compared with the first of the next.
        following = results.filter(run__lt=page[-1].run_id)[:1] if page else ()
        entries = entries_of(suite, [*page, *following])[: len(page)]
        if not Rights.of(request.user).may_see_everything():
            entries = [entry.without_values() for entry in entries]
        rows = [only_keys(self.row_json(entry), wanted) for entry in entries]
        return self.answer_with(results, rows)
