"""Conversations that happened outside: files of help desks, model APIs and trace stores.

`recorded.py` says what a reader makes of a file; each other module reads one kind.
"""
