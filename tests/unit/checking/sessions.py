"""Judging recordings in tests: as `check` reads them, and as live traffic comes, frame by frame."""

from pathlib import Path

from mcp_progress_monitor.checking.judge import SessionJudge
from mcp_progress_monitor.checking.report import Baseline
from mcp_progress_monitor.checking.results import Result
from mcp_progress_monitor.cli.check import RecordingCheck
from mcp_progress_monitor.cli.orders import CheckOrder
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.tracker.tracker import Tracker


def check_file(
    path: Path, *, expect: str = "", max_duration: float | None = None, is_tour: bool = False
) -> list[Result]:
    """The results of a recording, as `check` has them."""
    check = RecordingCheck(Playback(path), Baseline())
    check.run()
    order = CheckOrder(files=(path,), expect=(expect,) if expect else (), max_duration=max_duration)
    check.expect(order.replaced(is_tour=is_tour))
    return list(check.judge.results)


def judge_live(path: Path) -> list[Result]:
    """The results of the same frames when each comes by itself, without the official schemas.

    Time passes in between, and the judge is asked what that alone shows.
    """
    tracker, conversations = Tracker(), dict[str, Conversation]()
    judge = SessionJudge(tracker.job_of)
    now = 0.0
    for chunk in RecordingReader(path):
        for frame in chunk.frames:
            name = frame.connection
            conversation = conversations.setdefault(name, Conversation(name))
            facts = conversation.read([frame])
            now = now or frame.at
            for passed in (0.5, 1.0):
                judge.pass_time(now + passed * (frame.at - now))
            now = frame.at
            judge.take([frame], facts, tracker.apply(facts, frame.at).marked)
    judge.finish()
    return list(judge.results)


def summary(results: list[Result]) -> list[tuple[object, ...]]:
    """What is to be the same, however the frames came."""
    return [
        (r.rule, r.level, r.by, r.job, r.count, tuple(r.frames), r.last, r.fingerprint, r.finding)
        for r in results
    ]
