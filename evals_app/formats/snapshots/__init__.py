"""Snapshots of what a run uses, and how two of them differ.

Differences come in two kinds: the agent, which is the point of a comparison, and criteria, which make
the numbers incomparable.
"""
