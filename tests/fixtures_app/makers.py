"""An entity type that several tests use."""

STUDENT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "grade": {"type": "integer"},
        "level": {"enum": ["junior", "senior"]},
        "born": {"type": "string", "format": "date"},
        "seen": {"type": "string", "format": "date-time"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
        "contact": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
}
