#!/usr/bin/env python3
"""Run a management command: `manage.py help` lists them."""

from evalsite.command_line import main

if __name__ == "__main__":
    main()
