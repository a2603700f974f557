"""What differs between revisions."""

from typing import Any

import mcp_types
import pytest
from mcp_types import methods
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import ClientIdentity, Era
from mcp_progress_monitor.protocol.messages import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LOG_LEVEL_KEY,
    SERVER_KEY,
    VERSION_KEY,
)

CLIENT = ClientIdentity({"name": "monitor", "version": "1"}, {"roots": {}})


def test_the_revisions_are_those_the_protocol_has() -> None:
    assert eras.REVISIONS == KNOWN_PROTOCOL_VERSIONS
    assert [eras.era_of(r) for r in eras.REVISIONS] == [Era.HANDSHAKE] * 4 + [Era.PER_REQUEST]


def test_the_keys_are_those_the_protocol_has() -> None:
    assert VERSION_KEY == mcp_types.PROTOCOL_VERSION_META_KEY
    assert CAPABILITIES_KEY == mcp_types.CLIENT_CAPABILITIES_META_KEY
    assert CLIENT_KEY == mcp_types.CLIENT_INFO_META_KEY
    assert LOG_LEVEL_KEY == mcp_types.LOG_LEVEL_META_KEY
    assert SERVER_KEY == mcp_types.SERVER_INFO_META_KEY


def test_requests_are_stamped_in_the_per_request_era_only() -> None:
    assert eras.stamps("2025-11-25", CLIENT, "info") == {}
    assert eras.stamps("2026-07-28", CLIENT) == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "monitor", "version": "1"},
    }
    stamped = eras.stamps("2026-07-28", CLIENT, "debug")
    assert stamped["io.modelcontextprotocol/logLevel"] == "debug"


def test_the_opening_requests_fit_their_schemas() -> None:
    methods.validate_client_request("initialize", "2025-11-25", eras.initialize_params(CLIENT))
    methods.validate_client_request("server/discover", "2026-07-28", eras.discover_params(CLIENT))


def test_an_opening_request_offers_its_revision() -> None:
    offer = eras.initialize_params(CLIENT, "2025-03-26")
    assert eras.offered_revision("initialize", offer) == "2025-03-26"
    assert eras.offered_revision("server/discover", eras.discover_params(CLIENT)) == "2026-07-28"
    assert eras.offered_revision("initialize", {"protocolVersion": 5}) == ""
    assert eras.offered_revision("tools/list", offer) is None


@pytest.mark.parametrize("revision", eras.HANDSHAKE_REVISIONS)
def test_every_counter_offer_of_the_handshake_era_is_accepted(revision: str) -> None:
    agreed = eras.read_initialize(
        {"protocolVersion": revision, "serverInfo": {"name": "s"}, "capabilities": {"tools": {}}}
    )
    assert agreed is not None
    assert agreed.era is Era.HANDSHAKE
    assert agreed == (revision, {"name": "s"}, {"tools": {}}, None, ())


def test_initialize_answered_with_the_new_revision_is_taken_at_its_word() -> None:
    agreed = eras.read_initialize(
        {"protocolVersion": "2026-07-28", "serverInfo": {}, "capabilities": {}}
    )
    assert agreed is not None
    assert agreed.era is Era.PER_REQUEST
    assert len(agreed.errors) == 1


@pytest.mark.parametrize("revision", ["2099-01-01", None, 5, ["2025-11-25"]])
def test_an_unknown_revision_agrees_on_nothing(revision: object) -> None:
    assert eras.read_initialize({"protocolVersion": revision}) is None


def test_missing_parts_of_an_initialize_result_are_described() -> None:
    agreed = eras.read_initialize({"protocolVersion": "2025-11-25", "instructions": 5})
    assert agreed is not None
    assert (agreed.server_info, agreed.capabilities, agreed.instructions) == ({}, {}, None)
    assert agreed.errors == (
        '"serverInfo" is missing or not an object',
        '"capabilities" is missing or not an object',
    )


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"capabilities": {"tools": {}}},
        {"supportedVersions": [], "capabilities": {}},
        {"supportedVersions": "2026-07-28", "capabilities": {}},
        {"supportedVersions": ["2026-07-28"]},
        {"supportedVersions": ["2026-07-28"], "capabilities": []},
        {"protocolVersion": "2026-07-28", "capabilities": {}},
    ],
)
def test_what_is_no_discover_result_agrees_on_nothing(result: dict[str, Any]) -> None:
    assert eras.read_discover(result) is None


def test_a_server_that_is_taken_to_speak_it_may_leave_out_anything() -> None:
    agreed = eras.assume_discover({})
    assert agreed.revision == "2026-07-28"
    assert agreed.errors == (
        '"supportedVersions" does not name 2026-07-28',
        '"capabilities" is missing or not an object',
    )


@pytest.mark.parametrize(
    ("reply", "revisions"),
    [
        ({"supportedVersions": ["2026-07-28", 5]}, ("2026-07-28",)),
        ({"data": {"supported": ["2025-11-25"], "requested": "x"}}, ("2025-11-25",)),
        ({"data": "text"}, ()),
        ({"supportedVersions": "2026-07-28"}, ()),
        ({}, ()),
    ],
)
def test_lists_of_revisions_are_read_leniently(
    reply: dict[str, Any], revisions: tuple[str, ...]
) -> None:
    assert eras.supported_revisions(reply) == revisions


def test_the_newest_common_revision_is_chosen() -> None:
    assert eras.newest_common(["2024-11-05", "2099-01-01", "2025-06-18"]) == "2025-06-18"
    assert eras.newest_common(["2099-01-01"]) is None
