"""The reference of native files, written from the specs themselves.

`python -m evals_app.reports.reference.files > docs/files.md` writes the page again.
"""

import inspect
import sys

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evals_app.engine.specs.agent_spec import DRIVERS, AgentSpec, ScriptedRule
from evals_app.engine.specs.base_spec import ModelSpec, PriceSpec, ProviderSpec
from evals_app.engine.specs.model_settings import AgentSettings
from evals_app.engine.specs.outside_spec import OAuthSpec, PaceSpec, PollSpec
from evals_app.engine.specs.sending_spec import CertificateSpec
from evals_app.engine.specs.tool_spec import (
    CannedRule,
    CannedTool,
    FromEnvironment,
    HttpTool,
    McpTools,
)
from evals_app.engine.specs.wire_spec import Places, StreamSpec
from evals_app.engine.suites.suite_spec import (
    AssertionSpec,
    CaseSpec,
    GatesSpec,
    LimitsSpec,
    SuiteSpec,
    TurnSpec,
)
from evals_app.reports.words.fields import field_table
from fixtures_app.spec import FixtureSpec

_INTRODUCTION = """\
# Files

Native files are YAML: `*.suite.yaml`, `*.agent.yaml`, `*.fixture.yaml` and `*.provider.yaml`. A file
contains one object. Unknown keys, wrong types and repeated keys are refused with file, line and column.
`examples/` has files of every kind. `python manage.py import_evals PATH...` reads them,
`python manage.py export_evals --dir DIR` writes them; exported files import unchanged.
`python manage.py write_schemas` writes JSON Schemas, with which [editors](commands.md) complete and check them.

Entity types belong to the whole site. Exported test data declares the types of its entities; the first
file also declares unused types. A site without test data exports no entity types.

Files that turns show are in the folder `SLUG.files` next to the suite. Nothing in a folder whose name
ends in `.files` is imported by itself. Office documents are read as text: the first
200,000 characters, of at most 20 MB unpacked and 500,000 elements.

A file has at most 10 MB and 500,000 keys and values, counting what aliases repeat. All files of one import together have at
most 1,000,000 values, and 200,000 cases, turns and checks. Split larger suites, and import them one at
a time.

Files of other systems are read directly: tables ([spreadsheets](spreadsheets.md)) and projects
of [Struere](coming-from-struere.md), [Agentura](coming-from-agentura.md),
[Lobu](coming-from-lobu.md), [HoloDeck](coming-from-holodeck.md),
[promptfoo](coming-from-promptfoo.md), [OpenAI Evals](coming-from-openai-evals.md),
[Agent Skills](coming-from-agent-skills.md), [Pydantic Evals](coming-from-pydantic-evals.md),
[ADK](coming-from-adk.md), [AgentV](coming-from-agentv.md),
[Copilot Studio](coming-from-copilot-studio.md),
[waza](coming-from-waza.md), [DeepEval](coming-from-deepeval.md) and
[tau-bench](coming-from-tau-bench.md). Their defaults are written out on import, so that an export shows them. What they cannot say is written
[beside them](beside-files.md).

Assertions have a page of their own: [assertions](assertions.md). [Your own agent](own-agents.md) describes
what an agent over HTTP, in Python or as a program receives and may answer."""

# File, title, specs in the order of their sections.
_FILES: tuple[tuple[str, str, tuple[type[BaseModel], ...]], ...] = (
    ("*.suite.yaml", "Suites", (SuiteSpec, CaseSpec, TurnSpec, LimitsSpec, GatesSpec)),
    (
        "*.agent.yaml",
        "Agents",
        (
            *(AgentSpec, ModelSpec, AgentSettings, ScriptedRule),
            *(Places, StreamSpec, PollSpec, OAuthSpec, CertificateSpec, PaceSpec),
            *(CannedTool, CannedRule, HttpTool, McpTools, FromEnvironment),
        ),
    ),
    ("*.fixture.yaml", "Test data", (FixtureSpec,)),
    ("*.provider.yaml", "Providers", (ProviderSpec, PriceSpec)),
)
_TITLES: dict[type[BaseModel], str] = {
    CaseSpec: "A case",
    TurnSpec: "A turn",
    LimitsSpec: "Limits of a case",
    GatesSpec: "Gates",
    ModelSpec: "A model with settings",
    AgentSettings: "Settings",
    ScriptedRule: "A rule of a scripted agent",
    Places: "Places in the reply of an agent over HTTP",
    StreamSpec: "The stream of an agent over HTTP",
    PollSpec: "The job of an agent over HTTP",
    OAuthSpec: "The access token of an agent over HTTP",
    CertificateSpec: "The client certificate for an agent over HTTP",
    PaceSpec: "The pace of an agent over HTTP",
    CannedTool: "A tool with canned answers",
    CannedRule: "An answer of such a tool",
    HttpTool: "A tool that asks a server",
    McpTools: "Tools of an MCP server",
    FromEnvironment: "A header from the environment",
    PriceSpec: "A price",
}
_APART: tuple[type[BaseModel], ...] = (*_TITLES, AssertionSpec)


def files_reference() -> str:
    """Return the page: a section for each kind of file, a table for each part of it."""
    parts = [_INTRODUCTION]
    for suffix, title, specs in _FILES:
        parts.append(f"## {title}: `{suffix}`")
        parts += [part for spec in specs for part in _section(spec)]
    return "\n\n".join(parts) + "\n"


def _section(spec: type[BaseModel]) -> list[str]:
    heading = [f"### {_TITLES[spec]}"] if spec in _TITLES else []
    return [
        *heading,
        inspect.cleandoc(spec.__doc__ or ""),
        field_table(spec, heading="key", default=_needed_by, apart=_APART),
    ]


def _needed_by(_: type[BaseModel], field: FieldInfo) -> str | None:
    """Return which driver needs a key of agents."""
    for driver, spec in DRIVERS.items():
        if spec.needed is not None and field is spec.model_fields[spec.needed[0]]:
            return f"required for driver {driver}"
    return None


if __name__ == "__main__":
    sys.stdout.write(files_reference())
