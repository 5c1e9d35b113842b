"""The first sheet of a workbook, for the grids of test data; nothing is stored."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse

from evals_app.formats.reading.parsed_file import MAX_BYTES
from evals_app.formats.reading.problems import FormatError
from evals_app.formats.tables.table import NO_NAME, Table, cell_name
from evals_app.requests.throttles import Uploads, in_minutes

_WRITING = ("fixtures_app.add_fixture", "fixtures_app.change_fixture")
_MAX_SHOWN = 5  # values of cells with an error


def read_first_sheet(request: HttpRequest) -> JsonResponse:
    """Return the rows of the first visible sheet of `file`, or what is wrong with it."""
    from evals_app.formats.tables.workbook import read_xlsx  # noqa: PLC0415 - loads openpyxl

    if not any(map(request.user.has_perm, _WRITING)):
        raise PermissionDenied
    rate = Uploads()
    if not rate.allow_request(request, None):
        again = in_minutes(rate.wait() or 1)
        problem = f"You have uploaded more within an hour than this site allows. Try again {again}."
        headers = {"Retry-After": rate.retry_after}
        return JsonResponse({"problem": problem}, status=429, headers=headers)
    file = request.FILES.get("file")
    if file is None:
        return JsonResponse({"problem": "Choose a file."}, status=400)
    try:
        table = read_xlsx(file.name or "", file.read(MAX_BYTES + 1))
    except FormatError as error:
        return JsonResponse({"problem": error.problems[0].message})
    return _first(table)


def _first(table: Table) -> JsonResponse:
    name, rows = next(iter(table.data.items()), (NO_NAME, []))
    faults = [
        f"{cell_name((NO_NAME, *place))}: {message}"
        for (sheet, *place), message in table.faults.items()
        if sheet == name
    ]
    if faults:
        return JsonResponse({"problem": " ".join(faults[:_MAX_SHOWN])})
    return JsonResponse({"rows": [row for row in rows if any(map(str.strip, row))]})
