"""Runs read for people and programs: comparisons, baselines, history, verdicts and reports."""
