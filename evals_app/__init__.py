"""Evaluate LLM agents.

Words: a Suite has Cases, a Case has Turns, an Assertion (people say "check") verifies one thing. A
Run executes a suite: each Execution is one trial of one case, a conversation with an Agent, and is
graded into a verdict.

Layers; each imports only from those below it (contracts in pyproject.toml):

    admin | api | management | tasks    what people, tools and the queue call
    runs | library | documents          run a suite; specs to rows and back; rows to documents
    models                              rows, their integrity and their changes of status
    formats | reports                   bytes to specs and back; summaries to documents
    engine                              run conversations and grade them; knows no Django
    fixtures_app.ground                 what both applications need; knows no Django

The path of one run: admin/suites.py, runs/start.py, tasks.py, runs/shift.py, runs/drain.py,
engine/execution.py, engine/conversation.py, engine/grading.py; the review pages read rows.
"""

__version__ = "0.1.0"
