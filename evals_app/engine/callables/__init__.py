"""Code of the operator's: graders and agents in Python, called in processes of their own.

A grader imports what it is handed and what it gives back from here:

    from evals_app.engine.callables import GraderContext, GraderResult

Nothing else is imported here: each of those processes pays for it.
"""

from evals_app.engine.callables.contract import GraderContext, GraderResult, ToolInvocation

__all__ = ["GraderContext", "GraderResult", "ToolInvocation"]
