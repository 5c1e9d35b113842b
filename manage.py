#!/usr/bin/env python3
"""Run a management command: `manage.py help` lists them."""

import sys
from pathlib import Path

from evalsite.command_line import main

# Plug-ins import `evalwell`, which is there in an installed package.
sys.path.append(str(Path(__file__).resolve().parent / "evals_app" / "python"))

if __name__ == "__main__":
    main()
