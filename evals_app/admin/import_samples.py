"""A short sample of every format, for people who import for the first time."""

from dataclasses import dataclass

from evals_app.formats.tables import read_table, write_workbook


@dataclass(frozen=True, slots=True)
class Sample:
    """Files of one format, by their path; `page` of the documentation says all of it."""

    title: str
    page: str
    about: str
    files: tuple[tuple[str, str], ...]
    names_agent: bool = True


SAMPLES = (
    Sample(
        "Spreadsheet (.xlsx, .csv) or data set (.jsonl)",
        "spreadsheets",
        "A row for each question, below a row that names the columns. A question and its expected "
        "answer are enough. “Check” says how both are compared: contains, exact match, number, same "
        "meaning; nothing there means contains. Rows below each other with one name in “Case” are "
        "one conversation.",
        (
            (
                "refunds.csv",
                """\
Case,Question,Expected answer,Check,Must contain
Opening hours,When are you open?,from 9 to 5,,
Price of a ticket,How much is a ticket?,12,number,
Asks for a refund,I want my money back.,,,refund
""",
            ),
        ),
        names_agent=False,
    ),
    Sample(
        "Our own YAML",
        "files",
        "One file for each suite, agent, fixture and provider. It says everything, and exports "
        "write it.",
        (
            (
                "shop.agent.yaml",
                """\
agent: Shop assistant
slug: shop
model: anthropic/claude-haiku-5-5
system_prompt: You answer questions about orders.
""",
            ),
            (
                "refunds.suite.yaml",
                """\
suite: Refunds
slug: refunds
agent: shop
cases:
  - name: Asks for a refund
    turns:
      - user: I want my money back.
        assertions:
          - {type: contains, value: refund}
""",
            ),
        ),
    ),
    Sample(
        "Struere",
        "coming-from-struere",
        "A project folder with evals/*.eval.yaml and fixtures/*.fixture.yaml, as a .zip or file "
        "by file. Its agent has to be here already.",
        (
            (
                "evals/refunds.eval.yaml",
                """\
suite: Refunds
slug: refunds
agent: shop
cases:
  - name: Asks for a refund
    turns:
      - user: I want my money back.
        assertions:
          - {type: contains, value: refund}
""",
            ),
        ),
    ),
    Sample(
        "Agentura",
        "coming-from-agentura",
        "agentura.yaml with the datasets (.jsonl) and rubrics (.md) that it names: all of them "
        "together, or the folder as a .zip.",
        (
            (
                "agentura.yaml",
                """\
version: 1
agent:
  type: http
  endpoint: https://agent.example.com/invoke
evals:
  - name: accuracy
    type: golden_dataset
    dataset: ./accuracy.jsonl
    scorer: contains
    threshold: 0.8
""",
            ),
            (
                "accuracy.jsonl",
                '{"input": "I want my money back.", "expected": "refund"}\n',
            ),
        ),
    ),
    Sample(
        "Lobu",
        "coming-from-lobu",
        "The folder that holds lobu.toml and agents/, as a .zip: where a file stands tells whose "
        "it is.",
        (
            (
                "agents/shop/evals/refund.yaml",
                """\
name: refund
description: Asks for a refund.
turns:
  - content: I want my money back.
    assert:
      - type: contains
        value: refund
""",
            ),
        ),
        names_agent=False,
    ),
    Sample(
        "HoloDeck",
        "coming-from-holodeck",
        "agent.yaml with what it names: instructions, a file of test cases, documents.",
        (
            (
                "agent.yaml",
                """\
name: shop
model: {provider: anthropic, name: claude-haiku-5-5}
instructions:
  inline: You answer questions about orders.
evaluations:
  metrics:
    - {type: geval, name: Helpful, criteria: The reply helps the customer., threshold: 0.7}
test_cases:
  - name: Asks for a refund
    input: I want my money back.
""",
            ),
        ),
    ),
    Sample(
        "promptfoo",
        "coming-from-promptfoo",
        "promptfooconfig.yaml with the files that it names.",
        (
            (
                "promptfooconfig.yaml",
                """\
prompts: ["Answer the customer: {{question}}"]
providers: [anthropic:messages:claude-haiku-5-5]
tests:
  - vars: {question: I want my money back.}
    assert:
      - {type: icontains, value: refund}
""",
            ),
        ),
    ),
    Sample(
        "OpenAI Evals",
        "coming-from-openai-evals",
        "An eval and a run of it, saved as JSON from the API of OpenAI: both together, or in a .zip. Also "
        "the registry of the open-source framework, with its samples.",
        (
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
    ),
)


def sample_workbook() -> bytes:
    """Write the sample of a spreadsheet as one to fill in."""
    ((path, text),) = SAMPLES[0].files
    return write_workbook(
        [("Cases", rows) for rows in read_table(path, text.encode()).data.values()]
    )
