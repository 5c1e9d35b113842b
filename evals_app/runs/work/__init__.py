"""The work of one process on one run: the lease, the heartbeat, and recording outcomes.

    lease         open -> claim queued rows -> begin, which counts an attempt -> record or release
    run_worker    `DatabaseGateway`: the engine's `RunGateway`, made of rows
    heartbeat     renews the lease, reads why to stop, exchanges limits of providers
    record        up to 200 outcomes in one transaction, if the row still has the lease's token
    skipping      trials that cannot change the verdict of their case

A worker that lost its lease finds no row with its token and writes nothing. Rows whose worker died
are suspects: they are claimed last, first in groups of eight and then alone, by a process that
works on no other run. So a conversation that kills its worker is found without affecting others.
Workers of a run share its concurrency evenly, so two processes work side by side on a small run.

Released rows return to the queue as if they had not begun. Replies that are already paid for are
kept (`PaidCalls`), and the conversation gets them again without asking the model.
"""
