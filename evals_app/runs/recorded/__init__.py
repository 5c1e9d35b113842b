"""Conversations that happened outside: they are imported into sets, and graded by general checks.

Each import is a finished run of executions that nothing has graded, out of sight of every list and
rate (`Run.is_import`). Grading them is grading that run again (`runs/regrading/`), by the checks of
a suite that need no expected answer. No agent is ever asked.
"""
