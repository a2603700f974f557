"""A search finds what the filter lets through, in slices, while the log grows and loses parts."""

import time
from datetime import datetime

import pytest

from mcp_progress_monitor.filtering import matching
from mcp_progress_monitor.filtering.filter import FilterError, TrafficFilter
from mcp_progress_monitor.filtering.index_predicates import Stride
from mcp_progress_monitor.filtering.search import Search, compiled
from mcp_progress_monitor.protocol.frames import Channel, FrameKind
from tests.unit.filtering.logs import WHEN, Log, all_of, error, notification

_HOSTILE = 'text matches "^(a|aa)+$"'
"""Takes 2^40 steps to fail on forty letters and something else."""


def _ticks(log: Log, count: int, token: object = 7) -> None:
    message = notification("notifications/progress", progressToken=token, progress=1)
    log.receive(*[message] * count)


def test_no_filter_shows_all() -> None:
    log = Log()
    _ticks(log, 5)
    assert log.found() == [0, 1, 2, 3, 4]
    assert TrafficFilter(" ").shows_all
    assert not TrafficFilter("x").shows_all
    assert TrafficFilter(irregular_only=True).is_narrowed


def test_channels_kinds_and_rules_choose_beside_the_text() -> None:
    log = Log()
    number = log.call(1, "a")
    log.tick("a", 1)
    log.stderr(b"a line")
    log.timeline.mark([number])
    assert log.found(channels=frozenset({Channel.SENT, Channel.STDERR})) == [0, 2]
    assert log.found(kinds=frozenset({FrameKind.PROGRESS})) == [1]
    assert log.found(irregular_only=True) == [0]
    assert log.found("irregular == false") == log.found("irregular != true") == [1, 2]
    assert log.found("progress", channels=frozenset({Channel.RECEIVED})) == [1]
    assert log.found("kind == request", irregular_only=True) == [0]


def test_a_search_in_many_slices_finds_what_one_slice_finds() -> None:
    log = Log()
    _ticks(log, 1_500)
    log.receive(b"needle")
    _ticks(log, 300)
    search = log.search("needle")
    found: list[int] = []
    slices = 0
    while search.left:
        found += search.run(0)
        slices += 1
    assert found == [1_500]
    assert slices > 5


def test_frames_that_come_later_are_what_is_left() -> None:
    log = Log()
    _ticks(log, 2)
    search = log.search("kind == progress")
    assert all_of(search) == [0, 1]
    assert search.left == 0
    assert search.run(1) == []
    _ticks(log, 1)
    assert search.left == 1
    assert all_of(search) == [2]


def test_frames_that_are_gone_are_passed_over() -> None:
    log = Log()
    _ticks(log, 700)
    log.begin_part()
    _ticks(log, 3)
    search = log.search("progress")
    assert search.run(0) == []
    log.timeline.drop_part(1)
    assert search.left == 3
    assert all_of(search) == [700, 701, 702]


def test_a_replay_that_begins_again_is_searched_again() -> None:
    log = Log()
    log.call(1, "a")
    search = log.search("method == tools/call and dt > 0")
    assert all_of(search) == []
    log.timeline.clear()
    log.call(2, "b")
    log.call(3, "b", dt=1.0)
    assert all_of(search) == [1]


def test_a_reply_has_the_token_of_its_request() -> None:
    log = Log()
    log.call(1, "abc")
    log.tick("abc", 1)
    log.reply(1)
    assert log.found("token == abc") == [0, 1, 2]


def test_a_number_is_no_text_of_the_same_digits() -> None:
    log = Log()
    log.call(1, 7)
    log.call(2, "7")
    assert log.found("token == 7") == [0]
    assert log.found('token == "7"') == [1]
    assert log.found('token in (7, "7")') == [0, 1]
    assert log.found("token != 7") == [1]


def test_what_is_not_there_compares_with_nothing_but_not_turns_that_round() -> None:
    log = Log()
    log.receive(b"no json", error(1, 5), error(2, 6))
    assert log.found("code == 5") == [1]
    assert log.found("code != 5") == [2]
    assert log.found("not code == 5") == [0, 2]


def test_the_time_before_a_message_is_that_of_its_token() -> None:
    log = Log()
    log.call(1, "a")
    log.call(2, "b", dt=1)
    log.tick("a", 1, dt=2)
    log.tick("b", 1, dt=0.5)
    log.stderr(b"x")
    assert log.found("dt >= 0") == [2, 3, 4]
    assert log.found("token == a and dt == 3") == [2]
    assert log.found("dt == 2500ms") == [3]
    assert log.found("dt == 0") == [4]


def test_few_rows_have_the_times_before_them_that_they_have_among_all() -> None:
    log = Log()
    for number in range(3_000):
        connection = f"demo#{number % 3}"
        if number % 700 == 1:
            log.call(number, "rare", dt=0.1, connection=connection)
        elif number % 50 == 2:
            log.tick("rare", number, dt=0.2, connection=connection)
        elif number % 90 == 3:
            log.ask(number, "rare", 0.3)
        elif number % 60 == 4:
            log.receive(b"no json rare", dt=0.4, connection=connection)
        else:
            log.tick(f"often-{number % 7}", number, dt=0.01, connection=connection)
    far = set(log.found("dt > 1"))
    near = set(log.found("dt < 0.2"))
    for few in ("token == rare", "kind == unreadable", '"rare"'):
        rows = log.found(few)
        assert log.found(f"{few} and dt > 1") == [row for row in rows if row in far]
        assert log.found(f"({few} and dt > 1) or ({few} and dt < 0.2)") == [
            row for row in rows if row in far | near
        ]
    assert far.intersection(log.found("token == rare"))


def test_what_is_compared_may_be_equal() -> None:
    log = Log()
    for dt in (0, 1, 2, 3):
        log.receive(b"x", dt=dt)
    assert log.found("dt < 2") == [1]
    assert log.found("dt <= 2") == [1, 2]
    assert log.found("dt >= 2") == [2, 3]
    assert log.found("dt > 2") == [3]
    assert log.found("dt != 2") == [1, 3]
    assert log.found("dt in (1, 3s)") == [1, 3]


def test_times_go_on_from_stride_to_stride() -> None:
    log = Log()
    for _ in range(1_000):
        log.receive(b"x", dt=1)
    assert all_of(log.search("dt == 1"), 0) == [*range(1, 1_000)]


def test_a_search_from_the_middle_knows_the_times_before_it() -> None:
    log = Log()
    log.call(1, "a")
    _ticks(log, 400, "b")
    log.tick("a", 1, dt=5)
    assert all_of(log.search("dt > 4", place=200), 0) == [401]


def test_times_are_compared_to_the_microsecond_although_floats_are_a_little_off() -> None:
    log = Log()
    log.receive(b"x", dt=15_839.776352)
    for _ in range(99):
        log.receive(b"x", dt=0.001)
    assert len(log.found("dt == 1ms")) == len(log.found("dt >= 1ms")) == 99
    assert len(log.found("dt in (1ms, 2ms)")) == len(log.found("dt <= 0.001")) == 99
    assert log.found("dt > 1ms") == log.found("dt < 1ms") == log.found("dt != 1ms") == []
    assert len(log.found("dt > 999us")) == len(log.found("dt < 1001us")) == 99


def test_a_duration_is_that_of_a_reply() -> None:
    log = Log()
    log.call(1)
    log.call(2, dt=1)
    log.reply(2, dt=1)
    log.reply(1, dt=3)
    log.reply(9, dt=3)
    assert log.found("duration == 1") == [2]
    assert log.found("duration > 1s") == [3]
    assert log.found("duration < 1h") == [2, 3]


def test_durations_are_right_where_numbers_leave_gaps() -> None:
    log = Log()
    for identity in range(20):
        log.skip_numbers(identity % 3)
        log.call(identity, dt=1)
    for identity in range(20):
        log.reply(identity, dt=0.25)
    expected = [20 + i for i in range(20) if 19 - i + (i + 1) / 4 > 8]
    assert log.found("duration > 8") == expected


def test_a_job_is_all_messages_of_its_requests() -> None:
    log = Log()
    first = log.call(1, "a")
    log.call(2, "b")
    log.tick("a", 1)
    log.reply(2)
    log.stderr(b"x")
    requests = {3: frozenset({first})}
    asked: list[int] = []

    def requests_of(job: int) -> frozenset[int]:
        asked.append(job)
        return requests.get(job, frozenset())

    def found(text: str) -> list[int]:
        predicate = compiled(TrafficFilter(text), log.timeline, requests_of)
        return all_of(Search(log.timeline, predicate))

    assert found("job == 3") == found("job in (3, 4)") == [0, 2]
    assert found("job != 3") == [1, 3]
    assert found("job == 5") == []
    assert set(asked) == {3, 4, 5}
    assert log.found(f"request == {first}") == [0, 2]


def test_levels_are_in_order_of_severity() -> None:
    log = Log()
    for level in ("debug", "warning", "error", "odd"):
        log.receive(notification("notifications/message", level=level))
    assert log.found("level >= warning") == [1, 2]
    assert log.found("level == odd") == [3]


@pytest.mark.parametrize(
    "raw", ["ÜBER".encode(), "über".encode(), rb"\u00fcber", rb"\u00DCBER"], ids=repr
)
def test_other_letters_are_found_in_either_case_as_utf8_or_as_escapes(raw: bytes) -> None:
    log = Log()
    log.receive(b"x " + raw)
    assert log.found("über") == log.found("x BER") == [0]


def test_what_json_escapes_is_found_as_it_reads() -> None:
    log = Log()
    log.receive({"text": 'say "hi"\n🚀'}, rb'{"text":"a\/b"}')
    assert log.found("'\"hi\"'") == log.found(r'"\"HI\"\n🚀"') == [0]
    assert log.found("A/b") == [1]
    log.receive(
        notification("x", text="a/b"),
        rb'{"jsonrpc":"2.0","method":"x","params":{"text":"\u0061\/b"}}',
    )
    assert log.found('params.text contains "A/B"') == [2, 3]


def test_letters_that_are_escaped_are_found_where_values_are_searched() -> None:
    log = Log()
    log.receive(rb'{"jsonrpc":"2.0","method":"x","params":{"text":"\u0061bc"}}')
    log.receive(notification("x", text="abd"))
    assert log.found("params.text contains ABC") == [0]
    assert log.found("params contains abc") == [0]


def test_the_filter_distinguishes_true_from_1() -> None:
    log = Log()
    log.receive(*[notification("x", value=value) for value in (True, 1, 1.0, "true", None, False)])
    assert log.found("params.value == true") == [0]
    assert log.found("params.value == 1") == [1, 2]
    assert log.found("params.value == null") == [4]
    assert log.found("params.value >= 0") == [1, 2]
    assert log.found('params.value in (false, "true")') == [3, 5]


def test_line_feeds_that_are_escaped_on_disk_are_read_as_they_came() -> None:
    log = Log()
    raw = b'{"jsonrpc":"2.0","id":1,\n"method":"x","params":{"text":"a\\\\b"}}'
    log.send(raw)
    log.send({"jsonrpc": "2.0", "id": 2, "method": "x", "params": {"text": "b"}})
    assert log.found('"1,\n"') == [0]
    assert log.found(r'params.text == "a\\b"') == [0]
    assert log.found(r'text contains "a\\\\b"') == [0]


def test_names_too_long_for_the_index_are_looked_up() -> None:
    log = Log()
    token, other, method = "t" * 300, "u" * 300, "m" * 300
    log.call(1, token)
    log.tick(token, 1)
    log.reply(1)
    log.call(2, other)
    log.receive(notification(method))
    assert log.found(f"token == {token}") == [0, 1, 2]
    assert log.found("token contains u") == [3]
    assert log.found(f"method == {method}") == [4]
    assert log.found("method != ping") == [0, 1, 3, 4]


def test_words_across_the_pieces_of_a_long_message_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.filtering.index_predicates.LONG", 64)
    monkeypatch.setattr("mcp_progress_monitor.filtering.index_predicates._GROUP_BYTES", 64)
    log = Log()
    log.receive(b"x" * 60 + b"Needle" + b"x" * 500 + b"pin", b"y" * 600)
    log.send(b"a\n" + b"\\" * 61 + b"\nq" + b"z" * 100)
    assert log.found("needle") == log.found('text contains "xneedlex"') == [0]
    assert log.found("needle pin") == [0]
    assert log.found("needle pine") == []
    assert log.found('text matches "Ne+dlex+pin$"') == [0]
    assert log.found('text matches "^x+N"') == log.found('text matches "^x"') == [0]
    assert log.found('text matches "Need$"') == []
    assert log.found(r'text matches "\n\\\\{61}\nqz+$"') == [2]
    assert log.found('text > "x"') == [0, 1]


def test_values_in_a_message_of_megabytes_are_found() -> None:
    log = Log()
    big = "z" * 2**20 + " Needle"
    log.reply(1, content=[{"type": "text", "text": "small"}, {"type": "text", "text": big}])
    assert log.found("id == 1") == [0]
    assert log.found("result.content[0].text == small") == [0]
    assert log.found('result.content[1].text contains "z needle"') == [0]
    assert log.found("result contains needle") == [0]
    assert log.found("result.content[2].text contains needle") == []
    assert log.found("result.content[1].text != x") == []
    assert log.found("result.nothing == 1") == []


def test_an_unusual_message_is_decoded_leniently() -> None:
    log = Log()
    start = b'{"jsonrpc":"2.0","method":"x","params":'
    log.receive(
        start + b'{"n":NaN,"m":7}}',
        start + b'{"m":7,"t":"\xff"}}',
        start + b'{"m":7,"t":"\\ud800"}}',
        start + b'{"m":7,"deep":' + b"[" * 300 + b"]" * 300 + b"}}",
        start + b"[7]}",
        start + b"null}",
        start + b'{"m":1,"m":7}}',
    )
    assert log.found("params.m == 7") == [0, 1, 2, 3, 6]
    assert log.found("params[0] == 7") == [4]
    assert log.found("params == null") == [5]


def test_a_hostile_pattern_is_given_up_and_counted() -> None:
    log = Log()
    log.receive(b"aaa", *[b"a" * 40 + b"!"] * 3)
    search = log.search(_HOSTILE)
    begun_s = time.process_time()
    assert all_of(search, 0) == [0]
    assert search.timed_out == 3
    assert time.process_time() - begun_s < 1


def test_after_many_hostile_texts_less_time_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "_PATIENCE", 2)
    log = Log()
    log.receive(*[b"a" * 40 + b"!"] * 40)
    search = log.search(_HOSTILE)
    begun_s = time.process_time()
    assert all_of(search) == []
    assert search.timed_out == 40
    assert time.process_time() - begun_s < 0.3


def test_a_filter_that_cannot_be_read_is_refused() -> None:
    log = Log()
    with pytest.raises(FilterError):
        log.search("tokn == 7")


def test_a_search_steps_over_what_was_given_up_meanwhile() -> None:
    log = Log()
    log.call(1, "t")
    for number in range(600):
        log.tick("t", number, dt=1)
    log.begin_part()
    log.tick("t", 600, dt=1)
    search = log.search("text contains progress and dt > 0.5")
    found = search.run(0.0)
    log.timeline.give_up(1, 3000, 2)
    gap = log.timeline.gap
    assert 10 < gap.start < 40
    assert gap.stop == 601
    found += all_of(search)
    assert found == log.found("dt > 0.5") == [*range(1, gap.start), 601]
    assert log.search().left == 1 + gap.start


def test_a_search_ends_where_the_newest_were_given_up() -> None:
    log = Log()
    log.call(1, "t")
    log.tick("t", 1)
    search = log.search("progressToken")
    log.timeline.give_up(1, 150, 2)
    assert log.timeline.gap == range(1, 2)
    assert all_of(search) == [0]


def test_a_token_is_another_one_on_another_connection_and_of_the_other_side() -> None:
    log = Log()
    log.call(1, "t")
    log.call(1, "t", dt=3, connection="demo#2")
    log.ask(1, "t", dt=3)
    log.tell("t", 1, dt=1)
    log.tick("t", 1, dt=1)
    log.tick("t", 1, dt=1, connection="demo#2")
    assert log.found("dt == 1s") == [3]
    assert log.found("dt == 8s") == [4]
    assert log.found("dt == 6s") == [5]
    assert all_of(log.search("dt == 6s", place=5)) == [5]


@pytest.fixture(scope="module")
def many_ticks() -> Log:
    log = Log()
    for _ in range(20):
        _ticks(log, 1000)
    return log


@pytest.mark.parametrize("text", ["number > 3", "time > 08:00", "dt > 1", "size > 1"])
def test_search_strides_stay_within_the_time_of_a_slice(
    text: str, many_ticks: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []
    search = many_ticks.search(text)
    select = type(search._predicate).select  # noqa: SLF001  # strides are seen nowhere else

    def watched(self: object, stride: Stride) -> object:
        lengths.append(stride.stop - stride.start)
        clock.now += 4e-7 * lengths[-1]
        return select(self, stride)  # type: ignore[arg-type]  # it is a predicate

    clock = _Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    monkeypatch.setattr(type(search._predicate), "select", watched)  # noqa: SLF001
    all_of(search)
    assert 256 < max(lengths) <= 4096


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_times_of_day_are_those_of_each_quarter_of_an_hour() -> None:
    log = Log()
    _ticks(log, 2)
    log.tick(7, 1, dt=3600)
    log.tick(7, 1, dt=86_400)
    clock = datetime.fromtimestamp(WHEN + 3600).astimezone()
    assert log.found(f"time == {clock:%H:%M}") == [2, 3]
