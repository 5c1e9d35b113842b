"""The tools through which an agent reads and changes a world.

A tool is a row of TOOLS. A ToolWorld is what the engine works with: it checks the arguments, runs the
tool, and answers an invalid call with an error that explains how to call it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fixtures_app.ground.json_data import json_problems, value_text
from fixtures_app.ground.schemas import schema_misfits
from fixtures_app.ground.words import suggestion
from fixtures_app.world import ACTIVE, FixtureWorld, Row, WorldRefusalError

MAX_LIMIT = 200


@dataclass(frozen=True, slots=True)
class WorldTool:
    """A tool: how models see it, and what it does.

    `parameters` is a JSON Schema. `retrieval` names the key of the result that lists fetched
    chunks, if any. `run` receives arguments that fit the schema and may raise RefusedError.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[FixtureWorld, Row], Row]
    retrieval: str | None = None


def _query(world: FixtureWorld, args: Row) -> Row:
    entities, total = world.query(
        args["type"],
        filters=args.get("filters"),
        text=args.get("text", ""),
        limit=int(args.get("limit", 50)),  # 50.0 is an integer in JSON Schema
        offset=int(args.get("offset", 0)),
    )
    return {"entities": entities, "total": total}


def _create(world: FixtureWorld, args: Row) -> Row:
    return world.create_entity(args["type"], args["data"], status=args.get("status", ACTIVE))


def _update(world: FixtureWorld, args: Row) -> Row:
    if "data" not in args and "status" not in args:
        raise WorldRefusalError("invalid_arguments", "entity.update needs data, status or both.")
    return world.update_entity(args["id"], data=args.get("data"), status=args.get("status"))


def _list_relations(world: FixtureWorld, args: Row) -> Row:
    relations = world.relations(from_=args.get("from"), to=args.get("to"), kind=args.get("type"))
    return {"relations": relations}


def _delete_relation(world: FixtureWorld, args: Row) -> Row:
    world.delete_relation(args["id"])
    return {"deleted": args["id"]}


def _parameters(required: Sequence[str] = (), **properties: Row) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": {key.rstrip("_"): schema for key, schema in properties.items()},
        "required": list(required),
        "additionalProperties": False,
    }


def _text(description: str) -> Row:
    return {"type": "string", "minLength": 1, "description": description}


def _object(description: str) -> Row:
    return {"type": "object", "description": description}


def _limit(default: int) -> Row:
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_LIMIT,
        "default": default,
        "description": "Maximum number of results.",
    }


_ENTITY_ID = _text("Id of the entity.")
_TYPE = _text("Slug of the entity type.")

_ALL = (
    WorldTool(
        "entity.query",
        "Find entities of a type. Returns entities (id, type, status, data) and the total number"
        " of matches.",
        _parameters(
            ["type"],
            type=_TYPE,
            filters=_object(
                "Fields and the values that they must equal: a field of the data, a dotted path"
                " into it (address.city, items.0.name), or status. data.status is the field of"
                " that name. A missing field equals nothing, not even null."
            ),
            text={
                "type": "string",
                "description": "Text that the id or any value of the data must contain. Case is"
                " ignored.",
            },
            limit=_limit(50),
            offset={
                "type": "integer",
                "minimum": 0,
                "default": 0,
                "description": "How many matches to skip.",
            },
        ),
        _query,
    ),
    WorldTool(
        "entity.get",
        "Get one entity (id, type, status, data) by its id.",
        _parameters(["id"], id=_ENTITY_ID),
        lambda world, args: world.entity(args["id"]),
    ),
    WorldTool(
        "entity.create",
        "Create an entity. Returns it with its new id.",
        _parameters(
            ["type", "data"],
            type=_TYPE,
            data=_object("The data. It must fit the entity type."),
            status=_text("Status of the entity. The default is active."),
        ),
        _create,
    ),
    WorldTool(
        "entity.update",
        "Change an entity. Returns the changed entity.",
        _parameters(
            ["id"],
            id=_ENTITY_ID,
            data=_object(
                "Fields to set (JSON merge patch): objects are merged, null removes a field,"
                " other fields stay."
            ),
            status=_text("New status."),
        ),
        _update,
    ),
    WorldTool(
        "entity.delete",
        "Delete an entity and every relation from or to it.",
        _parameters(["id"], id=_ENTITY_ID),
        lambda world, args: {
            "deleted": args["id"],
            "relations_deleted": world.delete_entity(args["id"]),
        },
    ),
    WorldTool(
        "relation.list",
        "List relations (id, from, to, type, metadata). Without arguments, lists all of them.",
        _parameters(
            from_=_text("Id of the entity that they start from."),
            to=_text("Id of the entity that they lead to."),
            type=_text("Type of the relations."),
        ),
        _list_relations,
    ),
    WorldTool(
        "relation.create",
        "Link two entities. Returns the relation with its new id.",
        _parameters(
            ["from", "to", "type"],
            from_=_text("Id of the entity that it starts from."),
            to=_text("Id of the entity that it leads to."),
            type=_text("Type of the relation."),
            metadata=_object("Notes about the link."),
        ),
        lambda world, args: world.create_relation(
            args["from"], args["to"], args["type"], metadata=args.get("metadata")
        ),
    ),
    WorldTool(
        "relation.delete",
        "Delete one relation by its id.",
        _parameters(["id"], id=_text("Id of the relation.")),
        _delete_relation,
    ),
    WorldTool(
        "knowledge.search",
        "Search the knowledge base. Returns the chunks (id, text, source, score) that share words"
        " with the query, best first.",
        _parameters(["query"], query=_text("Words to search for."), limit=_limit(5)),
        lambda world, args: {
            "chunks": world.search(args["query"], limit=int(args.get("limit", 5)))
        },
        retrieval="chunks",
    ),
)

TOOLS: Mapping[str, WorldTool] = MappingProxyType({tool.name: tool for tool in _ALL})


class ToolWorld(FixtureWorld):
    """A private world as one execution sees it: through its tools."""

    tools: Mapping[str, WorldTool] = TOOLS

    def call(self, name: str, args: Mapping[str, object]) -> Row:
        """Call a tool; a refused call returns `{"error": {"code", "message"}}`."""
        self.begin_step(name)
        try:
            tool = self.tools.get(name)
            if tool is None:
                message = f"There is no tool {value_text(name)}.{suggestion(str(name), self.tools)}"
                raise WorldRefusalError("unknown_tool", message)  # noqa: TRY301 - one shape of error
            return tool.run(self, _check_arguments(tool, args))
        except WorldRefusalError as refusal:
            return {"error": {"code": refusal.code, "message": str(refusal)}}


def _check_arguments(tool: WorldTool, args: Mapping[str, object]) -> Row:
    given: Row = dict(args) if isinstance(args, Mapping) else args
    faults = [str(problem) for problem in json_problems(given)]
    # Only JSON can be checked against a schema.
    faults = faults or schema_misfits(given, tool.parameters, whole="what was passed")
    if faults:
        message = f"Wrong arguments for {tool.name}: {' '.join(faults)}"
        raise WorldRefusalError("invalid_arguments", message)
    return given
