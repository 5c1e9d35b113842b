"""Who did what, over REST."""

from datetime import datetime
from typing import ClassVar

from pydantic import Field

from evals_app.models import Activity
from evals_app.reports.answers.run_answers import Answer
from evals_app.requests.endpoint import ListEndpoint, describe_get
from evals_app.requests.filters import ActivityFilters
from evals_app.requests.pagination import NewestFirst
from evals_app.requests.permissions import Need, Scope
from fixtures_app.ground.strict_json import JsonObject


class ActivityAnswer(Answer):
    """One act: who did what, when and from where."""

    id: int
    at: datetime
    person: str = Field(description="Username at that time, or what was typed to sign in.")
    kind: str = Field(description=", ".join(Activity.Kind.values))
    origin: str = Field(description=f"From where: {', '.join(Activity.Origin.values)}.")
    token: str | None = Field(description="Name of the API token.")
    type: str | None = Field(description="Type of the object, for example run.")
    object: str | None = Field(description="Number of the object.")
    object_name: str | None = Field(description="Name of the object at that time.")
    text: str


@describe_get("activity_list", "List who did what")
class Activities(ListEndpoint):
    """All acts, newest first."""

    needs: ClassVar = {"GET": Need(Scope.READ, "evals_app.view_activity")}
    queryset = Activity.objects.all()
    filterset_class = ActivityFilters
    pagination_class = NewestFirst
    answer = ActivityAnswer

    def row_json(self, row: Activity) -> JsonObject:
        return ActivityAnswer.of_object(
            row,
            person=row.by_name,
            token=row.token or None,
            type=row.object_type or None,
            object=row.object_id or None,
            object_name=row.object_name or None,
        )
