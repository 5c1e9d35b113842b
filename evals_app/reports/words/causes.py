"""Why a conversation did not pass, as people read it: by the word of files and REST."""

CAUSE_WORDS = {
    "assertion": "A check did not pass",
    "limit": "A limit was exceeded",
    "agent": "The agent failed",
    "case": "Inconclusive: no check in this case could decide",
    "user": "The user's side could not go on",
    "tool": "A tool failed",
    "judge": "The judge could not grade",
    "budget": "The cost ceiling was reached",
    "provider": "The model provider was unavailable",
    "harness": "Internal error in Evalwell",
}
