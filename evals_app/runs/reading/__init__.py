"""Runs read for people and programs: comparisons, baselines, history, verdicts and reports.

`suite_verdict` and `Run.objects.suite_verdicts()` alone decide which run speaks for a suite.
`baselines` finds the run that the gates of another one compare with, and notes it when the run
starts. Comparisons read outcomes by case name; the last few stay in memory, because people turn
pages. Reports read their lists from the rows each time they go through them, so that a report of
100,000 executions is never in memory at once.
"""
