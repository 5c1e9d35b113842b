"""Evaluate LLM agents.

Layers; each imports only from those below it (contracts in pyproject.toml):

    admin | api | management | tasks    what people, tools and the queue call
    runs | library | documents          run a suite; specs to rows and back; rows to documents
    models                              rows, their integrity and their changes of status
    formats | reports                   bytes to specs and back; summaries to documents
    engine                              run conversations and grade them; knows no Django
    fixtures_app.ground                 what both applications need; knows no Django
"""

from pathlib import Path

__version__ = "0.1.0"

# The project folder; where the package is installed, the folder of all packages.
SOURCES = Path(__file__).resolve().parent.parent
IS_INSTALLED = not (SOURCES / "manage.py").is_file()
COMMAND = "evalwell" if IS_INSTALLED else "manage.py"
# Where relative paths of the operator begin.
PROJECT = Path.cwd() if IS_INSTALLED else SOURCES
