"""Documents of ``--json``, checked against their published schemas."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from undwarf.outputs.schemas import published

Document = dict[str, Any]


@cache
def validator(name: str) -> Draft202012Validator:
    """Of the documents called ``undwarf/NAME``."""
    return Draft202012Validator(json.loads(published(name)))


def document(text: str) -> Document:
    """The only document in a text, which is valid."""
    found: Document = json.loads(text)
    name = found["schema"].removeprefix("undwarf/")
    problems = [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(found)]
    assert not problems, problems[:5]
    _check_text(found)
    return found


def documents(text: str) -> list[Document]:
    """The documents of a command that prints one or several, one a line."""
    lines = text.splitlines()
    try:
        json.loads(lines[0])
    except ValueError:
        return [document(text)]
    return list(map(document, lines))


def _check_text(value: Any) -> None:
    """Surrogates stand for what is no text: strict readers refuse them."""
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, list):
        for entry in value:
            _check_text(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            _check_text(key)
            _check_text(entry)


def objects(name: str) -> dict[str, Document]:
    """The schemas of objects in a schema by name, that of the whole document by an empty one."""
    schema = validator(name).schema
    return {"": schema, **schema.get("$defs", {})}


def properties_in(name: str, found: Document) -> set[tuple[str, str]]:
    """(object, property) of all that a document has."""
    return set(_within(objects(name), {"$ref": "#/$defs/"}, found))


def _within(parts: dict[str, Document], schema: Document, value: Any) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    for choice in schema.get("anyOf", ()):
        yield from _within(parts, choice, value)
    if "$ref" in schema:
        part = schema["$ref"].removeprefix("#/$defs/")
        for key, entry in value.items():
            yield part, key
            yield from _within(parts, parts[part]["properties"][key], entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _within(parts, schema["items"], entry)
    elif isinstance(value, dict) and isinstance(inner := schema.get("additionalProperties"), dict):
        for entry in value.values():
            yield from _within(parts, inner, entry)
