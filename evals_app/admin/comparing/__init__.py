"""Comparing runs and single cases.

`views` has the addresses, `comparison_page` and `side_by_side` what the pages show, `paired_executions`
pairs the turns, calls and grades of two executions. In charts, lines differ by dash and shape, and the
same numbers are in a table.
"""
