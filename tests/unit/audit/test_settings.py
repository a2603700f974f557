"""Agents ask before they act, unless the user's file says otherwise."""

from pathlib import Path

import pytest

from mcp_progress_monitor.audit.settings import FILE_NAME, asks_before_actions


@pytest.mark.parametrize(
    ("content", "asks"),
    [
        ('{"asks_before_actions": false}', False),
        ('{"asks_before_actions": true}', True),
        ('{"asks_before_actions": 0}', True),
        ('{"other": false}', True),
        ("[]", True),
        ("rubbish", True),
        ("", True),
    ],
)
def test_only_a_plain_no_in_the_file_counts(tmp_path: Path, content: str, *, asks: bool) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    assert asks_before_actions(tmp_path) is asks


def test_without_a_file_it_asks(tmp_path: Path) -> None:
    assert asks_before_actions(tmp_path)
    (tmp_path / FILE_NAME).mkdir()
    assert asks_before_actions(tmp_path)
