"""Write the reference pages of the manual from the program itself: docs/reference/*.md.

    python3 packaging/dev.py docs           write the pages
    python3 packaging/dev.py docs --check   only tell whether they are up to date

It runs in the project's own environment, which has the program and Qt.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import click

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / "docs" / "reference"
PROGRAM: Final = "mcp-progress-monitor"
_NOTE: Final = "<!-- Written by packaging/dev.py docs from the program. Do not edit. -->"
_WIDTH: Final = 100


def command_line() -> str:
    """The page of commands and options."""
    from mcp_progress_monitor.cli.entry import program

    context = context_of(program, PROGRAM)
    own, shared = option_sets(program)
    lines = [
        _heading("Command line"),
        (
            "Options can be given in any order before `--`. Options that commands share can also "
            "come before the command's name."
        ),
        _fenced(context.get_usage().removeprefix("Usage: ")),
        "## Without a command",
        help_of(program),
        *_options(own),
        *_epilog(program),
        "## Shared options",
        *_options(shared),
    ]
    for command, inner in leaves(program, PROGRAM):
        rows = rows_of(command, inner)
        common = [_long_name(row) for row in rows if row in shared]
        also = ", ".join(f"`{name}`" for name in common)
        lines += [
            f"## {inner.command_path.removeprefix(PROGRAM + ' ')}",
            help_of(command),
            _fenced(inner.get_usage().removeprefix("Usage: ")),
            *_options(row for row in rows if row not in shared),
            *([f"[Shared options](#shared-options): {also}."] if also else []),
            *_epilog(command),
        ]
    return _page(lines)


_SHARED_BY: Final = 8


class Row(NamedTuple):
    """An option as its help shows it."""

    option: str
    text: str


def _long_name(row: Row) -> str:
    names = row.option.replace(",", " ").split()
    return next((name for name in names if name.startswith("--")), names[0])


def context_of(
    command: click.Command, name: str, parent: click.Context | None = None
) -> click.Context:
    """The context in which a command's help is written, as wide as the pages."""
    import click

    # With the command's own settings, as of the program: click keeps the help option it makes.
    widths = {"terminal_width": _WIDTH, "max_content_width": _WIDTH}
    settings = {**command.context_settings, **widths}
    return click.Context(command, info_name=name, parent=parent, **settings)


def leaves(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[click.Command, click.Context]]:
    """Every command below this one, with its context."""
    context = context_of(command, name, parent)
    for inner_name, inner in sorted(getattr(command, "commands", {}).items()):
        if not inner.hidden:
            yield inner, context_of(inner, inner_name, context)
            yield from leaves(inner, inner_name, context)


def option_sets(program: click.Command) -> tuple[list[Row], list[Row]]:
    """The options of the program alone, and those that many commands share."""
    counted = [row for command in leaves(program, PROGRAM) for row in rows_of(*command)]
    shared = [row for row in dict.fromkeys(counted) if counted.count(row) >= _SHARED_BY]
    own = rows_of(program, context_of(program, PROGRAM))
    return [row for row in own if row not in shared], shared


def rows_of(command: click.Command, context: click.Context) -> list[Row]:
    """The options of a command that its help lists."""
    records = [param.get_help_record(context) for param in command.get_params(context)]
    return [Row(*record) for record in records if record is not None and record[1]]


def _options(rows: Iterable[Row]) -> list[str]:
    cells = [(f"`{row.option}`", row.text) for row in rows]
    return [_table(("option", "meaning"), cells)] if cells else []


def help_of(command: click.Command) -> str:
    """The text of a command's help, without click's marks."""
    return inspect.cleandoc(command.help or "").replace("\b\n", "")


def _epilog(command: click.Command) -> list[str]:
    text = (command.epilog or "").replace("\b", "").strip("\n")
    return [_fenced(text)] if text.strip() else []


def filter_fields() -> str:
    """The page of the fields and operators of filters."""
    from mcp_progress_monitor.filtering.fields import FIELDS, OPERATORS

    fields = [
        (f"`{f.name}`", f.meaning, f.type.value, " ".join(f"`{c}`" for c in f.choices))
        for f in FIELDS.values()
    ]
    operators = [(f"`{name}`", meaning) for name, meaning in OPERATORS.items()]
    return _page(
        [
            _heading("Filter fields"),
            "[Filter language](../filters.md) explains how to combine them.",
            _table(("field", "meaning", "compared with", "words"), fields),
            "## Operators",
            _table(("operator", "a field"), operators),
        ]
    )


def clients() -> str:
    """The page of the clients whose configuration is read and written."""
    from mcp_progress_monitor.catalogue.clients import KNOWN

    rows = [
        (
            client.title,
            f"`{client.key}`",
            client.next_step or f"Restart {client.title}.",
            ", ".join(f"`{place}`" for place in client.project_places),
        )
        for client in KNOWN
    ]
    return _page(
        [
            _heading("Clients"),
            (
                "Servers can be [imported](../servers.md#import) from these clients, exported to"
                " them, and [watched](../watch-your-client.md) there."
            ),
            _table(("client", "on the command line", "after a change", "files in a project"), rows),
        ]
    )


def exit_code_rows() -> list[tuple[int, str]]:
    """Each exit code with the text below it in the source."""
    from mcp_progress_monitor.cli import exits

    tree = ast.parse(Path(exits.__file__).read_text(encoding="utf-8"))
    (body,) = (n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "ExitCode")
    rows = []
    for value, text in zip(body[1::2], body[2::2], strict=True):
        assert isinstance(value, ast.Assign)  # noqa: S101
        assert isinstance(text, ast.Expr)  # noqa: S101
        rows.append((ast.literal_eval(value.value), ast.literal_eval(text.value)))
    return rows


def exit_codes() -> str:
    """The page of exit codes."""
    return _page(
        [
            _heading("Exit codes"),
            (
                "Every command ends with one of these. Codes may be added, but never change their "
                "meaning. [Scripts and CI](../scripts.md) shows how to use them."
            ),
            _table(("code", "meaning"), [(f"`{code}`", text) for code, text in exit_code_rows()]),
        ]
    )


def rules() -> str:
    """The page of rules: what each asks for, where it is written, how to fix what breaks it."""
    from mcp_progress_monitor.findings.advice import ADVICE, REVISIONS_OF
    from mcp_progress_monitor.findings.clients import AS_OF, LIMITS
    from mcp_progress_monitor.findings.rules import RULES
    from mcp_progress_monitor.formatting import duration

    rows = [
        (f"[{id_}](#{_anchor(id_, advice.title)})", advice.title, _levels(id_))
        for id_, advice in ADVICE.items()
    ]
    limits = [
        (each.client, each.transport or "any", duration(int(each.limit_s)), each.seen, each.source)
        for each in LIMITS
    ]
    lines = [
        _heading("Rules"),
        (
            "`check` tries these rules on recordings, and `call --json` on live traffic. "
            "[Use in CI](../ci.md) shows how to fail a build with them. A rule can have several "
            "levels: an error violates the protocol, a warning is doubtful or a SHOULD, a note is "
            "allowed and worth a look."
        ),
        _table(("rule", "what it finds", "level"), rows),
    ]
    for id_, advice in ADVICE.items():
        sources = dict.fromkeys(rule.source for rule in RULES if rule.id == id_)
        revisions = [r for r in _REVISIONS if r in REVISIONS_OF[id_]]
        spoken = "all revisions" if len(revisions) == len(_REVISIONS) else ", ".join(revisions)
        named = "; ".join(f"{document}, {section}" for document, section in sources)
        lines += [
            f"## {id_}: {advice.title}",
            advice.due,
            f"Since {advice.since}; applies to {spoken}. Certainty: {advice.certainty.value}.",
            f"Source: {named}.",
            f"Fix: {advice.fix}",
        ]
        if advice.python:
            lines += ["With the Python SDK:", _fenced(advice.python)]
            lines += ["With the TypeScript SDK:", _fenced(advice.typescript)]
    lines += [
        "## Known clients",
        (
            f"How long clients wait for a silent server by default, as of {AS_OF}. PROG-18 names "
            "those that would have given up."
        ),
        _table(("client", "transport", "limit", "seen", "source"), limits),
    ]
    return _page(lines)


_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


def _levels(id_: str) -> str:
    from mcp_progress_monitor.findings.finding import Level
    from mcp_progress_monitor.findings.rules import RULES

    found = {rule.level for rule in RULES if rule.id == id_}
    return ", ".join(level.value for level in Level if level in found)


def _anchor(id_: str, title: str) -> str:
    """The anchor that Markdown gives to the heading of a rule."""
    kept = "".join(c for c in f"{id_}: {title}".lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def settings() -> str:
    """The page of settings, in the order of the dialog."""
    from mcp_progress_monitor.gui.user_settings import SECTIONS

    lines = [
        _heading("Settings"),
        (
            "Ctrl+, opens them. Those of recordings are saved in "
            "`recordings/settings.json` of the data folder, the others in `window.ini`."
        ),
    ]
    for section in SECTIONS:
        group, cells = "", []
        for row in section.rows():
            group = row.heading or group
            if setting := section.settings().get(row.name):
                title = f"{row.within.text} {row.title}".strip()
                title = title if group in {title, section.title} else f"{group}: {title}"
                cells.append((title, row.tip, setting.shown(setting.default), setting.range))
        lines += [
            f"## {section.title}",
            _table(("setting", "what it does", "default", "values"), cells),
        ]
    return _page(lines)


def keys() -> str:
    """The page of keys: every command with its default keys, by section."""
    from mcp_progress_monitor.gui.every_command import SECTIONS
    from mcp_progress_monitor.gui.shortcuts import FIXED

    lines = [
        _heading("Keys"),
        (
            "The page *Keys* of the settings changes these keys. On macOS, Ctrl is the Command "
            "key. Commands without a key can be given one there."
        ),
    ]
    for section in SECTIONS.values():
        cells = []
        for command in section.commands:
            used = ", ".join(f"`{key}`" for key in (*command.keys, *command.fixed_keys))
            where = "the whole window" if command.is_wide else section.title
            cells.append((command.title, used, where, command.tip))
        titles = ("command", "keys", "work in", "what it does")
        lines += [f"## {section.title}", _table(titles, cells)]
    fixed = [(f"`{key}`", use) for key, use in FIXED.items()]
    lines += ["## Fixed keys", "No command can be given these.", _table(("key", "use"), fixed)]
    return _page(lines)


def _heading(title: str) -> str:
    return f"# {title}\n\n{_NOTE}"


def _fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def cell(text: str) -> str:
        return " ".join(text.split()).replace("|", r"\|")

    lines = [heads, ["---"] * len(heads), *([cell(part) for part in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def events() -> str:
    """The page of the events of `--json`, a row for each model."""
    from mcp_progress_monitor.cli.output.event_models import Event

    kinds = get_args(get_args(Event)[0])
    fields = [
        [
            f"`{name}`" + (f" ({field.description})" if field.description else "")
            for name, field in kind.model_fields.items()
            if name not in {"t", "event"}
        ]
        for kind in kinds
    ]
    rows = [
        (f"`{get_args(kind.model_fields['event'].annotation)[0]}`", kind.__doc__, ", ".join(names))
        for kind, names in zip(kinds, fields, strict=True)
    ]
    return _page(
        [
            _heading("Events"),
            (
                "The lines that `--json` writes (see [Scripts and CI](../scripts.md#events)), as"
                f" [JSON Schema]({_SCHEMA}) too. Each event has `event` and `t`, the seconds since"
                " the start. `late` and `problems` are left out where they say nothing."
            ),
            _table(("event", "when", "fields"), rows),
        ]
    )


def event_schema() -> str:
    """The JSON Schema of one event."""
    from mcp_progress_monitor.cli.output.event_models import EVENT

    described = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An event of mcp-progress-monitor --json",
        **EVENT.json_schema(),
    }
    return json.dumps(described, indent=1) + "\n"


_SCHEMA: Final = "events.schema.json"
PAGES: Final = {
    "events.md": events,
    _SCHEMA: event_schema,
    "command-line.md": command_line,
    "filter-fields.md": filter_fields,
    "clients.md": clients,
    "exit-codes.md": exit_codes,
    "rules.md": rules,
    "settings.md": settings,
    "keys.md": keys,
}


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with `--check` name those that are out of date."""
    parser = argparse.ArgumentParser(description="Write the reference pages of the manual.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    is_check = parser.parse_args(arguments).check
    sys.path.insert(0, str(ROOT))
    old = []
    for name, make in PAGES.items():
        page, path = make(), FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != page:
            old.append(name)
            if not is_check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(page, encoding="utf-8", newline="\n")
    verb = "Out of date" if is_check else "Written"
    print(f"{verb}: {', '.join(old)}" if old else "The reference pages are up to date.")
    return int(is_check and bool(old))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
