"""From a trial to verdicts: grades, scores, limits, gates, and what people overrule."""
