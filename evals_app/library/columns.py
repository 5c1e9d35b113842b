"""Specs to columns: what `to_spec` of a row reads back.

The slug and the keys to other rows are not among them.
"""

from typing import Any

from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.spec import PriceSpec, ProviderSpec
from evals_app.engine.suite import AssertionSpec, CaseSpec, SuiteSpec, TurnSpec
from evals_app.models import Turn
from evals_app.models.agents import model_columns
from evals_app.models.suites import LIMITS


def provider_columns(spec: ProviderSpec) -> dict[str, Any]:
    """Give the columns of a provider."""
    return {
        "name": spec.provider,
        "kind": spec.kind,
        "base_url": spec.base_url or "",
        "api_key_env": spec.api_key_env or "",
        "max_tokens_parameter": spec.max_tokens_parameter or "",
        "max_concurrency": spec.max_concurrency,
        "requests_per_minute": spec.requests_per_minute,
    }


def price_columns(spec: PriceSpec) -> dict[str, Any]:
    """Give the columns of a price."""
    return {name: getattr(spec, name) for name in PriceSpec.model_fields}


def agent_columns(spec: AgentSpec) -> dict[str, Any]:
    """Give the columns of an agent."""
    dumped = spec.model_dump(mode="json")
    model, settings = model_columns(dumped["model"])
    return {
        "name": spec.agent,
        "description": spec.description,
        "driver": spec.driver,
        "model": model,
        "model_settings": settings,
        "system_prompt": spec.system_prompt,
        "url": spec.url or "",
        "headers": dumped["headers"],
        "protocol": spec.protocol,
        "remote_model": spec.remote_model or "",
        "callable": spec.callable or "",
        "command": spec.command or [],
        "tools": [
            each if isinstance(each, str) else each.model_dump(mode="json", exclude_defaults=True)
            for each in spec.tools
        ],
        # Defaults are left out, so that they may become better ones without an edit of each row.
        "settings": spec.settings.model_dump(mode="json", exclude_defaults=True),
        "rules": [each.model_dump(mode="json", exclude_defaults=True) for each in spec.rules],
    }


def suite_columns(spec: SuiteSpec) -> dict[str, Any]:
    """Give the columns of a suite; a run's gates are columns of it too."""
    judge, settings = model_columns(
        spec.model_dump(mode="json", include={"judge_model"})["judge_model"]
    )
    return {
        "name": spec.suite,
        "description": spec.description,
        "tags": spec.tags,
        "trials": spec.trials,
        "min_pass_rate": spec.min_pass_rate,
        "pass_rule": spec.pass_rule,
        "pass_threshold": spec.pass_threshold,
        "run_rule": spec.run_rule,
        "score_scale": spec.score_scale,
        "concurrency": spec.concurrency,
        "judge_model": judge,
        "judge_settings": settings,
        "judge_prompt": spec.judge_prompt,
        "judge_context": spec.judge_context,
        "rubric": spec.rubric,
        "rubric_weight": spec.rubric_weight,
        "min_score": spec.gates.min_score,
        "gate_pass_rate": spec.gates.min_pass_rate,
        "max_p95_ms": spec.gates.max_p95_ms,
        "max_cost_per_call_usd": spec.gates.max_cost_per_call_usd,
        "max_cost_usd": spec.gates.max_cost_usd,
    }


def case_columns(spec: CaseSpec) -> dict[str, Any]:
    """Give the columns of a case."""
    return {
        "description": spec.description,
        "tags": spec.tags,
        "channel": spec.channel or "",
        "context_params": spec.context_params,
        "clock": spec.clock or "",
        **{limit: getattr(spec.limits, limit) for limit in LIMITS},
        "turn_timeout_s": spec.turn_timeout_s,
        "streaming": spec.streaming,
        "trials": spec.trials,
        "history": [message.model_dump(mode="json") for message in spec.history],
    }


def turn_columns(spec: TurnSpec) -> dict[str, Any]:
    """Give the columns of a turn."""
    if spec.assertions is None:
        checks = Turn.Checks.SUITE
    else:
        checks = Turn.Checks.BOTH if spec.inherit else Turn.Checks.OWN
    return {
        "user": spec.user,
        "expected": spec.expected,
        "checks": checks,
        "files": [each.model_dump(mode="json") for each in spec.files],
        "context": spec.context,
        "retrieval_context": spec.retrieval_context,
        "config": spec.config,
    }


def assertion_columns(spec: AssertionSpec) -> dict[str, Any]:
    """Give the columns of an assertion."""
    model, settings = model_columns(
        spec.model_dump(mode="json", include={"model"})["model"] if spec.model else None
    )
    return {
        "type": spec.type,
        "options": spec.grader.model_dump(mode="json", exclude_defaults=True),
        "name": spec.name or "",
        "weight": spec.weight,
        "threshold": spec.threshold,
        "enabled": spec.enabled,
        "fail_on_error": spec.fail_on_error,
        "model": model,
        "model_settings": settings,
        "scope": spec.scope or "",
    }
