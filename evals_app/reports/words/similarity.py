"""How the texts of a run were compared, in words and in JSON."""

from collections.abc import Mapping

SIMILARITY_COLUMNS = ("similarity", "is_similarity_stand_in")
STAND_IN = "Stand-in similarity"
DIFFERENTLY = "measured differently"


def similarity_json(run: Mapping[str, object]) -> dict[str, object] | None:
    """Return the method and whether it replaces embeddings; None if no texts are compared."""
    if not run["similarity"]:
        return None
    return {"method": run["similarity"], "is_stand_in": run["is_similarity_stand_in"]}


def compared_by(method: str) -> str:
    """Return what compared texts, in words."""
    what, _, name = method.partition(" ")
    if what == "embeddings":
        return f"embeddings of {name}"
    return f"the judge {name}" if name else "shared words"


def stand_in_note(method: str) -> str:
    """Return the note on what replaced embeddings."""
    return (
        f"{STAND_IN}: no embeddings were available, so texts were compared by {compared_by(method)}."
        " Scores of “Reply means the same” are not comparable with those of runs that had embeddings."
    )


def is_measured_differently(method: str, other: str) -> bool:
    """Return whether two runs compared texts differently: their scores are not comparable."""
    return bool(method and other and method != other)
