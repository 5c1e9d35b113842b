"""Files as people write them, and what became of them, for tests of importing."""

from textwrap import dedent

from evals_app.formats.importing import SourceFile
from evals_app.library.changes.import_report import ImportReport


def written(path: str, text: str) -> SourceFile:
    return SourceFile(path, dedent(text).lstrip("\n").encode())


AGENT = written(
    "shop.agent.yaml",
    """
    agent: Shop
    slug: shop
    driver: scripted
    tools: [entity.query]
    rules:
      - when: refund
        calls:
          - tool: entity.query
            args: {type: order}
        reply: Your refund is on its way.
        usage: {input_tokens: 12, output_tokens: 5}
      - reply: Hello!
        delay_ms: 5
    """,
)
JUDGE = written(
    "strict.agent.yaml",
    """
    agent: Strict judge
    slug: strict
    driver: scripted
    rules:
      - reply: '{"verdict": 5}'
    """,
)
MODEL_AGENT = written(
    "clerk.agent.yaml",
    """
    agent: Clerk
    slug: clerk
    description: Knows everything.
    driver: model
    model: {provider: anthropic, name: claude-haiku-5-5, temperature: 0.5}
    system_prompt: You are {{agentName}}.
    settings: {max_tool_rounds: 3}
    """,
)
FIXTURE = written(
    "orders.fixture.yaml",
    """
    name: Orders
    slug: orders
    entity_types:
      - slug: order
        schema:
          type: object
          properties: {total: {type: number}}
          required: [total]
      - slug: customer
        schema: {}
    entities:
      - {ref: order-1, type: order, data: {total: 12.5}}
      - {ref: order-2, type: order, data: {total: 3}, status: closed}
    relations:
      - {from: order-1, to: order-2, type: replaces, metadata: {why: broken}}
    chunks:
      - {id: policy, text: Refunds take five days., source: handbook}
    """,
)
SUITE = written(
    "refunds.suite.yaml",
    """
    suite: Refunds
    slug: refunds
    agent: shop
    description: |
      Money back.
      In two lines.
    tags: [money, smoke]
    fixtures: orders
    trials: 2
    min_pass_rate: 0.5
    pass_rule: score
    pass_threshold: 0.7
    run_rule: gates
    score_scale: 1-5
    concurrency: 4
    judge_model: scripted/strict
    judge_prompt: Be strict.
    judge_context: A refund takes five days.
    rubric: |
      # Tone
      - Polite
    rubric_weight: 0.25
    assertions:
      - {type: not_contains, value: sorry}
    gates:
      min_score: 0.8
      min_pass_rate: 0.9
      max_p95_ms: 1500
      max_cost_per_call_usd: 0.002
      max_cost_usd: 0.1
    cases:
      - name: Asks for a refund
        description: The usual one.
        tags: [happy]
        channel: whatsapp
        context_params: {name: Ada, vip: true, visits: 1, share: 1.0, nothing: null}
        clock: "2026-05-01T09:30:00+00:00"
        limits:
          {max_prompt_tokens: 100, max_response_tokens: 50, max_time_ms: 4000, max_tool_calls: 0,
          max_cost_usd: 0.000000001}
        turn_timeout_s: 7.5
        enabled: false
        streaming: true
        trials: 3
        history:
          - {role: user, content: Hi}
          - {role: assistant, content: Hello}
        turns:
          - user: I want a refund
            expected: on its way
            inherit: true
            assertions:
              - {type: contains, name: Says so, weight: 2, threshold: 0.5}
              - {type: matches, value: '\\bway\\b', enabled: false, scope: conversation}
              - type: tool_called
                value: entity.query
                args: {type: {any_of: [order, 1, true]}}
              - {type: llm-rubric, criteria: Is polite, model: {provider: scripted, name: strict}}
              - {type: llm_judge, criteria: Is polite, votes: 3}
              - {type: rubric, criteria: "- Polite", jury: [scripted/strict]}
          - user: Thanks
          - user: Bye
            assertions: []
        final_assertions:
          - {type: llm_judge, criteria: Is kind, fail_on_error: true, weight: 0, model: agent}
      - turns: [{user: Hello, assertions: [{type: contains, value: hello}]}]
    """,
)
EVERYTHING = [AGENT, JUDGE, MODEL_AGENT, FIXTURE, SUITE]
PROVIDER = written(
    "proxy.provider.yaml",
    """
    provider: Proxy
    slug: proxy
    kind: anthropic
    base_url: https://proxy.example
    api_key_env: PROVIDER_PROXY_KEY
    max_concurrency: 3
    requests_per_minute: 50
    prices:
      - model: claude-haiku-*
        valid_from: 2026-05-01
        input_usd: 0.1
        output_usd: 0.5
        cache_read_usd: 0.000000001
        cache_write_5m_usd: 0.125
        cache_write_1h_usd: 2
      - model: claude-haiku-*
        valid_from: "2026-05-01"
        above_prompt_tokens: 100000
        input_usd: 0.5
        output_usd: 2.5
      - {model: claude-haiku-*, valid_from: 2026-05-01, is_batch: true, input_usd: 0, output_usd: 1}
    """,
)
PROJECT = [
    AGENT,
    written(
        "school/evals/refunds.eval.yaml",
        """
        suite: Refunds
        slug: refunds
        agent: shop
        cases:
          - name: asks
            turns: [{user: Refund?, assertions: [{type: contains, value: on its way}]}]
        """,
    ),
    written(
        "school/fixtures/pupils.fixture.yaml",
        """
        name: Pupils
        slug: pupils
        entities: [{ref: ada, type: pupil, data: {age: 12}}]
        relations: []
        """,
    ),
]


def outcomes(report: ImportReport) -> dict[str, str]:
    return {f"{change.kind} {change.slug}": change.what for change in report.changes}
