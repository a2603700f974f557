"""Definitions of tools are found in the ways that servers write them, and nowhere else."""

import time
from pathlib import Path

import pytest

from mcp_progress_monitor.sources import definitions
from mcp_progress_monitor.sources.definitions import find_definitions
from tests.patience import allowed


def _lines(folder: Path, *tools: str) -> dict[str, str]:
    """Where each tool is defined, as `PATH:LINE`."""
    found = find_definitions(folder, set(tools)).by_tool
    return {
        tool: f"{place.path.relative_to(folder).as_posix()}:{place.line}"
        for tool, place in found.items()
    }


def _write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("@mcp.tool()\nasync def work(n: int): ...\n", 2),
        ("@mcp.tool\ndef work(): ...\n", 2),
        ("@server.tool(name='work')\n# a comment\ndef do_it(): ...\n", 3),
        ("@server.tool('work')\ndef do_it(): ...\n", 2),
        ("tools = [\n  types.Tool(\n    name='work',\n    inputSchema={})]\n", 3),
        ("def work(): ...\nmcp.add_tool(do_it, name='work')\n", 2),
        ("x = 'work'\ndef work(): ...\nmcp.add_tool(work)\n", 2),
        ("class Names(str, Enum):\n  WORK = 'work'\nTool(\n  name=Names.WORK.value)\n", 4),
        ("WORK = 'work'\nserver.register_tool(\n  WORK, run)\n", 3),
        ("class Work(BaseTool):\n  name: str = 'work'\n  description = 'd'\n", 2),
        ("call_tool('work')\nTOOLS = [{'name': 'work', 'description': 'd'}]\n", 2),
        ("match name:\n  case 'work':\n    run()\n", 2),
    ],
)
def test_tools_of_python_servers(tmp_path: Path, text: str, line: int) -> None:
    _write(tmp_path, "server.py", text)
    assert _lines(tmp_path, "work") == {"work": f"server.py:{line}"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("server.registerTool(\n  'work', {}, run)\n", 2),
        ("server.tool<Shape>('work', run)\n", 1),
        ("registerTool(\n  server,\n  `work`, {})\n", 3),
        ("const name = 'work';\nserver.registerTool(\n  name, config, run)\n", 3),
        (
            "enum Names { WORK = 'work' }\nconst t = [{\n name: Names.WORK,\n description: '' }]\n",
            3,
        ),
        ("const tool = {\n  name: 'work',\n  description: 'd',\n}\n", 2),
        ("class Work {\n  static toolName = 'work';\n}\n", 2),
        ("class Work {\n  public name: ToolName = 'work';\n}\n", 2),
        ("defineTool({ schema: {\n  name: 'work' } })\n", 2),
        ("const tools = {\n  work: tool({ description: '' }),\n}\n", 2),
        ("switch (n) {\n  case 'work': return run() }\n", 2),
        ("client.callTool('work')\nserver.registerTool('work')\n", 2),
        ("// registerTool('work')\n/* registerTool('work') */\ntool('work')\n", 3),
        ("const quote = /[\"'`]/g\nconst x = `it's ${a / b}`\ntool('work')\n", 3),
        ("const half = width / 2 + \"'\"\ntool('work') / 2\n", 2),
    ],
)
@pytest.mark.parametrize("end", ["ts", "mjs"])
def test_tools_of_typescript_servers(tmp_path: Path, text: str, line: int, end: str) -> None:
    _write(tmp_path, f"server.{end}", text)
    assert _lines(tmp_path, "work") == {"work": f"server.{end}:{line}"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('s.AddTool(mcp.NewTool(\n  "work",\n  mcp.WithString("n")), run)\n', 2),
        ('mcp.AddTool(server, &mcp.Tool{\n  Name: "work",\n  Description: "d"}, run)\n', 2),
        ('var Work = MustTool[Args](\n  "work", "d", run)\n', 2),
        ('const ToolWork Kind = "work"\nmcp.NewTool(\n  ToolWork, run)\n', 3),
        ('x := `\\`\nmcp.NewTool("work")\n', 2),
        ('// NewTool("work")\nc.CallTool("work")\nmcp.NewTool(`work`)\n', 3),
    ],
)
def test_tools_of_go_servers(tmp_path: Path, text: str, line: int) -> None:
    _write(tmp_path, "pkg/tools.go", text)
    assert _lines(tmp_path, "work") == {"work": f"pkg/tools.go:{line}"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("server.py", "# work\nprint('work')\ncall_tool('work')\n"),
        ("server.ts", "// 'work'\nif (name === 'work') client.callTool('work')\n"),
        ("server.go", '// "work"\nfmt.Println("work", `x "work"`)\n'),
        ("server.py", "def work(:\n"),
        ("server.rb", "tool 'work'\n"),
        ("node_modules/x/index.js", "registerTool('work')"),
        (".venv/x.py", "@mcp.tool\ndef work(): ..."),
        ("dist/index.js", "registerTool('work')"),
    ],
)
def test_other_uses_of_a_name_and_others_code_are_no_definition(
    tmp_path: Path, name: str, text: str
) -> None:
    _write(tmp_path, name, text)
    assert _lines(tmp_path, "work") == {}


def test_code_comes_before_its_tests_and_constants_are_followed_across_files(
    tmp_path: Path,
) -> None:
    _write(tmp_path, "a_test.go", 'NewTool("work")\n')
    _write(tmp_path, "tests/a.ts", "registerTool('far')\n")
    _write(tmp_path, "names.go", 'const Work = "work"\n')
    _write(tmp_path, "tools.go", "\nNewTool(names.Work)\n")
    _write(tmp_path, "src/far.ts", "\nconst FAR = 'far'\n")
    assert _lines(tmp_path, "work", "far") == {"work": "tools.go:2", "far": "src/far.ts:2"}


def test_a_mounted_tool_is_found_by_the_name_without_its_prefix(tmp_path: Path) -> None:
    _write(tmp_path, "jira.py", "@jira.tool()\ndef add(): ...\n")
    _write(tmp_path, "wiki.py", "\n@wiki.tool()\ndef add(): ...\n")
    assert _lines(tmp_path, "jira_add", "wiki_add", "mail_add") == {
        "jira_add": "jira.py:2",
        "wiki_add": "wiki.py:3",
    }


def test_reading_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        _write(tmp_path, f"{number}.py", f"@mcp.tool\ndef work{number}(): ...\n")
    monkeypatch.setattr(definitions, "MOST_FILES", 2)
    found = find_definitions(tmp_path, {"work0", "work3"})
    assert (set(found.by_tool), found.is_whole) == ({"work0"}, False)
    monkeypatch.setattr(definitions, "LARGEST", 3)
    assert find_definitions(tmp_path, {"work0"}) == ({}, True)


@pytest.mark.parametrize("piece", ["/*", "`", "'\\", "/[", "a.", "((", "<", "${`", "x = /", '"\n'])
def test_hostile_code_is_read_in_linear_time(tmp_path: Path, piece: str) -> None:
    for end in ("py", "ts", "go"):
        _write(tmp_path, f"hostile.{end}", "tool('work')\n" + piece * 20_000)
    began = time.process_time()
    find_definitions(tmp_path, {"work"})
    assert time.process_time() - began < 10.0


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["/[", "/\\", "[/=]"])
def test_slashes_that_never_end_take_no_time(tmp_path: Path, piece: str) -> None:
    text = piece * (300_000 // len(piece))
    (tmp_path / "a.js").write_text(f"/* tool */ x = {text}")
    began = time.process_time()
    find_definitions(tmp_path, {"tool"})
    assert time.process_time() - began < allowed(3)
