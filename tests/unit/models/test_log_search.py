"""Words, channels and kinds choose frames; searching goes in slices and misses nothing."""

from __future__ import annotations

import pytest

from app.models import log_search
from app.models.log_row import LogKind
from app.models.log_search import LogFilter, LogSearch, Matcher, as_word, words_in
from app.models.log_store import LogStore
from app.protocol.frame import Channel
from tests.unit.models.log_frames import frame, progress, ticks


def _matches(raw: bytes, *words: str) -> bool:
    return Matcher(LogFilter(words=words)).matches(frame(1, raw))


def test_words_are_split_at_spaces_and_quotes_keep_them_together() -> None:
    assert words_in('  one "two three" four ') == ("one", "two three", "four")
    assert words_in('"not closed') == ("not closed",)


@pytest.mark.parametrize("phrase", ["plain", "two words"])
def test_a_phrase_made_a_word_is_read_back_as_one(phrase: str) -> None:
    assert words_in(as_word(phrase)) == (phrase,)


def test_every_word_must_occur_in_whatever_case() -> None:
    assert _matches(b'{"message":"Processing Batch"}', "BATCH", "processing")
    assert not _matches(b'{"message":"Processing Batch"}', "batch", "missing")


@pytest.mark.parametrize(
    "raw", ["ÜBER".encode(), "über".encode(), rb"\u00fcber", rb"\u00DCBER"], ids=repr
)
def test_other_letters_are_found_in_either_case_as_utf8_or_as_escapes(raw: bytes) -> None:
    assert _matches(b"x " + raw, "über")


def test_a_letter_beyond_the_basic_plane_is_found_as_a_pair_of_escapes() -> None:
    assert _matches(rb"\ud83d\ude80", "🚀")


def test_garbage_is_searched_as_it_came() -> None:
    assert _matches(b"\xff\xfe Traceback", "traceback")


def test_channels_and_kinds_choose() -> None:
    kinds = frozenset({LogKind.UNREADABLE, LogKind.STDERR})
    matcher = Matcher(LogFilter(kinds=kinds))
    assert matcher.matches(frame(1, b"no json"))
    assert matcher.matches(frame(2, b"a line", Channel.STDERR))
    assert not matcher.matches(progress(3))
    sent = Matcher(LogFilter(channels=frozenset({Channel.SENT})))
    assert sent.matches(frame(4, b"x", Channel.SENT))
    assert not sent.matches(frame(5, b"x"))


def test_a_search_in_many_slices_finds_what_one_slice_finds() -> None:
    store = LogStore()
    store.append([*ticks(0, 700), frame(700, b"needle"), *ticks(701, 300)])
    search = LogSearch(LogFilter(words=("needle",)), 0)
    found: list[int] = []
    slices = 0
    while search.left(store):
        found += search.run(store, 0)
        slices += 1
    assert found == [700]
    assert slices > 3


def test_a_word_across_two_windows_of_a_long_frame_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_search, "_WINDOW", 64)
    store = LogStore()
    store.append([frame(0, b"x" * 60 + b"needle" + b"x" * 500), frame(1, b"y" * 600)])
    search = LogSearch(LogFilter(words=("Needle",)), 0)
    found: list[int] = []
    while search.left(store):
        found += search.run(store, 0)
    assert found == [0]


def test_frames_that_are_gone_are_skipped() -> None:
    store = LogStore(capacity=16)
    search = LogSearch(LogFilter(words=("progress",)), 0)
    store.append(ticks(0, 100))
    assert search.run(store, 1) == [*range(84, 100)]
