"""The calls of `--demo` fit the server they are meant for."""

from mcp_progress_monitor.demo.scenes import DEMO_CALLS
from mcp_progress_monitor.demo.tool import complete
from mcp_progress_monitor.demo.tools import TOOLS


def test_there_are_ten() -> None:
    assert len(DEMO_CALLS) == 10


def test_each_names_a_tool_and_fits_its_schema() -> None:
    tools = {tool.name: tool for tool in TOOLS}
    for call in DEMO_CALLS:
        completed = complete(tools[call.tool].schema, dict(call.arguments))
        assert completed.items() >= call.arguments.items()


def test_they_show_every_kind_of_bar() -> None:
    assert {call.tool for call in DEMO_CALLS} >= {
        "worker",
        "unknown_total",
        "fraction",
        "stall",
        "error_result",
        "phases",
        "decreasing",
    }
