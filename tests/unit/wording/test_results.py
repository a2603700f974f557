"""Replies of every shape, taken apart."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.wording.results import PartKind, block_part, columns, parts
from tests.job_stand_ins import answer

TEXT, IMAGE, JSON = PartKind.TEXT, PartKind.IMAGE, PartKind.JSON
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
WAV = base64.b64encode(b"RIFF\0\0\0\0WAVEfmt ").decode()


def shapes(result: dict[str, Any]) -> list[tuple[PartKind, str, Any]]:
    """All parts but the whole reply at the end."""
    found = parts(answer(result))
    assert (found[-1].kind, found[-1].value) == (JSON, result)
    return [(part.kind, part.title, part.value) for part in found[:-1]]


def test_a_tools_texts_images_and_structure_come_in_order() -> None:
    result = {
        "content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        ],
        "structuredContent": {"n": 1},
    }
    assert shapes(result) == [
        (TEXT, "Text", "hello"),
        (IMAGE, "Image", "AAAA"),
        (PartKind.AUDIO, "Audio", "AAAA"),
        (JSON, "Structured", {"n": 1}),
    ]


def test_a_link_is_plain_text() -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 3}
    assert shapes({"content": [link]}) == [(PartKind.LINK, "a", "name: a\nuri: file:///a")]


def test_embedded_and_read_resources_are_shown_by_what_they_hold() -> None:
    text = {"uri": "file:///a.txt", "text": "hi"}
    image = {"uri": "file:///a.png", "blob": "AAAA", "mimeType": "image/png"}
    other = {"uri": "file:///a.bin", "blob": "AAAA"}
    data = (PartKind.DATA, other["uri"], "AAAA")
    wanted = [(TEXT, text["uri"], "hi"), (IMAGE, image["uri"], "AAAA"), data]
    assert shapes({"contents": [text, image, other]}) == wanted
    embedded = [{"type": "resource", "resource": one} for one in (text, image, other)]
    assert shapes({"content": embedded}) == wanted


def test_a_prompts_messages_and_a_samplings_content_are_shown() -> None:
    block = {"type": "text", "text": "hello"}
    assert shapes({"messages": [{"role": "user", "content": block}]}) == [(TEXT, "Text", "hello")]
    assert shapes({"role": "assistant", "content": block}) == [(TEXT, "Text", "hello")]


def test_an_error_comes_with_the_servers_message() -> None:
    error = {"code": -32602, "message": "no such tool", "data": [1]}
    first, whole = parts(answer(error=error))
    assert (first.title, first.value, first.is_error) == ("Error -32602", "no such tool", True)
    assert whole.value == error


@pytest.mark.parametrize("error", [{}, {"code": "x", "message": 5}])
def test_an_error_without_a_text_says_so(error: dict[str, Any]) -> None:
    assert parts(answer(error=error))[0].value == "The error has no message."


def test_a_tools_own_error_is_marked() -> None:
    found = parts(answer({"content": [{"type": "text", "text": "disk full"}], "isError": True}))
    assert [part.is_error for part in found] == [True, False]


def test_a_flood_of_parts_is_bounded_and_says_so() -> None:
    blocks = [{"type": "text", "text": str(number)} for number in range(5_000)]
    found = shapes({"content": blocks})
    assert len(found) == 201
    assert found[-1][2] == "The full reply has 4,800 more parts."


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "data", "resource", "content", "messages", "blob", "uri"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["content", "contents", "messages", "isError", "structuredContent"]), _JSON
    )
)
def test_no_shape_of_a_reply_raises(result: dict[str, Any]) -> None:
    found = parts(answer(result))
    assert found[-1].value == result
    values = {JSON, PartKind.TABLE}
    assert all(part.kind in values or isinstance(part.value, str) for part in found)
    assert all(part.file_name and part.about is not None for part in found)


def test_a_resume_token_is_hidden_until_it_is_asked_for_elsewhere() -> None:
    hushed = {"nextResumeToken": "hush", "_meta": {"nextResumeToken": "hush", "kept": 1}}
    for reply in (answer(result=hushed), answer(result=None, error={"code": -1, "data": hushed})):
        shown = repr(parts(reply))
        assert "hush" not in shown
        assert "'kept': 1" in shown


@pytest.mark.parametrize(
    ("data", "mime", "kind", "suffix"),
    [
        (PNG, "image/png", IMAGE, "png"),
        (PNG, "text/html", IMAGE, "png"),
        (PNG[:10] + "\n" + PNG[10:], "", IMAGE, "png"),
        (WAV, "image/png", PartKind.AUDIO, "wav"),
        ("AAAA", "image/png", IMAGE, "bin"),
        ("!!", "image/png", IMAGE, "bin"),
        (base64.b64encode(b"<svg/>").decode(), "image/svg+xml", TEXT, "svg"),
        (base64.b64encode(b"<html>").decode(), "text/html; charset=utf-8", TEXT, "html"),
        (base64.b64encode(b"\xff\xfe").decode(), "text/plain", PartKind.DATA, "bin"),
        (base64.b64encode(b"%PDF-1.7").decode(), "application/pdf", PartKind.DATA, "pdf"),
        (base64.b64encode(b"MZ").decode(), "application/x-msdownload", PartKind.DATA, "bin"),
    ],
)
def test_data_is_what_its_first_bytes_say(
    data: str, mime: str, kind: PartKind, suffix: str
) -> None:
    part = block_part({"uri": "file:///a", "blob": data, "mimeType": mime})
    assert (part.kind, part.suffix) == (kind, suffix)


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///reports/June.md", "June.md.txt"),
        ("file:///a/notes.txt?x=1#y", "notes.txt"),
        ("file:///../../etc/passwd", "passwd.txt"),
        ("file:///a/..%2f..%2fbashrc", "bashrc.txt"),
        ("file:///a/%2e%2e", "file----a--2e-2e.txt"),
        ("x:C:%5CWindows%5Crun.exe", "x-C--Windows-run.exe.txt"),
        ("demo://run.sh", "run.sh.txt"),
        ("demo://invoice\u202egpj.exe", "invoice-gpj.exe.txt"),
        ("demo://con.txt", "_con.txt"),
        ("demo://.profile", "profile.txt"),
        ("demo://" + "a" * 5_000, "a" * 60 + ".txt"),
    ],
)
def test_a_servers_name_makes_no_file_elsewhere_and_of_no_other_kind(uri: str, name: str) -> None:
    assert block_part({"uri": uri, "text": "x"}).file_name == name


@given(st.text(), st.sampled_from(["text/plain", "text/html", "", "image/png"]))
def test_any_name_is_valid_on_every_system(uri: str, mime: str) -> None:
    for value in ({"text": "x"}, {"blob": PNG}):
        name = block_part({"uri": uri, "mimeType": mime, **value}).file_name
        assert not set(name) & set('/\\:*?"<>|\0\n\r')
        assert not name.startswith((".", "-"))
        assert len(name) < 80


def test_only_harmless_kinds_are_opened_and_markup_as_plain_text() -> None:
    def opened(**block: Any) -> str:
        return block_part(block).opened_as

    assert opened(type="text", text="x") == "txt"
    for mime in ("text/html", "image/svg+xml", "text/markdown"):
        assert opened(uri="a", text="x", mimeType=mime) == "txt"
    assert opened(uri="a", blob=PNG, mimeType="application/x-sh") == "png"
    assert opened(type="audio", data=WAV, mimeType="audio/wav") == "wav"
    assert not opened(type="image", data="AAAA", mimeType="image/png")
    for mime in ("application/pdf", "application/x-msdownload", "application/java-archive"):
        assert not opened(uri="a.exe", blob="TVoA", mimeType=mime)
    assert not opened(type="resource_link", uri="https://a.example")


def test_arrays_of_objects_are_tables_beside_the_structure() -> None:
    rows = [{"a": 1}, {"b": 2}]
    table = (PartKind.TABLE, "orders", rows)
    structured = {"orders": rows, "empty": [], "mixed": [1, {}]}
    assert shapes({"structuredContent": structured}) == [table, (JSON, "Structured", structured)]
    assert shapes({"structuredContent": rows})[0] == (PartKind.TABLE, "Table", rows)
    assert columns(rows, 10) == ["a", "b"]
    assert columns([{str(n): n for n in range(500)}], 100) == [str(n) for n in range(100)]


def test_what_is_not_base64_says_so_when_it_is_saved() -> None:
    part = block_part({"type": "image", "data": "!!!", "mimeType": "image/png"})
    with pytest.raises(ValueError, match="not valid base64"):
        part.content()
    broken = block_part({"type": "text", "text": "\ud800x"})
    assert broken.content() == b"?x"
    assert broken.about == "2 B"
