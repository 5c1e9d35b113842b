"""The pages of runs: progress, results, actions and reports."""
