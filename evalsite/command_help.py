"""What the command says about itself: its own commands in groups, one line each."""

import platform
from collections.abc import Mapping

import django

from evals_app import __version__

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Set up": {
        "migrate": "Make the database, or upgrade it",
        "createsuperuser": "Add the first person",
        "changepassword": "Give someone a new password",
        "check": "Say what is wrong with the settings (--deploy: before others use the site)",
        "demo": "Load the examples, run them and serve them",
        "serve": "Serve the site, and work on runs",
        "worker": "Only work on runs",
        "create_token": "Make a token for programs",
    },
    "Write": {
        "init": "Begin a project: an agent and a suite that run at once",
        "new_suite": "Write a suite file to start from",
        "new_fixture": "Write a file with test data to start from",
        "check_evals": "Find checks that cannot fail, before anything runs",
        "import_evals": "Import files of this and other systems",
        "export_evals": "Write suites, agents and test data to files",
        "save_openai_evals": "Save the evals of an OpenAI account as files",
        "write_schemas": "Write JSON Schemas, for editors that complete YAML",
    },
    "Run and decide": {
        "connect": "Answer for an agent of a site from this computer",
        "list_evals": "List suites, or agents, runs and cases",
        "run_evals": "Run suites, or files without a database",
        "runs": "Watch, resume, cancel, grade again or re-run a run",
        "compare_runs": "Say what is better and worse in another run",
        "decide": "May we ship?",
        "settle": "Retest what got worse: chance, or really worse",
        "set_baseline": "Make a run the released version of its suite",
    },
    "Look after": {
        "spending": "Say what runs spent in a month",
        "import_conversations": "Import real conversations, and grade them",
        "prune_transcripts": "Delete old conversations",
        "find_text": "Find where a text is stored, to remove it",
        "mcp": "Let an assistant use the site (MCP)",
    },
}


def overview(program: str) -> str:
    """Return what the command is for, its commands in groups, and where to read on."""
    width = max(len(name) for group in GROUPS.values() for name in group)
    groups = "\n\n".join(
        "\n".join([title, *(f"  {name:{width}}  {about}" for name, about in commands.items())])
        for title, commands in GROUPS.items()
    )
    return (
        "Evalwell tests AI agents: suites of conversations, checks that decide, results to review.\n\n"
        f"{groups}\n\n"
        f"{program} COMMAND --help has the options of a command, and {program} django the commands of\n"
        "Django, which Evalwell is made with."
    )


def version() -> str:
    """Return the version, with what to name in a report of an error."""
    return f"Evalwell {__version__} (Django {django.get_version()}, Python {platform.python_version()})"
