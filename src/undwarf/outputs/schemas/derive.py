"""JSON Schema (draft 2020-12) of the types of documents.

A type is a TypedDict whose properties are ``Annotated`` with a description, of ``int``, ``float``, ``str``, ``bool``,
``None``, ``Any``, literals, lists, dictionaries by name, unions and other TypedDicts.
"""

from importlib import import_module
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from undwarf.outputs.schemas import DOCUMENTS
from undwarf.outputs.schemas.vocabulary import Rule

_PLAIN = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null"}

Schema = dict[str, Any]


def document_schema(name: str) -> Schema:
    """The schema of a document (a key of ``DOCUMENTS``)."""
    module, _, kind = DOCUMENTS[name].partition(":")
    document = getattr(import_module(f"undwarf.outputs.schemas.{module}"), kind)
    parts: dict[str, Schema] = {}
    schema = _object(document, parts)
    version = schema["properties"]["version"]["const"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:undwarf:{name}:{version}",
        "title": f"undwarf/{name}",
        **schema,
        **({"$defs": dict(sorted(parts.items()))} if parts else {}),
    }


def _object(kind: Any, parts: dict[str, Schema]) -> Schema:
    """The schema of a TypedDict; those within go to ``parts``."""
    properties = {key: _schema(hint, parts) for key, hint in get_type_hints(kind, include_extras=True).items()}
    return {
        "description": " ".join(cleandoc(kind.__doc__ or "").split()),
        "type": "object",
        "properties": properties,
        "required": sorted(kind.__required_keys__),
        "additionalProperties": False,
    }


def _schema(hint: Any, parts: dict[str, Schema]) -> Schema:
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if is_typeddict(hint):
        if hint.__name__ not in parts:
            parts[hint.__name__] = {}
            parts[hint.__name__] = _object(hint, parts)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = _schema(arguments[0], parts)
        for note in hint.__metadata__:
            schema = schema | ({note.keyword: note.value} if isinstance(note, Rule) else {"description": note})
        return schema
    if origin is Literal:
        return {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0], parts)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], parts)}
    if origin in (Union, UnionType):
        return _union([_schema(argument, parts) for argument in arguments])
    if origin is NotRequired:
        return _schema(arguments[0], parts)
    raise TypeError(f"no JSON Schema of {hint!r}")


def _union(schemas: list[Schema]) -> Schema:
    """One schema with a list of types where no more than one of them says more than its type."""
    detailed = [schema for schema in schemas if set(schema) != {"type"}]
    if len(detailed) > 1 or any("type" not in schema for schema in detailed):
        return {"anyOf": schemas}
    merged: Schema = {"type": [schema["type"] for schema in schemas]}
    for schema in detailed:
        merged |= {key: value for key, value in schema.items() if key != "type"}
    return merged
