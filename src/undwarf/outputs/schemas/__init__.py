"""What ``--json`` prints, as types: one module a command, from which the published JSON Schemas beside it are made.

An output returns these types, so that mypy finds a key that is missing, misspelt or of another type; the same types
with their descriptions are the schema, so that neither lags behind the other.
"""

from importlib.resources import files

DOCUMENTS = {
    "addr2line": "addr2line:Address",
    "diff": "diff:Diff",
    "doctor": "doctor:Doctor",
    "export": "written_files:Export",
    "flamegraph": "written_files:Flamegraph",
    "fleet-compact": "fleet:FleetCompact",
    "fleet-ingest": "fleet:FleetIngest",
    "fleet-symbols-add": "fleet:FleetSymbolsAdd",
    "fleet-symbols-missing": "fleet:FleetSymbolsMissing",
    "fold": "fold:Fold",
    "info": "info:Info",
    "info-missing": "info:Missing",
    "query": "query:Query",
    "query-tables": "query:Tables",
    "record": "record:Record",
    "report": "report:Report",
    "report-source": "report_source:ReportSource",
    "script": "script:Script",
    "shrink": "written_files:Shrink",
    "stack": "stack:Stack",
    "tables-cache": "tables:TablesCache",
    "tables-convert": "tables:TablesConvert",
    "tables-dump": "tables:TablesDump",
    "tables-sizes": "tables:TablesSizes",
    "tables-verify": "tables:TablesVerify",
    "top": "top:Top",
    "types": "types:Types",
    "types-at": "types:TypesAt",
    "types-layout": "types:TypesLayout",
    "view": "written_files:View",
}
"""By name: the module here and the type of a whole document, or of one line where a command prints lines."""


def published(name: str) -> str:
    """The text of a document's JSON Schema."""
    return (files(__name__) / f"{name}.json").read_text(encoding="utf-8")
