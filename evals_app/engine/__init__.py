"""Run conversations with agents and grade them; knows neither Django nor the queue.

Read from the top: `running` (many conversations) uses `verdicts` (from a trial to verdicts), these
use `suites` (what people wrote), `graders`, `agents` and `judging`, and these use `llm`. At the bottom
are `specs`, `record`, `network`, `callables` and `basics`.
"""
