"""Checks proposed from what an agent did, and the case that they become.

`proposals` proposes checks from a trial, `value_parts` says what would differ the next time, and
`recorded_tools` turns recorded results into canned tools.
"""
