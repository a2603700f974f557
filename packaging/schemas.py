"""Write resources/schemas/*.json: the official JSON schemas of MCP without their descriptions.

    python3 packaging/schemas.py FOLDER    FOLDER holds REVISION.json or REVISION/schema.json

The schemas are those of the specification's repository, modelcontextprotocol/modelcontextprotocol.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

_TARGET: Final = Path(__file__).resolve().parent.parent / "resources" / "schemas"
_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
_WORDS: Final = frozenset({"description", "title", "$comment", "examples"})


def bare(schema: Any) -> Any:
    """A schema without the words for readers. Members of `properties` are names, not keywords."""
    if isinstance(schema, list):
        return [bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for name, part in schema.items():
        if name in {"properties", "$defs", "definitions"} and isinstance(part, dict):
            kept[name] = {inner: bare(value) for inner, value in part.items()}
        elif name not in _WORDS or not isinstance(part, str | list):
            kept[name] = bare(part)
    return kept


def main(folder: Path) -> None:
    """Write the schema of each revision."""
    _TARGET.mkdir(parents=True, exist_ok=True)
    for revision in _REVISIONS:
        found = folder / f"{revision}.json"
        source = found if found.is_file() else folder / revision / "schema.json"
        schema = bare(json.loads(source.read_text(encoding="utf-8")))
        text = json.dumps(schema, ensure_ascii=False, separators=(",", ":")) + "\n"
        (_TARGET / f"{revision}.json").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
