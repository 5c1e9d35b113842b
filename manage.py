#!/usr/bin/env python3
"""Run a management command: `manage.py help` lists them."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Hand the command line to Django, with this site's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
