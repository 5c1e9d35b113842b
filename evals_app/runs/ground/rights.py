"""Who may start runs, and do whatever else is done with them: one rule for pages and REST."""

# All or nothing. Whoever may start runs, and so spend money, may also stop them, let them go on,
# put them back in the queue, keep their transcripts, make them baselines and run their cases again.
RUNNING = ("evals_app.view_run", "evals_app.add_run")
