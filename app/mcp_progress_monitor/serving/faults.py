"""Changes what is served by the rules of a script, on top of what the server did then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.tap.script import ScriptRun

if TYPE_CHECKING:
    from mcp_progress_monitor.tap.script import Script, ScriptRule

_NOT_SERVED: Final = frozenset({"reorder", "close"})


class ServedFaults:
    """Applies a script to all clients; `killed` is set by a rule that kills the server."""

    def __init__(self, script: Script) -> None:
        """`UserError` if a rule cannot be applied to a recording."""
        for rule in script.rules:
            if rule.action in _NOT_SERVED:
                what = f'"{rule.action}" cannot be used with a served recording'
                hint = "Use delay, drop, duplicate, corrupt, cut or kill."
                raise UserError(ErrorDetails(what, f"{script.name}, line {rule.line}", hint))
        self._script = script
        self._run = ScriptRun(script)
        self.killed = anyio.Event()

    @property
    def text(self) -> str:
        """A notice that a script changes what is served."""
        return self._script.text

    async def run(self) -> None:
        """Apply the rules that kill the server after some time."""
        timed = [rule for rule in self._script.rules if rule.is_final and rule.after_s is not None]
        first = min(timed, key=_after_s, default=None)
        if first is not None:
            await anyio.sleep(_after_s(first))
            self.killed.set()

    async def changed(self, side: str, raw: bytes, scope: str = "") -> list[bytes]:
        """The messages to pass on instead of one, after the delay of a rule."""
        effect = self._run.judged(side, raw, (scope,))
        if effect.delay_s:
            await anyio.sleep(effect.delay_s)
        if effect.finals:
            self.killed.set()
        return [] if effect.is_dropped else [effect.data] * effect.copies


def _after_s(rule: ScriptRule) -> float:
    return 0.0 if rule.after_s is None else rule.after_s
