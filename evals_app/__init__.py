"""Evaluate LLM agents.

Layers; each imports only from those below it (contracts in pyproject.toml):

    management                          commands
    admin | api | mcp | tasks           what people, programs, agents and the queue call
    requests                            what REST and MCP share
    library | runs                      specs to rows and back; runs, from start to report
    code | models                       evals as code; rows, their integrity and their changes of status
    formats | reports                   bytes to specs and back; results as words and documents
    engine                              run conversations and grade them; knows no Django
    fixtures_app.ground                 what both applications need; knows no Django

Inside a layer a folder is a room: one subject. Most have the same name in every layer that has them;
CONTRIBUTING.md lists ten features with their rooms.
"""

from pathlib import Path

__version__ = "0.1.0"
# Of REST: see "Versions" in docs/rest.md.
API_VERSION = "1"

# The project folder; where the package is installed, the folder of all packages.
SOURCES = Path(__file__).resolve().parent.parent
IS_INSTALLED = not (SOURCES / "manage.py").is_file()
COMMAND = "evalwell" if IS_INSTALLED else "manage.py"
# Where relative paths of the operator begin.
PROJECT = Path.cwd() if IS_INSTALLED else SOURCES
