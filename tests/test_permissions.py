"""Who may do what: every address, method and action, and what is asked of whoever comes there.

The tables list what is allowed; everything else must be refused. A new address, method or action
fails until it is in a table.

What an address asks is written in words: permissions by their codename, all of which are needed, of
`this|that` one. Each is tried with exactly these, with all but one of them, and with the usual sets.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.backends.django import Template
from django.test import Client
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator

from evals_app.models import ApiToken
from evals_app.models.people.roles import ROLES, Role
from tests.addresses import Samples, routes, samples_for

pytestmark = pytest.mark.django_db

ANYBODY, NOBODY, STAFF, SUPERUSER = "anybody", "nobody", "", "a superuser"

# The rule for all that is done with runs.
RUNNING = "view_run add_run"
DECIDING = "view_run decide_release"
TOPICS = "view_run view_agent"
FORGETTING = "view_execution delete_execution"
REVIEWING = "view_execution review_execution"
# What files may hold. Whoever may write some of it may import; what the files change decides about
# the rest: see tests/library/importing/test_rights.py.
IMPORTED = ("suite", "agent", "provider", "fixture", "entitytype")
IMPORTING = "|".join(f"{action}_{kind}" for kind in IMPORTED for action in ("add", "change"))
LOADING_EXAMPLES = " ".join(f"add_{kind}" for kind in IMPORTED)
# People see everything that they remove.
REMOVING_EXAMPLES = " ".join(
    [
        *(f"view_{kind}|change_{kind}" for kind in IMPORTED if kind != "provider"),
        *(f"delete_{kind}" for kind in ("suite", "case", "agent", "fixture", "entitytype")),
    ]
)
EXPORTING = "view_suite view_agent view_fixture view_entitytype"
OUR_MODELS = {
    "fixtures_app": ("fixture", "entitytype"),
    "evals_app": (
        *("suite", "case", "agent", "provider", "evaluationsteps"),
        *(
            "run",
            "execution",
            "apitoken",
            "monthlyceiling",
            "schedule",
            "webhook",
            "maskingpattern",
            "conversationset",
        ),
    ),
    "auth": ("user", "group"),
}

Need = str | Mapping[str, str]


def pages(app: str, model: str, **changes: Need) -> dict[str, Need]:
    """Return what Django's pages of a model ask, apart from `changes`."""
    sees = f"view_{model}|change_{model}"
    usual: dict[str, Need] = {
        "list": sees,
        "add": f"add_{model}",
        "history": sees,
        "delete": f"delete_{model}",
        "change": {"GET": sees, "POST": f"change_{model}"},
    }
    asked, base = usual | changes, f"admin/{app}/{model}/"
    one = f"{base}<path:object_id>/"
    return {
        base: asked["list"],
        f"{base}add/": asked["add"],
        one: STAFF,  # leads to the page itself
        **{f"{one}{name}/": asked[name] for name in ("history", "delete", "change")},
    }


def read_only(model: str) -> dict[str, Need]:
    sees = {"GET": f"view_{model}|change_{model}", "POST": NOBODY}
    return pages("evals_app", model, add=NOBODY, delete=NOBODY, change=sees)


_SUITE = "admin/evals_app/suite/"
_CASE = "admin/evals_app/case/<path:object_id>/"
_RUN = "admin/evals_app/run/<int:pk>/"
_SETTLEMENT = "admin/evals_app/settlement/"
_SET = "admin/evals_app/conversationset/"
_READING = "admin/evals_app/reading/<int:pk>/"
_GROUP = "admin/evals_app/notegroup/<int:pk>/"
_READS = f"view_execution {REVIEWING}"
_SETS = "api/conversation-sets/"
_JUDGES = "admin/evals_app/judgetally/"
_TASK = "admin/evals_app/reviewtask/"
_SEES_CEILINGS = "view_monthlyceiling|change_monthlyceiling"
_SEES_SCHEDULES = "view_schedule|change_schedule"
_EXECUTION = "admin/evals_app/execution/<int:pk>/"

PAGES: dict[str, Need] = {
    "": ANYBODY,
    "admin/login/": ANYBODY,
    "admin/login/forgotten/": NOBODY,  # only where there is a mail server
    "admin/login/code/": NOBODY,  # whose password was right a moment ago: test_second_step.py
    # Only sites with an identity provider have them: tests/evalsite/sign_in/test_company.py.
    "admin/login/company/": NOBODY,
    "admin/login/company/back/": NOBODY,
    "admin/logout/": ANYBODY,
    "admin/": STAFF,
    "admin/search/": {"GET": STAFF, "POST": NOBODY},
    "admin/evals_app/": STAFF,
    "admin/fixtures_app/": STAFF,
    "admin/auth/": STAFF,
    "admin/help/": {"GET": STAFF, "POST": NOBODY},
    "admin/help/images/<str:name>": {"GET": STAFF, "POST": NOBODY},
    "admin/help/<slug:slug>/": {"GET": STAFF, "POST": NOBODY},
    "admin/password_change/": STAFF,
    "admin/password_change/done/": {"GET": STAFF, "POST": NOBODY},
    "admin/autocomplete/": {"GET": "view_agent|change_agent", "POST": NOBODY},
    "admin/jsi18n/": {"GET": STAFF, "POST": NOBODY},
    "admin/r/<path:content_type_id>/<path:object_id>/": NOBODY,  # nothing has another page
    "admin/^(?P<app_label>evals_app|fixtures_app|auth)/$": STAFF,  # leads home
    "admin/(?P<url>.*)$": NOBODY,
    **pages("fixtures_app", "entitytype"),
    **pages("fixtures_app", "fixture"),
    "admin/fixtures_app/fixture/<int:pk>/try/": "view_fixture|change_fixture",
    "admin/fixtures_app/fixture/from-spreadsheet/": "add_fixture",
    "admin/fixtures_app/fixture/<path:object_id>/duplicate/": "add_fixture view_fixture|change_fixture",
    **pages("evals_app", "agent"),
    "admin/evals_app/agent/<path:object_id>/run-suites/": f"{RUNNING} view_suite",
    "admin/evals_app/agent/<path:object_id>/talk-to-it/": f"{RUNNING} view_agent",
    "admin/evals_app/agent/<path:object_id>/duplicate/": "add_agent view_agent",
    "admin/evals_app/agent/<path:object_id>/ready-by-topic/": TOPICS,
    "admin/evals_app/agent/<int:pk>/topics/": {"GET": TOPICS, "POST": NOBODY},
    "admin/evals_app/agent/<int:pk>/topics/set/": f"{TOPICS} decide_release",
    "admin/evals_app/agent/<int:pk>/topics/file/<slug:report_kind>/": {
        "GET": TOPICS,
        "POST": NOBODY,
    },
    "admin/evals_app/agent/from-address/": "add_agent",
    "admin/evals_app/agent/ask-developer/": "add_agent",
    "admin/evals_app/agent/<int:pk>/developer-link/": {"GET": NOBODY, "POST": "add_agent"},
    "admin/connect/<int:pk>/<token>/": ANYBODY,  # the link itself is the permission
    "admin/evals_app/agent/<int:pk>/talk/": f"{RUNNING} view_agent",
    "admin/evals_app/agent/<int:pk>/talk/live/": f"{RUNNING} view_agent",
    **pages("evals_app", "provider"),
    "admin/evals_app/provider/<path:object_id>/test/": "change_provider",
    **pages("evals_app", "evaluationsteps", add=NOBODY, delete=NOBODY),
    # The token here is somebody else's.
    **pages("evals_app", "apitoken", history=SUPERUSER, delete=SUPERUSER, change=SUPERUSER),
    **pages("evals_app", "case"),
    "admin/evals_app/case/try/": {
        "GET": NOBODY,
        "POST": "add_case|change_case|add_suite|change_suite",
    },
    "admin/evals_app/case/<int:pk>/last-reply/": {
        "GET": "view_execution view_case|change_case",
        "POST": NOBODY,
    },
    f"{_CASE}suite/": "view_suite",
    f"{_CASE}run-now/": RUNNING,
    f"{_CASE}duplicate/": "add_case view_case|change_case",
    "admin/evals_app/bulkedit/<int:pk>/undo/": {"GET": NOBODY, "POST": "change_case"},
    "admin/evals_app/deleted/": {
        "GET": "|".join(
            f"{verb}_{kind}"
            for kind in ("suite", "case", "agent", "fixture", "entitytype")
            for verb in ("view", "change")
        ),
        "POST": NOBODY,
    },
    "admin/views/": {"GET": NOBODY, "POST": "view_suite|change_suite"},
    "admin/evals_app/deleted/restore/": {"GET": NOBODY, "POST": "delete_case"},
    "admin/evals_app/deleted/<int:deleted>/for-good/": "delete_case",
    **pages("evals_app", "suite"),
    f"{_SUITE}<int:pk>/cases/": {"GET": "view_suite|change_suite", "POST": "change_case"},
    f"{_SUITE}tags/": {"GET": "view_suite view_case", "POST": NOBODY},
    f"{_SUITE}<int:pk>/check/": {"GET": "view_suite|change_suite", "POST": NOBODY},
    f"{_SUITE}<int:pk>/propose/": f"{RUNNING} change_suite add_case",
    f"{_SUITE}<int:pk>/propose/price/": {
        "GET": NOBODY,
        "POST": f"{RUNNING} change_suite add_case",
    },
    f"{_SUITE}<int:pk>/propose/<int:run>/": f"{RUNNING} change_suite add_case",
    f"{_SUITE}<int:pk>/results/": {"GET": "view_run view_suite|change_suite", "POST": NOBODY},
    f"{_SUITE}<int:pk>/notable/": {"GET": "view_run view_suite|change_suite", "POST": NOBODY},
    f"{_SUITE}<int:pk>/judges/": {"GET": "view_suite|change_suite", "POST": NOBODY},
    f"{_SUITE}<int:pk>/email/": "view_run view_suite|change_suite",
    f"{_SUITE}<int:pk>/run-size/": {"GET": RUNNING, "POST": NOBODY},
    f"{_SUITE}run/": f"{RUNNING} view_suite",
    f"{_SUITE}run/size/": {"GET": f"{RUNNING} view_suite", "POST": NOBODY},
    f"{_SUITE}run-some/": f"{RUNNING} view_suite",
    f"{_SUITE}import/": IMPORTING,
    f"{_SUITE}import/sample/": {"GET": IMPORTING, "POST": NOBODY},
    f"{_SUITE}import/first-sheet/": {"GET": NOBODY, "POST": "add_fixture|change_fixture"},
    f"{_SUITE}choose/": IMPORTING,
    f"{_SUITE}load-examples/": {"GET": NOBODY, "POST": LOADING_EXAMPLES},
    f"{_SUITE}remove-examples/": REMOVING_EXAMPLES,
    f"{_SUITE}export/": {"GET": f"{EXPORTING} view_case", "POST": NOBODY},
    f"{_SUITE}export/fixture/<slug:slug>/": {"GET": "view_fixture", "POST": NOBODY},
    f"{_SUITE}checks/<slug:kind>/": {"GET": STAFF, "POST": NOBODY},
    f"{_SUITE}checks/<slug:kind>/inputs/": {"GET": STAFF, "POST": NOBODY},
    f"{_SUITE}checks/stored/<int:pk>/": {"GET": "view_case|change_case", "POST": NOBODY},
    f"{_SUITE}<path:object_id>/run/": RUNNING,
    f"{_SUITE}<path:object_id>/runs/": "view_run",
    f"{_SUITE}<path:object_id>/export/": "view_suite|change_suite",
    f"{_SUITE}<path:object_id>/export-all/": f"{EXPORTING} view_case",
    f"{_SUITE}<path:object_id>/export-struere/": f"{EXPORTING} view_case",
    f"{_SUITE}<path:object_id>/export-table/": f"{EXPORTING} view_case",
    f"{_SUITE}<path:object_id>/duplicate/": "add_suite add_case",
    f"{_SUITE}<path:object_id>/archive/": "change_suite",
    f"{_SUITE}<path:object_id>/restore/": "change_suite",
    **read_only("run"),
    "admin/evals_app/run/compare/": {"GET": "view_run|change_run", "POST": NOBODY},
    f"{_RUN}compare/": {"GET": "view_run|change_run", "POST": NOBODY},
    "admin/evals_app/run/compare/case/": {
        "GET": "view_run|change_run view_execution",
        "POST": NOBODY,
    },
    "admin/evals_app/run/compare/case/replies/": {
        "GET": "view_run|change_run view_execution",
        "POST": NOBODY,
    },
    "admin/evals_app/run/models/": {"GET": "view_run|change_run", "POST": NOBODY},
    "admin/evals_app/run/models/live/": {"GET": "view_run|change_run", "POST": NOBODY},
    "admin/evals_app/run/models/cases/": {"GET": "view_run|change_run", "POST": NOBODY},
    "admin/evals_app/run/models/report/": {
        "GET": "view_run|change_run view_execution",
        "POST": NOBODY,
    },
    "admin/evals_app/run/case-history/": {"GET": "view_run|change_run", "POST": NOBODY},
    f"{_RUN}live/": "view_run|change_run",
    f"{_RUN}wrong/": "view_run|change_run",
    f"{_RUN}related/": "view_run|change_run",
    f"{_RUN}report/<slug:report_kind>/": "view_run|change_run",
    f"{_RUN}decide/<slug:what>/": DECIDING,
    f"{_RUN}accept/": DECIDING,
    "admin/evals_app/acceptedfailure/<int:pk>/withdraw/": {"GET": NOBODY, "POST": DECIDING},
    f"{_RUN}forget/": FORGETTING,
    f"{_RUN}delete-for-good/": "view_run delete_run",
    f"{_RUN}cancel/": RUNNING,
    f"{_RUN}resume/": RUNNING,
    f"{_RUN}requeue/": RUNNING,
    f"{_RUN}pin/": {"GET": NOBODY, "POST": RUNNING},
    f"{_RUN}baseline/": {"GET": NOBODY, "POST": RUNNING},
    f"{_RUN}rerun/<str:only>/": RUNNING,
    f"{_RUN}regrade/": RUNNING,
    f"{_RUN}regrade/size/": {"GET": NOBODY, "POST": RUNNING},
    **pages(
        "evals_app",
        "settlement",
        list="view_run",
        add=NOBODY,
        history="view_run",
        delete=NOBODY,
        change={"GET": "view_run", "POST": NOBODY},
    ),
    **pages(
        "evals_app",
        "conversationset",
        delete=NOBODY,
        change={"GET": "view_conversationset|change_conversationset", "POST": NOBODY},
    ),
    f"{_SET}import/": "add_conversationset",
    f"{_SET}import/look/": {"GET": NOBODY, "POST": "add_conversationset"},
    f"{_SET}<int:pk>/cases/": "view_conversationset view_execution add_case",
    f"{_SET}<int:pk>/grade/": f"{RUNNING} view_conversationset",
    f"{_SET}<int:pk>/grade/price/": {"GET": NOBODY, "POST": f"{RUNNING} view_conversationset"},
    f"{_SET}<int:pk>/remove/": "delete_conversationset",
    f"{_SET}<int:pk>/daily/": "add_conversationset",
    f"{_SET}<int:pk>/daily/price/": {"GET": NOBODY, "POST": f"{RUNNING} add_conversationset"},
    f"{_SET}<int:pk>/daily/do/": {"GET": NOBODY, "POST": "add_conversationset"},
    f"{_SET}<int:pk>/daily/remove/": "add_conversationset",
    f"{_SET}<int:pk>/agents/do/": {"GET": NOBODY, "POST": "add_conversationset"},
    f"{_SET}<int:pk>/read/": f"{_READS} view_conversationset",
    f"{_RUN}read/": f"{_READS} view_run",
    f"{_READING}": {"GET": _READS, "POST": NOBODY},
    f"{_READING}<int:position>/": _READS,
    f"{_READING}groups/": _READS,
    f"{_READING}notes.csv": {"GET": _READS, "POST": NOBODY},
    f"{_READING}propose/": f"{_READS} {RUNNING}",
    f"{_READING}proposals/": f"{_READS} {RUNNING}",
    f"{_GROUP}": {"GET": NOBODY, "POST": _READS},
    f"{_GROUP}check/": f"{_READS} {RUNNING}",
    f"{_GROUP}check/price/": {"GET": NOBODY, "POST": f"{_READS} {RUNNING}"},
    f"{_GROUP}check/draft/": f"{_READS} {RUNNING}",
    f"{_GROUP}check/live/": {"GET": f"{_READS} {RUNNING}", "POST": NOBODY},
    f"{_SET}imports/<int:pk>/discard/": "add_conversationset",
    f"{_RUN}copy/": "add_conversationset view_run view_execution",
    "admin/evals_app/execution/copy/": "add_conversationset view_run view_execution",
    f"{_SET}gradings/<int:pk>/cancel/": f"{RUNNING} view_conversationset",
    f"{_SETTLEMENT}start/<int:pk>/": RUNNING,
    f"{_SETTLEMENT}start/<int:pk>/price/": RUNNING,
    f"{_SETTLEMENT}<int:pk>/live/": "view_run",
    f"{_SETTLEMENT}<int:pk>/cancel/": RUNNING,
    _JUDGES: {"GET": "view_run", "POST": NOBODY},
    f"{_JUDGES}criteria/": {"GET": "view_execution", "POST": NOBODY},
    f"{_JUDGES}criteria/<slug:digest>/check/": {
        "GET": NOBODY,
        "POST": f"view_execution {REVIEWING}",
    },
    f"{_JUDGES}criteria/<slug:digest>/": {"GET": "view_execution", "POST": NOBODY},
    f"{_JUDGES}criteria/<slug:digest>/try/": f"{RUNNING} view_execution",
    **pages(
        "evals_app",
        "reviewtask",
        list="view_execution",
        add=NOBODY,
        history="view_execution",
        delete=NOBODY,
        change={"GET": "view_execution", "POST": NOBODY},
    ),
    f"{_TASK}start/<int:pk>/": REVIEWING,
    f"{_TASK}of-run/<int:pk>/": "view_execution",
    f"{_TASK}<int:pk>/close/": REVIEWING,
    f"{_TASK}<int:pk>/check/": REVIEWING,
    f"{_TASK}<int:pk>/check/<int:position>/": {"GET": "view_execution", "POST": REVIEWING},
    **pages(
        "evals_app",
        "activity",
        list="view_activity",
        add=NOBODY,
        history="view_activity",
        delete=NOBODY,
        change={"GET": "view_activity", "POST": NOBODY},
    ),
    "admin/evals_app/activity/csv/": {"GET": "view_activity", "POST": NOBODY},
    "admin/evals_app/spending/": {"GET": "view_run", "POST": NOBODY},
    **pages(
        "evals_app",
        "monthlyceiling",
        **{
            page: f"{right} view_user"
            for page, right in {
                "list": _SEES_CEILINGS,
                "history": _SEES_CEILINGS,
                "add": "add_monthlyceiling",
                "delete": "delete_monthlyceiling",
            }.items()
        },
        change={"GET": f"{_SEES_CEILINGS} view_user", "POST": "change_monthlyceiling view_user"},
    ),
    **pages(
        "evals_app",
        "schedule",
        add=f"add_schedule {RUNNING}",
        delete=f"delete_schedule {RUNNING}",
        # Without the right to start runs, who may change one may read it.
        change={"GET": _SEES_SCHEDULES, "POST": f"change_schedule {RUNNING}"},
    ),
    "admin/evals_app/schedule/next-times/": {
        "GET": f"{_SEES_SCHEDULES}|add_schedule|add_conversationset",
        "POST": NOBODY,
    },
    **pages("evals_app", "webhook"),
    **pages("evals_app", "maskingpattern"),
    "admin/evals_app/maskingpattern/try/": {
        "GET": NOBODY,
        "POST": "add_maskingpattern|change_maskingpattern",
    },
    "admin/evals_app/webhook/<int:pk>/test/": {"GET": NOBODY, "POST": "change_webhook"},
    "admin/evals_app/webhook/<int:pk>/secret/": "change_webhook",
    "admin/evals_app/webhook/<int:pk>/deliveries/<int:delivery>/again/": {
        "GET": NOBODY,
        "POST": "change_webhook",
    },
    **read_only("execution"),
    f"{_EXECUTION}forget/": FORGETTING,
    f"{_EXECUTION}live/": "view_execution|change_execution",
    f"{_EXECUTION}strip/": {"GET": "view_execution|change_execution", "POST": NOBODY},
    f"{_EXECUTION}judge/<int:grade>/": "view_execution|change_execution",
    f"{_EXECUTION}checks/": "view_execution|change_execution change_case",
    f"{_EXECUTION}case/": "view_execution|change_execution add_case",
    f"{_EXECUTION}review/": "view_execution|change_execution review_execution",
    # The sample is of somebody else.
    f"{_EXECUTION}review/<int:review>/withdraw/": {
        "GET": NOBODY,
        "POST": "change_execution review_execution",
    },
    **pages("auth", "user", add="add_user change_user", delete=NOBODY),
    "admin/auth/user/<path:object_id>/link/": "change_user",
    "admin/auth/user/<path:object_id>/remove-data/": "change_user",
    "admin/profile/": STAFF,
    "admin/auth/user/<path:object_id>/sessions/": "change_user",
    "admin/profile/sessions/": STAFF,
    "admin/profile/two-step/": STAFF,
    "admin/profile/email/": STAFF,
    "admin/profile/time-zone/": {"GET": NOBODY, "POST": STAFF},
    "admin/invitation/<uidb64>/<token>/": ANYBODY,  # the link itself is the permission
    **pages(
        "auth",
        "group",
        add=SUPERUSER,
        delete=SUPERUSER,
        change={"GET": "view_group|change_group", "POST": SUPERUSER},
    ),
}

# By address: method -> the scope that a token needs, and the permissions of its user.
Scoped = tuple[str, str]


def written(model: str, *, deleting: str = "") -> dict[str, Scoped]:
    """Return what the address of an object asks that files may hold."""
    sees = f"view_{model}" + (" view_entitytype" if model == "fixture" else "")
    return {
        "GET": ("read", sees),
        "PUT": ("author", IMPORTING),
        "PATCH": ("author", f"{sees} {IMPORTING}"),
        "DELETE": ("author", deleting or f"delete_{model}"),
    }


REST: dict[str, dict[str, Scoped]] = {
    "api/runs/": {"GET": ("read", "view_run"), "POST": ("run", RUNNING)},
    "api/runs/forecast/": {"POST": ("read", "view_run")},
    "api/runs/compare/": {"GET": ("read", "view_run")},
    "api/runs/comparison/": {"GET": ("read", "view_run")},
    "api/runs/<int:pk>/": {
        "GET": ("read", "view_run"),
        "DELETE": ("author", "view_run delete_run"),
    },
    "api/runs/<int:pk>/content/": {"DELETE": ("author", FORGETTING)},
    "api/executions/<int:pk>/content/": {"DELETE": ("author", FORGETTING)},
    "api/people/<str:username>/": {"DELETE": ("author", "change_user")},
    "api/runs/<int:pk>/executions/": {"GET": ("read", "view_run")},
    "api/runs/<int:pk>/report/": {"GET": ("read", "view_run view_execution")},
    "api/runs/report-schema/": {"GET": ("read", "")},
    "api/runs/<int:pk>/cancel/": {"POST": ("run", RUNNING)},
    "api/runs/<int:pk>/resume/": {"POST": ("run", RUNNING)},
    "api/runs/<int:pk>/requeue/": {"POST": ("run", RUNNING)},
    "api/runs/<int:pk>/pin/": {"POST": ("run", RUNNING)},
    "api/runs/<int:pk>/baseline/": {"POST": ("run", RUNNING)},
    "api/runs/<int:pk>/rerun/": {"POST": ("run", RUNNING)},
    "api/runs/<int:pk>/review-tasks/": {
        "GET": ("read", "view_execution"),
        "POST": ("author", REVIEWING),
    },
    "api/readings/": {"GET": ("read", _READS), "POST": ("author", _READS)},
    "api/readings/<int:pk>/": {"GET": ("read", _READS)},
    "api/readings/<int:pk>/notes/": {"GET": ("read", _READS), "POST": ("author", _READS)},
    "api/readings/<int:pk>/groups/": {"POST": ("author", _READS)},
    "api/note-groups/<int:pk>/": {
        "GET": ("read", _READS),
        "PATCH": ("author", _READS),
        "DELETE": ("author", _READS),
    },
    "api/review-tasks/<int:pk>/": {"GET": ("read", "view_execution")},
    "api/review-tasks/<int:pk>/close/": {"POST": ("author", REVIEWING)},
    "api/runs/<int:pk>/regrade/": {"POST": ("run", RUNNING)},
    "api/runs/<int:pk>/regrade/forecast/": {"POST": ("read", "view_run")},
    f"{_SETS}": {
        "GET": ("read", "view_conversationset"),
        "POST": ("author", "add_conversationset"),
    },
    f"{_SETS}<slug:slug>/": {
        "GET": ("read", "view_conversationset"),
        "DELETE": ("author", "delete_conversationset"),
    },
    f"{_SETS}<slug:slug>/imports/": {
        "GET": ("read", "view_conversationset"),
        "POST": ("author", "add_conversationset"),
    },
    f"{_SETS}<slug:slug>/imports/<int:pk>/": {
        "GET": ("read", "view_conversationset"),
        "DELETE": ("author", "add_conversationset"),
    },
    f"{_SETS}<slug:slug>/runs/": {
        "POST": ("author", "add_conversationset view_run view_execution")
    },
    f"{_SETS}<slug:slug>/gradings/<int:pk>/": {
        "GET": ("read", "view_conversationset"),
        "DELETE": ("run", f"{RUNNING} view_conversationset"),
    },
    f"{_SETS}<slug:slug>/daily-import/": {
        "GET": ("read", "view_conversationset"),
        "PUT": ("author", "add_conversationset"),
        "PATCH": ("author", "add_conversationset"),
        "DELETE": ("author", "add_conversationset"),
    },
    f"{_SETS}<slug:slug>/spans/": {
        "GET": ("read", "view_conversationset"),
        "PUT": ("author", "add_conversationset"),
    },
    f"{_SETS}<slug:slug>/otlp/v1/traces": {"POST": ("spans", "add_conversationset")},
    f"{_SETS}<slug:slug>/conversations/": {"GET": ("read", "view_conversationset view_execution")},
    f"{_SETS}<slug:slug>/grade/": {"POST": ("run", f"{RUNNING} view_conversationset")},
    f"{_SETS}<slug:slug>/grade/forecast/": {"POST": ("run", f"{RUNNING} view_conversationset")},
    "api/schedules/": {
        "GET": ("read", "view_schedule"),
        "POST": ("run", f"add_schedule {RUNNING}"),
    },
    "api/schedules/<int:pk>/": {
        "GET": ("read", "view_schedule"),
        "PUT": ("run", f"change_schedule {RUNNING}"),
        "PATCH": ("run", f"change_schedule {RUNNING}"),
        "DELETE": ("run", f"delete_schedule {RUNNING}"),
    },
    "api/masking-patterns/": {
        "GET": ("read", "view_maskingpattern"),
        "POST": ("author", "add_maskingpattern"),
    },
    "api/masking-patterns/<int:pk>/": {
        "GET": ("read", "view_maskingpattern"),
        "PUT": ("author", "change_maskingpattern"),
        "DELETE": ("author", "delete_maskingpattern"),
    },
    "api/webhooks/": {"GET": ("read", "view_webhook"), "POST": ("author", "add_webhook")},
    "api/webhooks/<int:pk>/": {
        "GET": ("read", "view_webhook"),
        "PUT": ("author", "change_webhook"),
        "PATCH": ("author", "change_webhook"),
        "DELETE": ("author", "delete_webhook"),
    },
    "api/webhooks/<int:pk>/test/": {"POST": ("author", "change_webhook")},
    "api/webhooks/<int:pk>/deliveries/": {"GET": ("read", "view_webhook")},
    "api/webhooks/<int:pk>/deliveries/<int:delivery>/again/": {
        "POST": ("author", "change_webhook")
    },
    "api/settlements/": {"GET": ("read", "view_run"), "POST": ("run", RUNNING)},
    "api/settlements/forecast/": {"POST": ("read", "view_run")},
    "api/settlements/<int:pk>/": {"GET": ("read", "view_run")},
    "api/settlements/<int:pk>/cancel/": {"POST": ("run", RUNNING)},
    "api/executions/": {"GET": ("read", "view_run")},
    "api/executions/<int:pk>/": {"GET": ("read", "view_execution")},
    "api/executions/<int:pk>/case/": {
        "GET": ("read", "view_execution"),
        "POST": ("author", "view_execution add_case"),
    },
    "api/executions/<int:pk>/reviews/": {
        "GET": ("read", "view_execution"),
        "POST": ("author", "view_execution review_execution"),
    },
    "api/executions/<int:pk>/reviews/<int:review>/": {
        "DELETE": ("author", "view_execution review_execution change_execution")
    },
    "api/yardsticks/": {"GET": ("read", "view_execution")},
    "api/yardsticks/<slug:digest>/": {"GET": ("read", "view_execution")},
    "api/activity/": {"GET": ("read", "view_activity")},
    "api/spending/": {"GET": ("read", "view_run")},
    "api/me/": {"GET": ("read", "")},
    "api/tokens/": {"GET": ("read", "view_apitoken")},
    # The token here is somebody else's.
    "api/tokens/<int:pk>/": {},
    "api/people/": {"GET": ("read", "view_user")},
    "api/entity-types/": {"GET": ("read", "view_entitytype")},
    "api/files/": {"POST": ("author", "change_case")},
    "api/files/<slug:sha256>/": {"GET": ("read", "view_case")},
    "api/otlp/v1/traces": {"POST": ("spans", "add_run")},
    "api/import/": {"POST": ("author", IMPORTING)},
    "api/suites/": {"GET": ("read", "view_suite")},
    "api/suites/<slug:slug>/": written("suite", deleting="change_suite"),
    "api/suites/<slug:slug>/restore/": {"POST": ("author", "change_suite")},
    "api/suites/<slug:slug>/decision/": {"GET": ("read", "view_run")},
    "api/suites/<slug:slug>/decisions/": {"GET": ("read", "view_run")},
    "api/runs/<int:pk>/decision/": {"POST": ("run", DECIDING)},
    "api/runs/<int:pk>/accepted-failures/": {"POST": ("run", DECIDING)},
    "api/accepted-failures/<int:pk>/withdraw/": {"POST": ("run", DECIDING)},
    "api/suites/<slug:slug>/check/": {"GET": ("read", "view_suite")},
    "api/suites/<slug:slug>/cases/": {
        "GET": ("read", "view_case"),
        "POST": ("author", "view_suite add_case"),
    },
    "api/suites/<slug:slug>/cases/<int:pk>/": {
        "GET": ("read", "view_case"),
        "PUT": ("author", "view_suite change_case"),
        "PATCH": ("author", "view_suite view_case change_case"),
        "DELETE": ("author", "delete_case"),
    },
    "api/suites/<slug:slug>/export/": {"GET": ("read", "view_suite")},
    "api/suites/<slug:slug>/cases/history/": {"GET": ("read", "view_run")},
    "api/export/": {"GET": ("read", EXPORTING)},
    "api/agents/": {"GET": ("read", "view_agent")},
    "api/agents/<slug:slug>/": written("agent"),
    "api/agents/<slug:slug>/calls/": {"POST": ("connect", "add_run")},
    "api/agents/<slug:slug>/calls/<int:pk>/answer/": {"POST": ("connect", "add_run")},
    "api/agents/<slug:slug>/computers/": {"GET": ("read", "view_agent view_run")},
    "api/agents/<slug:slug>/computers/<uuid:computer>/": {"DELETE": ("connect", "add_run")},
    "api/agents/<slug:slug>/topics/": {"GET": ("read", TOPICS)},
    "api/agents/<slug:slug>/topics/<path:topic>/": {
        "GET": ("read", TOPICS),
        "POST": ("run", DECIDING),
    },
    "api/fixtures/": {"GET": ("read", "view_fixture")},
    "api/fixtures/<slug:slug>/": written("fixture"),
    "api/providers/": {"GET": ("read", "view_provider")},
    "api/providers/<slug:slug>/": written("provider"),
    "api/schema/": {"GET": ("read", "")},
    "api/docs/": {"GET": ("read", "")},
    "api/": {"GET": ("read", "")},
    "api/.+": {},  # whatever else is below it
    # What each tool needs is tested with the tools.
    "mcp/": {"POST": ("read", "")},
    "mcp": {"POST": ("read", "")},
    "metrics": {"GET": ("read", "view_run")},
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# By scope that an address asks: the scopes of tokens that are enough.
SCOPES = {
    "spans": ("spans", "run", "author"),
    "connect": ("connect", "author"),
    "read": ("read", "run", "author"),
    "run": ("run", "author"),
    "author": ("author",),
}
NO_SESSIONS = {"metrics", "mcp/", "mcp"}

# By model: what may be chosen for rows of a list, and what is offered beside "Save".
ACTIONS: dict[str, dict[str, str]] = {
    "suite": {
        "archive": "change_suite",
        "restore": "change_suite",
        "run_ticked": f"{RUNNING} view_suite",
    },
    "case": {"save_and_run": RUNNING},
    "run": {
        "delete_selected": NOBODY,
        "compare_chosen": "view_run|change_run",
        "tabulate_chosen": "view_run|change_run",
    },
    "execution": {
        "delete_selected": NOBODY,
        "copy_chosen": "add_conversationset view_run view_execution",
    },
    "conversationset": {"delete_selected": NOBODY},
    "evaluationsteps": {"delete_selected": NOBODY},
    "user": {"delete_selected": NOBODY},
    "group": {"delete_selected": SUPERUSER},
    "monthlyceiling": {"delete_selected": "delete_monthlyceiling view_user"},
    "schedule": {"delete_selected": f"delete_schedule {RUNNING}"},
}


def has_right(role: Role, name: str) -> bool:
    return any(
        role.includes(app, name)
        for app, kinds in OUR_MODELS.items()
        if name.partition("_")[2] in kinds
    )


# What people are usually given; `everything` is no superuser.
SETS: dict[str, Callable[[str], bool]] = {
    "nothing": lambda _: False,
    "view": lambda name: name.startswith("view_"),
    "add": lambda name: name.startswith("add_"),
    "change": lambda name: name.startswith("change_"),
    "delete": lambda name: name.startswith("delete_"),
    "run": lambda name: name in RUNNING.split(),
    "everything": lambda _: True,
    **{f"the role {role.name}": partial(has_right, role) for role in ROLES},
}


@pytest.fixture
def samples(settings: Any) -> Samples:
    return samples_for(settings)


# Who comes there


ALL = frozenset(
    [
        *("review_execution", "decide_release", "view_activity"),
        *(
            f"{action}_{model}"
            for models in OUR_MODELS.values()
            for model in models
            for action in ("view", "add", "change", "delete")
        ),
    ]
)


@dataclass(frozen=True)
class Who:
    """Somebody, and what they may."""

    name: str
    permissions: frozenset[str] = frozenset()
    is_staff: bool = True
    is_superuser: bool = False

    def may(self, need: str) -> bool:
        """Whether all that is needed is theirs."""
        if need in {ANYBODY, NOBODY, SUPERUSER}:
            return need == ANYBODY or (need == SUPERUSER and self.is_superuser)
        return self.is_superuser or all(
            not self.permissions.isdisjoint(word.split("|")) for word in need.split()
        )

    def enters(self, need: str) -> bool:
        """Whether a page of the admin that needs this lets them in."""
        return self.is_staff and self.may(need)


ROOT = Who("a superuser", is_superuser=True)


def tried_on(need: str) -> Iterator[Who]:
    """Return those who have exactly what is needed, and those who lack one thing of it."""
    if need in {ANYBODY, NOBODY, SUPERUSER}:
        return
    words = need.split()
    yield Who(f"who has {need or 'nothing'}", frozenset(word.split("|")[0] for word in words))
    for word in words:
        yield Who(f"who lacks {word}", ALL - set(word.split("|")))


class People:
    """Users made once, and sessions and tokens of theirs."""

    def __init__(self) -> None:
        rows = Permission.objects.filter(codename__in=ALL).values_list("codename", "pk")
        self._keys = dict(rows)
        self._users: dict[Who, User] = {}
        self._clients: dict[tuple[Who, str], Client] = {}

    def user(self, who: Who) -> User:
        """Return the user, made once."""
        if who not in self._users:
            flags = {"is_staff": who.is_staff, "is_superuser": who.is_superuser}
            user = User.objects.create(username=f"{len(self._users)} {who.name}"[:150], **flags)
            user.user_permissions.set([self._keys[name] for name in who.permissions])
            self._users[who] = user
        return self._users[who]

    def session(self, who: Who) -> Client:
        """Return a browser in which they are signed in."""
        if (who, "") not in self._clients:
            client = self._clients[who, ""] = Client()
            client.force_login(self.user(who))
        return self._clients[who, ""]

    def token(self, who: Who, scope: str) -> Client:
        """Return a program with a token of theirs."""
        if (who, scope) not in self._clients:
            token, text = ApiToken.issue(name="test", user=self.user(who), scope=scope)
            # Noted for this minute already.
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now())
            self._clients[who, scope] = Client(headers={"Authorization": f"Bearer {text}"})
        return self._clients[who, scope]


# What comes of it


def is_refused(response: HttpResponse, route: str) -> bool:
    """Whether an answer shows and does nothing."""
    if response.status_code in {401, 403, 404, 405}:
        return True
    leads_to = response.headers.get("Location", "") if response.status_code == 302 else ""
    # The admin leads away from a row that somebody may not know of.
    return leads_to.startswith("/admin/login/") or (leads_to == "/admin/" and "apitoken" in route)


def ask(client: Client, method: str, url: str, body: Any = None) -> HttpResponse:
    """Ask, and undo what came of it."""
    with transaction.atomic():
        if method == "POST" and url.startswith("/admin/"):
            response = client.post(url, body or {})
        elif method == "GET":
            response = client.get(url)
        else:
            response = client.generic(method, url, "{}", "application/json")
        transaction.set_rollback(True)
    assert response.status_code < 500, f"{method} {url}: {response.status_code}"
    return response  # type: ignore[return-value]  # the client's own subclass


@pytest.fixture(autouse=True)
def unseen_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes the time: nobody reads the pages here, nor what is logged."""
    monkeypatch.setattr(Template, "render", lambda *_args, **_kwargs: "")
    monkeypatch.setattr(SchemaGenerator, "get_schema", lambda *_args, **_kwargs: {})
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)


def mistakes(visits: Iterable[tuple[str, bool, bool]]) -> list[str]:
    """Return what is not as the tables have it."""
    return [
        f"{what}: {'allowed' if is_allowed else 'refused'}"
        for what, is_allowed, should_be in visits
        if is_allowed != should_be
    ]


def test_every_address_is_in_a_table() -> None:
    # Our search stands before Unfold's.
    assert sorted({*routes()}) == sorted([*PAGES, *REST])


def needs() -> Iterator[tuple[str, str, str, bool]]:
    """Yield route, method and need of every page; and whether another method asks the same."""
    for route, need in PAGES.items():
        if isinstance(need, str):
            need = dict.fromkeys(("GET", "POST"), need)  # noqa: PLW2901 - the same, written out
        for method in need:
            yield route, method, need[method], method == "GET" and need["POST"] == need["GET"]


@pytest.mark.slow
def test_pages_let_in_whom_the_table_names_and_nobody_else(samples: Samples) -> None:
    people, stranger = People(), Client()
    usual = [Who(name, frozenset(filter(has, ALL))) for name, has in SETS.items()]
    outsider = Who("an outsider", ALL, is_staff=False)

    def visits() -> Iterator[tuple[str, bool, bool]]:
        for route, method, need, is_asked_again in needs():
            url, body = samples.url(route), samples.bodies.get(route)
            answer = ask(stranger, method, url, body)
            yield f"{method} {url} by a stranger", not is_refused(answer, route), need == ANYBODY
            if need == ANYBODY:
                continue  # signing out would end the session
            let_in = [*tried_on(need), *([ROOT] if need == SUPERUSER else [])]
            kept_out = [outsider, *([] if is_asked_again else usual)]
            for who in (*let_in, *(who for who in kept_out if not who.enters(need))):
                is_allowed = not is_refused(ask(people.session(who), method, url, body), route)
                yield f"{method} {url} by {who.name}", is_allowed, who.enters(need)

    assert mistakes(visits()) == []


@pytest.mark.slow
def test_rest_lets_in_whom_the_table_names_and_nobody_else(samples: Samples) -> None:
    people, stranger = People(), Client()
    nobody, everybody = Who("who has nothing"), Who("everything", ALL)

    def callers(route: str, scoped: Scoped | None) -> Iterator[tuple[str, Client, bool]]:
        yield "a stranger", stranger, False
        if scoped is None:
            yield "everything", people.token(everybody, "author"), False
            return
        wanted, need = scoped
        for who in (nobody, *tried_on(need)):
            person = Who(who.name, who.permissions, is_staff=False)
            may = who.may(need)
            yield (
                f"a session of {who.name}",
                people.session(person),
                may and route not in NO_SESSIONS,
            )
            yield f"a token of {who.name}", people.token(person, "author"), may
        for scope in SCOPES:
            enough = scope in SCOPES[wanted]
            yield f"a token of scope {scope}", people.token(everybody, scope), enough

    def visits() -> Iterator[tuple[str, bool, bool]]:
        for route, methods in REST.items():
            url = samples.url(route)
            for method in METHODS:
                for name, client, may in callers(route, methods.get(method)):
                    is_allowed = not is_refused(ask(client, method, url), route)
                    yield f"{method} {url} by {name}", is_allowed, may

    assert mistakes(visits()) == []


def test_what_an_address_can_do_is_shown_to_nobody_without_a_token(samples: Samples) -> None:
    everybody = People().token(Who("everything", ALL), "author")

    for route in REST:
        refused, answered = (
            ask(client, "OPTIONS", samples.url(route)) for client in (Client(), everybody)
        )

        assert is_refused(refused, route), route
        assert answered.status_code in {200, 404, 405}, route


@pytest.mark.parametrize(
    ("app", "name"), [(app, name) for app, names in OUR_MODELS.items() for name in names]
)
def test_actions_are_offered_to_whom_the_table_names_and_to_nobody_else(
    samples: Samples, app: str, name: str
) -> None:
    # A POST is compared with the same lists.
    page: Any = admin.site.get_model_admin(apps.get_model(app, name))
    asked = {"delete_selected": f"delete_{name}"} | ACTIONS.get(name, {})
    people, request = People(), HttpRequest()

    def offered(who: Who) -> set[str]:
        request.user = people.user(who)
        lines = page.get_actions_submit_line(request, samples.parts[name])
        prefix = f"{app}_{name}_"
        return {
            *page.get_actions(request),
            *(line.action_name.removeprefix(prefix) for line in lines),
        }

    usual = [Who(name, frozenset(filter(has, ALL))) for name, has in SETS.items()]
    for who in (*usual, *(who for need in asked.values() for who in tried_on(need)), ROOT):
        assert offered(who) == {what for what, need in asked.items() if who.may(need)}, who.name
