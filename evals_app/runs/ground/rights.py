"""Who may start and manage runs: one rule for pages and REST."""

# All or nothing. Anyone who may start runs, and so spend money, may also stop and resume them, put
# them back in the queue, keep their transcripts, make them baselines and run their cases again.
RUNNING = ("evals_app.view_run", "evals_app.add_run")

# Anyone who may do this can give a site what its runs need: keys, judges, ceilings.
SETTING_UP = "evals_app.change_provider"
