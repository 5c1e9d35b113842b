"""Fixtures: data sets, and the private worlds that executions read and change."""
