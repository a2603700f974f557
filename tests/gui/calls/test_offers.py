"""What a server offers can be listed and searched."""

from PySide6.QtTest import QAbstractItemModelTester

from mcp_progress_monitor.gui.calls.offers import OfferKind, OffersModel, offers_of, unlisted
from mcp_progress_monitor.protocol.facts import JsonObject
from mcp_progress_monitor.protocol.offers import Prompt, PromptArgument, Resource, Tool
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_SERVER = ServerSnapshot(
    "db",
    StdioDefinition(name="db", command="db"),
    tools=(
        Tool("export", "Export orders", "Writes a file", {"type": "object"}, "optional", {}),
        Tool("crawl", None, None, {}, "forbidden", {}),
    ),
    resources=(Resource("file:///a", "a", None, None, None, None, {}),),
    prompts=(Prompt("ask", None, None, (PromptArgument("topic", None, "What about", True),), {}),),
)


def test_a_tool_is_called_by_name_with_arguments() -> None:
    offer = offers_of(_SERVER, OfferKind.TOOL)[0]
    assert offer.params({"a": 1}) == {"name": "export", "arguments": {"a": 1}}
    assert (offer.kind.value, offer.task_support) == ("tools/call", "optional")


def test_a_tool_has_the_effects_that_its_server_declares() -> None:
    raws: tuple[JsonObject, ...] = (
        {"annotations": {"destructiveHint": True, "idempotentHint": True, "title": "x"}},
        {"annotations": {"readOnlyHint": True, "destructiveHint": True, "openWorldHint": 1}},
        {"annotations": {"destructiveHint": False}},
        {"annotations": [True]},
        {},
    )
    tools = tuple(Tool("t", None, None, {}, "forbidden", raw) for raw in raws)
    offers = offers_of(_SERVER._replace(tools=tools), OfferKind.TOOL)
    assert [(each.hints, each.is_destructive) for each in offers] == [
        (("destructive", "repeating has no further effect"), True),
        (("read-only", "destructive"), False),
        ((), False),
        ((), False),
        ((), False),
    ]


def test_a_resource_is_read_by_its_address() -> None:
    offer = offers_of(_SERVER, OfferKind.RESOURCE)[0]
    assert offer.schema["properties"]["uri"]["default"] == "file:///a"
    assert offer.params({"uri": "file:///b"}) == {"uri": "file:///b"}


def test_a_prompts_arguments_are_texts() -> None:
    offer = offers_of(_SERVER, OfferKind.PROMPT)[0]
    assert offer.schema["required"] == ["topic"]
    assert offer.schema["properties"]["topic"]["type"] == "string"


def test_all_words_are_searched_in_name_title_and_description() -> None:
    model = OffersModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    model.set_offers(offers_of(_SERVER, OfferKind.TOOL))
    assert model.index(0).data() == "export  Export orders"
    for text, rows in (("FILE orders", 1), ("crawl", 1), ("nothing", 0), ("", 2)):
        model.set_search(text)
        assert model.rowCount() == rows
    assert model.row_of("crawl") == 1
    assert model.row_of("none") is None
    assert model.offer(9) is None


def test_a_name_that_is_not_listed_can_be_chosen_after_those_found() -> None:
    model = OffersModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    model.set_offers(offers_of(_SERVER, OfferKind.TOOL), OfferKind.TOOL)
    rows = [model.unlisted_row]
    model.set_search(" expo ")
    assert model.rowCount() == 2
    rows.append(model.unlisted_row)
    assert model.index(1).data() == "Call “expo”, not listed"
    offer = model.offer(1)
    assert offer is not None
    assert offer.params({"a": 1}) == {"name": "expo", "arguments": {"a": 1}}
    model.set_search("export")
    assert model.rowCount() == 1
    assert [*rows, model.unlisted_row] == [None, 1, None]


def test_an_address_that_is_not_listed_can_be_read() -> None:
    offer = unlisted(OfferKind.RESOURCE, "file:///b")
    assert offer.schema["properties"]["uri"]["default"] == "file:///b"
