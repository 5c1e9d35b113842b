"""The waza dialect: an `eval.yaml` about a skill, and the tasks that its patterns name."""

from evals_app.formats.dialect import Dialect


def is_task(data: object) -> bool:
    """Whether some data is a task, which belongs to an eval.yaml."""
    inputs = data.get("inputs") if isinstance(data, dict) else None
    return (
        isinstance(data, dict)
        and isinstance(inputs, dict)
        and {"id", "name"} <= data.keys()
        and bool({"prompt", "prompt_file"} & inputs.keys())
    )


def _is_certain(_path: str, data: object) -> bool:
    keys = data.keys() if isinstance(data, dict) else set()
    is_eval = "config" in keys and keys & {"skill", "scenario"} and keys & {"tasks", "tasks_from"}
    return bool(is_eval) or is_task(data)


DIALECT = Dialect(
    name="waza",
    title="waza",
    page="coming-from-waza",
    about="The folder of an eval.yaml with its tasks, as a .zip. Its agent has to exist here.",
    sample=(
        (
            "evals/refunds/eval.yaml",
            """\
name: refunds
skill: refunds
config: {trials_per_task: 1, timeout_seconds: 60}
tasks: ["tasks/*.yaml"]
""",
        ),
        (
            "evals/refunds/tasks/asks.yaml",
            """\
id: asks
name: Asks for a refund
inputs: {prompt: I want my money back.}
expected: {output_contains: [refund]}
""",
        ),
    ),
    names_agent=False,
    package=__name__,
    files=("evals/*/eval.yaml", "evals/*/eval.yml"),
    is_certain=_is_certain,
)
