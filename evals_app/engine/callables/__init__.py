"""The operator's code: graders and agents in Python, called in processes of their own.

Processes are reused, killed at their time limit, and die with the worker. `child` imports the standard
library alone, so that it runs in any Python that the operator lists.

A grader imports its argument and its result from here:

    from evals_app.engine.callables import GraderContext, GraderResult

Nothing else is imported here: each of those processes would pay for it.
"""

from evals_app.engine.callables.contract import GraderContext, GraderResult, ToolInvocation

__all__ = ["GraderContext", "GraderResult", "ToolInvocation"]
