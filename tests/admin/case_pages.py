"""The pages of cases, and the checks that were saved on them."""

from typing import Any

from django.test import Client
from django.urls import reverse

from evals_app.models import Assertion, Case
from tests.page_form import PageForm, open_page

CHECKS = "turns-0-assertions"  # of the first turn

# Every key of a case, in every form.
RICH: dict[str, Any] = {
    "name": "Everything",
    "description": "Two lines\nof text\n",
    "tags": ["orders", "smoke"],
    "channel": "widget",
    "context_params": {"name": "Ann", "level": 3, "code": "5", "ok": True, "none": None, "e": ""},
    "clock": "2026-05-01T09:30:00+00:00",
    "limits": {"max_prompt_tokens": 100, "max_tool_calls": 0, "max_cost_usd": 0.1},
    "turn_timeout_s": 12.5,
    "enabled": False,
    "streaming": True,
    "trials": 3,
    "history": [
        {"role": "user", "content": "Hello\nthere"},
        {"role": "assistant", "content": " Hi "},
    ],
    "turns": [
        {"user": "A\nB\n", "expected": "", "assertions": []},
        {"user": "Thanks"},
        {
            "user": "Find it",
            "expected": "It has 3 parts",
            "inherit": True,
            "assertions": [
                {"type": "contains", "name": "Says it", "weight": 0.5, "scope": "conversation"},
                {"type": "not_contains", "value": " an AI", "enabled": False},
                {"type": "matches", "value": '"quoted" [a-z]+\\d{2}', "case_sensitive": True},
                {"type": "exact_match", "value": "line\nline"},
                {"type": "numeric", "value": 60.94, "relative_tolerance": 0.01, "extract": "any"},
                {"type": "numeric", "value": "1234", "absolute_tolerance": 0},
                {
                    "type": "tool_called",
                    "value": "entity.query",
                    "args": {
                        "type": "order",
                        "limit": 5,
                        "text": "5",
                        "some": {"any_of": ["a", 1, None]},
                        "commas": {"any_of": ["a,b"]},
                        "close": {"fuzzy": "1,000"},
                        "like": {"regex": "[a-z]+"},
                        "like_quoted": {"regex": '"a"'},
                        "has": {"contains": "x y"},
                        "there": {"present": True},
                        "gone": {"present": False},
                        "deep": {"a": [1, 2.5, "x"]},
                        "empty": "",
                        "spaces": "  ",
                    },
                    "min_count": 0,
                    "max_count": 2,
                },
                {
                    "type": "tool_calls",
                    "tools": ["entity.get", {"name": "entity.query", "args": {"type": "order"}}],
                    "exact": True,
                },
                {"type": "chunks_fetched", "chunks": ["a", "b"]},
                {
                    "type": "llm_judge",
                    "criteria": "Polite\nand short",
                    "scale": "0-1",
                    "threshold": 0.5,
                    "fail_on_error": True,
                    "model": {"provider": "anthropic", "name": "claude-x", "temperature": 0.0},
                },
            ],
        },
    ],
    "final_assertions": [{"type": "tool_not_called", "value": "entity.delete"}],
}

# Spaces and line breaks wherever a file may have them.
SPACED: dict[str, Any] = {
    "name": "Spaces",
    "history": [{"role": "user", "content": " "}],
    "turns": [
        {
            "user": " Hello ",
            "expected": "  ",
            "context": [" a fact ", "two\nlines\n"],
            "retrieval_context": ["  a passage", "\tthe next  ", " "],
            "config": {" key ": " value "},
            "assertions": [
                {"type": "contains", "value": "  "},
                {"type": "not_contains", "value": " \n "},
                {"type": "matches", "value": " a "},
                {"type": "bleu", "value": " "},
                {
                    "type": "tool_called",
                    "value": " tool ",
                    "args": {" a": 1, "a ": {"present": True}, " ": {"regex": " x "}},
                    "output": " ",
                },
                {"type": "tool_calls", "tools": [" tool", {"name": " b ", "args": {" c ": " "}}]},
                {"type": "chunks_fetched", "chunks": [" a ", "b\nc"]},
                {"type": "geval", "evaluation_steps": [" Look.\n- here ", "Grade. "]},
            ],
        }
    ],
    "final_assertions": [{"type": "contains", "value": "ends in a line\n"}],
}


def url_of(case: Case) -> str:
    return reverse("admin:evals_app_case_change", args=[case.pk])


def page_of(client: Client, case: Case) -> PageForm:
    return open_page(client, url_of(case))


def checks_of(case: Case) -> list[Assertion]:
    rows = Assertion.objects.filter(turn__case=case)
    return list(rows.order_by("turn__position", "position"))
