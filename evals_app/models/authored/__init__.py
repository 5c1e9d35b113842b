"""What people write: suites, agents, providers, attachments and evaluation steps.

`mapping` maps rows and specs in both directions, one table for each type of row. Files that turns show
are stored once, by their SHA-256; specs and snapshots have the name and the digest.
"""
