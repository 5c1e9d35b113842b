"""Running conversations: many at once, each graded and handed over in batches.

    run_gateway     what the engine needs of the outside: claim, begin, record, send_heartbeat, ...
    execution       many conversations at once, in as many slots as the run has
    feeding         claims jobs ahead of time
    conversation    one conversation, turn by turn
    gathering       waits for the spans of an agent after its last reply
    recording       hands outcomes over in batches
    outcome_columns outcomes as the columns of results

Every operation of a gateway may be repeated. `spans` alone knows the conventions of traces. Tool
calls that did not arrive are neither empty nor a pass: the check that reads them is ungraded.
"""
