"""Deletes what people wrote, and restores it: `written` is the way in, `kept_rows` moves the rows.

Deleted rows leave their tables, so no list, count, search or file has to leave them out. `DeletedPart`
keeps them as they were, with their keys; restoring puts them back, and lets runs refer to their suite
again. Results of a case belong to it by its name, so they need nothing.
"""
