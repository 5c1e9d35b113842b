"""What all processes share of the providers: parallel calls, calls per minute, and rate limits.

The limits of an agent over HTTP are shared in the same way.

Locks are taken after those of leases, executions and runs, providers in the order of their slugs.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from evals_app.engine.llm.models import Block, ProviderLoad
from evals_app.engine.specs.base_spec import ProviderSpec
from evals_app.engine.specs.outside_spec import RateGroup
from evals_app.models import Agent, Lease, Provider, ProviderState, Run, Suite


def share_places(
    token: uuid.UUID,
    limits: Mapping[str, int],
    standings: Mapping[str, ProviderLoad],
    ordered: Mapping[str, int],
) -> dict[str, int] | None:
    """Return how many calls at once a worker may make of each limited provider from now on.

    `ordered` is what it was given before. None: the lease is gone. The grants of all live leases
    together never exceed a limit.
    """
    with transaction.atomic():
        mine = Lease.objects.select_for_update().filter(pk=token).first()
        if mine is None:
            return None
        _lock(limits)
        others = list(
            Lease.objects.filter(until__gt=Now()).exclude(pk=token).values_list("grants", flat=True)
        )
        places: dict[str, int] = {}
        grants: dict[str, dict[str, int]] = {}
        for slug, limit in limits.items():
            standing, had = standings[slug], ordered.get(slug, 0)
            waited = mine.grants.get(slug, {}).get("waited", 0)
            places[slug] = fair_places(
                limit,
                wanted=standing.wanted,
                had=had,
                waited=waited,
                others=[asked[slug] for asked in others if slug in asked],
            )
            grants[slug] = {
                # A reduction takes effect at the next heartbeat; until then, more calls may begin.
                "granted": max(standing.under_way, places[slug], had),
                "wanted": standing.wanted,
                "waited": 0 if places[slug] else waited + 1,
            }
        mine.grants = grants
        mine.save(update_fields=["grants"])
    return places


def fair_places(
    limit: int, *, wanted: int, had: int, waited: int, others: Sequence[Mapping[str, int]]
) -> int:
    """Return one worker's slots: all free ones, or its fair share if others have none.

    `waited` is the number of heartbeats for which it has had none. With fewer slots than workers
    they take turns: a worker gives up its slot to the one that has waited longest.
    """
    free = limit - sum(claim["granted"] for claim in others)
    claims = [claim for claim in others if claim["wanted"]]
    fair = limit // (1 + len(claims))
    if not claims:
        return max(0, free)  # no other worker needs any: there is nothing to wait for
    if fair:
        is_any_short = any(claim["granted"] < min(claim["wanted"], fair) for claim in claims)
        return max(0, min(wanted, free, fair) if is_any_short else min(wanted, free))
    without = [claim["waited"] for claim in claims if not claim["granted"]]
    is_others_turn = bool(without) and (had > 0 or max(without) > waited)
    return 0 if is_others_turn else max(0, min(wanted, free, 1))


def block_providers(blocks: Mapping[str, Block]) -> None:
    """Make all processes wait for providers; this never shortens a wait."""
    for slug, block in sorted(blocks.items()):
        until = Now() + timedelta(seconds=block.for_s)
        ProviderState.objects.filter(
            Q(blocked_until__isnull=True) | Q(blocked_until__lt=until), slug=slug
        ).update(blocked_until=until, reason=block.reason[:500])


def blocks(slugs: Iterable[str]) -> dict[str, Block]:
    """Return the providers that are rate-limiting us."""
    blocked = ProviderState.objects.filter(slug__in=list(slugs), blocked_until__gt=Now())
    rows = blocked.annotate(now=Now()).values_list("slug", "blocked_until", "now", "reason")
    return {
        slug: Block((until - now).total_seconds(), reason)
        for slug, until, now, reason in rows
        if until
    }


def book_calls(provider: ProviderSpec | RateGroup, count: int) -> float:
    """Reserve evenly spaced times for `count` calls; return the seconds until the first."""
    if provider.requests_per_minute is None:
        return 0.0
    with transaction.atomic():
        (row,) = _lock([provider.slug])
        now: datetime = row.now  # type: ignore[attr-defined]  # annotated
        first = max(now, row.next_request_at or now)
        row.next_request_at = first + timedelta(minutes=count / provider.requests_per_minute)
        row.save(update_fields=["next_request_at"])
    return (first - now).total_seconds()


def kinds_in_use() -> set[str]:
    """Return the kinds of the providers whose key is set, or that need none and are named somewhere."""
    return {
        provider.kind
        for provider in Provider.objects.only("slug", "kind", "api_key_env")
        if (_is_named(provider.slug) if provider.has_key is None else provider.has_key)
    }


def kinds_of(runs: Iterable[Run]) -> set[str]:
    """Return the kinds of the providers that these runs call."""
    slugs = Run.providers.through.objects.filter(run__in=list(runs)).values("providerstate")
    return set(Provider.objects.filter(slug__in=slugs).values_list("kind", flat=True))


def _is_named(slug: str) -> bool:
    named = Agent.objects.filter(model__startswith=f"{slug}/")
    return named.exists() or Suite.objects.filter(judge_model__startswith=f"{slug}/").exists()


def provider_states(slugs: Iterable[str]) -> list[ProviderState]:
    """Return the row of each provider, which is written if there was none."""
    states = [ProviderState(slug=slug) for slug in sorted(slugs)]
    return ProviderState.objects.bulk_create(states, ignore_conflicts=True)


def _lock(slugs: Iterable[str]) -> list[ProviderState]:
    rows = ProviderState.objects.filter(slug__in=list(slugs)).order_by("slug")
    return list(rows.annotate(now=Now()).select_for_update())
