"""The OpenAI Evals dialect: evals and runs of the hosted product, and the open-source registry."""

from evals_app.formats.dialect import Dialect

_KEYS = {"testing_criteria", "data_source_config", "data_source", "datasource_item"}


def _is_certain(_path: str, data: object) -> bool:
    """Whether data is objects of the API, samples, or a file of the registry."""
    if isinstance(data, list):
        first = next((item for item in data if item is not None), None)
        return isinstance(first, dict) and (
            isinstance(first.get("item"), dict)
            or {"input", "ideal"} <= first.keys()
            or bool(_KEYS & first.keys())
        )
    if not isinstance(data, dict):
        return False
    entries = [entry for entry in data.values() if isinstance(entry, dict)]
    if any(isinstance(entry.get("class"), str) and "args" in entry for entry in entries):
        return True
    inner = data.get("data", [data.get(key) for key in ("eval", "run")])
    if data.get("object") == "list" and inner == []:
        return True  # a page without anything on it
    return bool(_KEYS & data.keys()) or (isinstance(inner, list) and _is_certain("", inner))


DIALECT = Dialect(
    name="openai-evals",
    title="OpenAI Evals",
    page="coming-from-openai-evals",
    about=(
        "An eval and a run of it, saved as JSON from the OpenAI API: both together, or in a .zip. The "
        "command save_openai_evals saves everything. "
        "Also the registry of the open-source framework, with its samples."
    ),
    sample=(
        (
            "eval_refunds.json",
            """\
{
  "object": "eval",
  "id": "eval_refunds",
  "name": "Refunds",
  "testing_criteria": [
    {
      "type": "string_check",
      "name": "Mentions the refund",
      "operation": "ilike",
      "input": "{{sample.output_text}}",
      "reference": "{{item.expected}}"
    }
  ]
}
""",
        ),
        (
            "evalrun_refunds.json",
            """\
{
  "object": "eval.run",
  "id": "evalrun_refunds",
  "eval_id": "eval_refunds",
  "data_source": {
    "type": "responses",
    "model": "gpt-5-mini",
    "input_messages": {
      "type": "template",
      "template": [
        {"role": "system", "content": "You answer questions about orders."},
        {"role": "user", "content": "{{item.question}}"}
      ]
    },
    "source": {
      "type": "file_content",
      "content": [
        {"item": {"question": "I want my money back.", "expected": "refund"}}
      ]
    }
  }
}
""",
        ),
    ),
    package=__name__,
    # As the API names its objects: eval_68a.json, evalrun_68b.json, evalrun_68b-items.json.
    files=("eval_*.json", "evalrun_*.json", "registry/evals/*.yaml", "registry/evals/*.yml"),
    is_certain=_is_certain,
)
