"""Money: budgets of runs, monthly ceilings, and what was spent."""
