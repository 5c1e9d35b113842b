"""Money: budgets of runs, monthly ceilings, and what was spent.

With a budget, a call first reserves the most that it can cost: one token per byte of the request,
every output token, the highest rate. Workers report totals by role and model, not differences, so a
repeated report counts once. What a dead worker had reserved counts as possibly spent. When a call
does not fit and nothing is reserved, the run stops; it can be resumed.

The transaction that books costs also enters them in the ledger (`runs.ground.ledger`, by UTC day),
which outlives runs and people. A spender first locks the run, then the applicable monthly ceilings in
key order, and adds up the ledger under these locks.
"""
