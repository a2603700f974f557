"""Errors that users see: what happened, where, and what to try."""

from __future__ import annotations

from typing import NamedTuple


class ErrorDetails(NamedTuple):
    """One failure caused by a server, a disk, a configuration or a user, for people.

    `what` is a sentence in the words of this program; `where` names the command, file, line or
    server; `hint` says what to try; `detail` holds evidence, which may be a server's own words (the
    reason of a refusal, the tail of stderr, a quoted line), and may be empty.
    """

    what: str
    where: str = ""
    hint: str = ""
    detail: str = ""

    def as_text(self) -> str:
        head = f"{self.what} ({self.where})" if self.where else self.what
        return "\n".join(part for part in (head, self.detail, self.hint) if part)

    def as_line(self) -> str:
        """Join what happened and its evidence, unless that has more than one line."""
        return (
            self.what if "\n" in self.detail else ": ".join(filter(None, (self.what, self.detail)))
        )


class UserError(Exception):
    """An expected failure: shown by its details, never as a traceback."""

    def __init__(self, details: ErrorDetails) -> None:
        """Wrap `details`; `str()` of the exception is their full text."""
        super().__init__(details.as_text())
        self.details = details
