"""How the texts of a run were compared, in words and in JSON."""

from collections.abc import Mapping
from typing import Any

SIMILARITY_COLUMNS = ("similarity", "is_similarity_stand_in")
STAND_IN = "Stand-in similarity"
DIFFERENTLY = "measured differently"


def similarity_json(run: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the method and whether it stands in for embeddings; None if no texts are compared."""
    if not run["similarity"]:
        return None
    return {"method": run["similarity"], "is_stand_in": run["is_similarity_stand_in"]}


def stand_in_note(run: Mapping[str, Any]) -> str:
    """Return the sentences that say what stood in for embeddings; empty if nothing did."""
    if not run["is_similarity_stand_in"]:
        return ""
    _, _, judge = run["similarity"].partition(" ")
    how = (
        f"the judge {judge} compared the meaning of texts" if judge else "shared words were counted"
    )
    return (
        f"{STAND_IN}: no embeddings were available, so {how}. Scores of “Reply means the same” do"
        " not compare with those of runs that had embeddings."
    )


def is_measured_differently(method: str, other: str) -> bool:
    """Return whether two runs compared texts in different ways, so that their scores do not compare."""
    return bool(method and other and method != other)
