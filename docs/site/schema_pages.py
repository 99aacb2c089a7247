"""The reference of what `--json` prints: a page in Markdown for each JSON Schema of the package."""

import json
from pathlib import Path
from typing import Any

from command_pages import escaped

SCHEMAS = Path(__file__).resolve().parents[2] / "src" / "undwarf" / "outputs" / "schemas"


def code(value: object) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`".replace("|", "\\|")


def kind(schema: Any) -> str:
    """What values a schema allows, in words."""
    if not isinstance(schema, dict):
        return "any" if schema else "none"
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{escaped(name)}](#{name.lower()})"
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return ", ".join(code(one) for one in schema["enum"])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(kind(one) for one in schema[word])
    types = schema.get("type", "any")
    return " or ".join(_of_type(one, schema) for one in ([types] if isinstance(types, str) else types))


def _of_type(name: str, schema: dict[str, Any]) -> str:
    if name == "array" and "items" in schema:
        return f"array of {kind(schema['items'])}"
    if name == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object with values: {kind(schema['additionalProperties'])}"
    return name


def rows(schema: dict[str, Any], path: str = "") -> list[str]:
    """A row for each property, and for those of objects inside of it."""
    found = []
    required = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        described = one if isinstance(one, dict) else {}
        meaning = " ".join(escaped(described.get("description", "")).split())
        always = "yes" if name in required else "no"
        found.append(f"| `{path}{name}` | {kind(one)} | {always} | {meaning} |")
        items = described.get("items", {})
        found += rows(described, f"{path}{name}.")
        found += rows(items, f"{path}{name}[].") if isinstance(items, dict) else []
    return found


def table(schema: dict[str, Any]) -> list[str]:
    found = rows(schema)
    head = ["| key | value | always there | meaning |", "|---|---|---|---|"]
    return [*head, *found, ""] if found else [f"Values: {kind(schema)}.", ""]


def page(path: Path) -> str:
    """The page of one schema."""
    schema = json.loads(path.read_text(encoding="utf-8"))
    lines = [f"# {escaped(path.stem)}", "", escaped(schema.get("description", "")), ""]
    lines += [f"`undwarf schema {path.stem}` prints the schema.", "", *table(schema)]
    for name, one in schema.get("$defs", {}).items():
        lines += [f"## {escaped(name)}", "", escaped(one.get("description", "")), "", *table(one)]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Write a page for each schema, and one that lists them."""
    found = sorted(SCHEMAS.glob("*.json"))
    folder.mkdir(parents=True, exist_ok=True)
    for path in found:
        (folder / f"{path.stem}.md").write_text(page(path), encoding="utf-8")
    lines = "of `addr2line`, `fold`, `script` and `top`: of each line"
    listed = ["# JSON schemas", "", f"Of what commands print with `--json` ({lines}).", ""]
    listed += ["[JSON](../json.md) has what they share.", "", "```{toctree}", "", *(path.stem for path in found), "```"]
    (folder / "index.md").write_text("\n".join(listed) + "\n", encoding="utf-8")
