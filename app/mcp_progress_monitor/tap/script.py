"""The language of `tap --script`: one rule per line, with an action and the messages it applies to.

This module only decides; `faults` changes the streams. Both are imported only for a script.
"""

from __future__ import annotations

import dataclasses
import difflib
import fnmatch
import json
import random
import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LONGEST_SCRIPT = 1_000_000  # characters
REORDER_S = 1.0  # how long to wait for the messages to reverse
_OPEN_REQUESTS = 10_000
_DAMAGE = b"\x1a"  # replaces a byte of a message; never valid in JSON
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s"#][^\s"]*)|#.*|(")')
_TIME = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(ms|s|m)", re.ASCII)
_ORDINAL = re.compile(r"(\d{1,9})(?:st|nd|rd|th)", re.ASCII)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_STREAMS = {"stdout": "server", "stderr": "server", "stdin": "client"}
"""The streams of a server, with the side that writes to them."""
_KINDS = {
    "messages": "message",
    "requests": "request",
    "notifications": "notification",
    "responses": "response",
    "results": "result",
    "errors": "error",
}
_KINDS |= {kind: kind for kind in _KINDS.values()}
_PROGRESS = "notifications/progress"
_METHODS = (
    "initialize",
    "ping",
    _PROGRESS,
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/message",
    "tools/call",
    "tools/list",
    "prompts/get",
    "prompts/list",
    "resources/read",
    "resources/list",
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "server/discover",
    "tasks/get",
    "tasks/result",
    "tasks/cancel",
)
"""Methods to suggest for a misspelt word; any other method is accepted as well."""
_EXAMPLES = {
    "delay": "delay 2s server progress",
    "drop": "drop every 3rd client notifications/cancelled",
    "duplicate": "duplicate server result of tools/call",
    "reorder": "reorder server 2 messages",
    "corrupt": "corrupt server 5th message",
    "cut": "cut server result of tools/list",
    "kill": "kill server after 10 progress",
    "close": "close stdout after 3s",
}
ACTIONS = tuple(_EXAMPLES)
_ORDERED = "A stream over HTTP keeps its order"
_NOT_OVER_HTTP = {
    "kill": (
        "A server with a URL is no process of ours to kill",
        "Let its messages get lost: drop server after 10 progress",
    ),
    "close": (
        "A server with a URL has no standard streams to close",
        "Let its messages get lost: drop server after 3s",
    ),
    "reorder": (_ORDERED, "Delay messages, or duplicate them: delay 2s server progress"),
}
"""Actions that do not work with `--to URL`: why, and what to try."""


class ScriptError(ValueError):
    """An invalid line: its number, what is wrong, and what to try."""

    def __init__(self, line: int, what: str, hint: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.line = line
        self.what = what
        self.hint = hint


@dataclasses.dataclass(frozen=True, slots=True)
class ScriptedMessage:
    """The kind and method of a message or of an element of a batch.

    A response has the method of its request. Anything but JSON-RPC has the kind "other".
    """

    kind: str
    method: str = ""


@dataclasses.dataclass(slots=True)
class ScriptRule:
    """One line of a script; parts that are not in it are None, or match everything."""

    line: int
    text: str
    action: str
    side: str = ""  # the sender of the messages: "server" or "client"
    kind: str = "message"
    method: str = "*"  # a glob pattern
    phrase: str | None = None
    every: int | None = None
    nth: int | None = None
    first: int | None = None
    chance: float | None = None
    after: int | None = None
    after_s: float | None = None
    delay_s: tuple[float, float] = (0.0, 0.0)
    is_alone: bool = False  # whether other messages overtake delayed ones
    copies: int = 1  # additional copies
    group: int = 2  # how many messages to reverse
    within_s: float = REORDER_S
    stream: str = ""  # the stream to close

    @property
    def is_final(self) -> bool:
        """True if it ends a process or a stream, and changes no message."""
        return self.action in {"kill", "close"}

    def matches(self, raw: bytes, parts: Sequence[ScriptedMessage]) -> bool:
        """Return whether the rule applies to a message, or to an element of a batch."""
        if self.phrase is not None and self.phrase.encode(errors="replace") not in raw:
            return False
        return any(map(self._matches_part, parts))

    def fires(self, count: int, draw: Callable[[], float]) -> bool:
        """Return whether it acts on the matching message number `count`.

        `draw` returns random numbers from 0 to 1, one for each message that needs a chance.
        """
        if self.is_final:
            return count == self.after
        count -= self.after or 0
        if count < 1:
            return False
        if self.chance is not None and draw() >= self.chance:
            return False
        return (
            (self.every is None or count % self.every == 0)
            and (self.nth is None or count == self.nth)
            and (self.first is None or count <= self.first)
        )

    def _matches_part(self, part: ScriptedMessage) -> bool:
        if self.kind != "message" and part.kind != self.kind:
            is_general = (self.kind == "response" and part.kind in {"result", "error"}) or (
                self.kind == "call" and part.kind in {"request", "notification"}
            )
            if not is_general:
                return False
        return self.method == "*" or fnmatch.fnmatchcase(part.method, self.method)


@dataclasses.dataclass(frozen=True, slots=True)
class Script:
    """The rules of a file, and the seed that makes its random choices repeatable."""

    name: str
    rules: tuple[ScriptRule, ...]
    seed: int

    @property
    def text(self) -> str:
        """A notice that it changes the session, for the client's user."""
        count = f"{len(self.rules)} rule{'' if len(self.rules) == 1 else 's'}"
        return f"The script {self.name} changes this session ({count}, --seed {self.seed})"


class Effect:
    """The effect of the rules on one message."""

    __slots__ = ("copies", "data", "delay_s", "finals", "group", "is_alone", "is_dropped", "rules")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.rules: list[ScriptRule] = []
        self.finals: list[ScriptRule] = []  # rules that end something after it was passed on
        self.copies = 1
        self.delay_s = 0.0
        self.is_alone = False
        self.is_dropped = False
        self.group: ScriptRule | None = None
        """The rule by which it waits to be passed on in reverse order."""


class ScriptRun:
    """The state of a running script: counts, random numbers, and open requests."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._began = time.monotonic()
        self._counts = dict.fromkeys((rule.line for rule in script.rules), 0)
        self._random = {r.line: random.Random(f"{script.seed}:{r.line}") for r in script.rules}  # noqa: S311
        self._requests: dict[tuple[str, str, str], str] = {}

    def opening(self) -> dict[str, object]:
        """The fields to record at the start: name, seed, and all rules."""
        rules = [f"{rule.line}: {rule.text}" for rule in self._script.rules]
        return {"name": self._script.name, "seed": self._script.seed, "rules": rules}

    def judged(self, side: str, raw: bytes, scopes: Sequence[str] = ("",)) -> Effect:
        """The effect of the rules on a message of one side.

        A response belongs to the request with its id in the first of the `scopes` that has one.
        """
        effect = Effect(raw)
        parts = list(self._parts(side, raw, scopes))
        for rule in self._script.rules:
            if rule.side == side and self._fires(rule, raw, parts):
                self._apply(rule, effect)
                if effect.is_dropped:
                    break
        return effect

    def change(self, side: str, number: int, raw: bytes, effect: Effect) -> dict[str, object]:
        fields: dict[str, object] = {
            "actions": [rule.action for rule in effect.rules],
            "from": side,
            "message": number,
            "passed": effect.copies,
            "rules": [f"{rule.line}: {rule.text}" for rule in effect.rules],
            "by": self._script.name,
        }
        if effect.delay_s:
            fields["delay_s"] = round(effect.delay_s, 6)
        return {**fields, **as_sent(raw)}

    def _fires(self, rule: ScriptRule, raw: bytes, parts: list[ScriptedMessage]) -> bool:
        if not rule.matches(raw, parts):
            return False
        if rule.after_s is not None and time.monotonic() - self._began < rule.after_s:
            return False
        self._counts[rule.line] += 1
        return rule.fires(self._counts[rule.line], self._random[rule.line].random)

    def _apply(self, rule: ScriptRule, effect: Effect) -> None:
        if rule.is_final:
            effect.finals.append(rule)
            return
        effect.rules.append(rule)
        chance = self._random[rule.line]
        match rule.action:
            case "drop":
                effect.is_dropped = True
                effect.copies = 0
            case "delay":
                effect.delay_s += chance.uniform(*rule.delay_s)
                effect.is_alone = effect.is_alone or rule.is_alone
            case "duplicate":
                effect.copies += rule.copies
            case "reorder":
                effect.group = rule
            case "cut":
                effect.data = effect.data[: len(effect.data) // 2]
            case "corrupt":
                place = chance.randrange(max(1, len(effect.data)))
                effect.data = effect.data[:place] + _DAMAGE + effect.data[place + 1 :]

    def _parts(self, side: str, raw: bytes, scopes: Sequence[str]) -> Iterator[ScriptedMessage]:
        """The message of a line, or each message of a batch."""
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            found = None
        for message in found if isinstance(found, list) and found else [found]:
            is_message = isinstance(message, dict)
            yield self._part(side, message, scopes) if is_message else ScriptedMessage("other")

    def _part(
        self, side: str, message: dict[str, object], scopes: Sequence[str]
    ) -> ScriptedMessage:
        method, found = message.get("method"), message.get("id")
        identity = json.dumps(found) if isinstance(found, str | int | float) else ""
        if isinstance(method, str):
            if "id" not in message:
                return ScriptedMessage("notification", method)
            for scope in scopes:
                if len(self._requests) >= _OPEN_REQUESTS:
                    del self._requests[next(iter(self._requests))]
                self._requests[scope, side, identity] = method
            return ScriptedMessage("request", method)
        if "result" not in message and "error" not in message:
            return ScriptedMessage("other")
        asker = "client" if side == "server" else "server"
        kind = "result" if "result" in message else "error"
        methods = [self._requests.pop((scope, asker, identity), "") for scope in scopes]
        return ScriptedMessage(kind, next(filter(None, methods), ""))


def as_sent(raw: bytes) -> dict[str, object]:
    """A message as it was sent, as text or else in hexadecimal."""
    try:
        return {"sent": raw.decode()}
    except UnicodeDecodeError:
        return {"sent_hex": raw.hex()}


def refuse_over_http(rules: Sequence[ScriptRule]) -> None:
    """Raise `ScriptError` for a rule that does not work with a URL."""
    for rule in rules:
        found = _NOT_OVER_HTTP.get(rule.action)
        if rule.action == "delay" and rule.is_alone:
            found = _ORDERED, 'Leave out "alone": calls overtake each other anyway.'
        elif rule.action == "duplicate" and rule.side == "client":
            found = (
                "A request over HTTP has one response, and is not sent twice",
                f"Duplicate what the server sends: {_EXAMPLES['duplicate']}",
            )
        if found is not None:
            raise ScriptError(rule.line, *found)


def read_rules(text: str) -> tuple[ScriptRule, ...]:
    """Parse the rules of a script.

    Raises:
        ScriptError: a line is invalid, or there are no rules.
    """
    if len(text) > LONGEST_SCRIPT:
        raise ScriptError(1, "The script is too long", "Use a file of less than 1 MB.")
    rules = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        words = list(_words(number, line))
        if words:
            rules.append(_Line(number, words).rule())
    if not rules:
        raise ScriptError(1, "The script has no rules", f"Write one, such as: {_EXAMPLES['delay']}")
    return tuple(rules)


def _words(number: int, line: str) -> Iterator[str]:
    for found in _WORD.finditer(line):
        if found[3]:
            hint = 'Add the closing ", for example: drop server with "export"'
            raise ScriptError(number, "Missing closing quote", hint)
        if found[1] is not None:
            yield '"' + re.sub(r"\\(.)", r"\1", found[1])
        elif found[2]:
            yield found[2]


def _plain(word: str) -> str:
    """A word without the mark of quoted text."""
    return word.removeprefix('"')


class _Line:
    """Parses one line word by word; phrases after the action may come in any order."""

    def __init__(self, number: int, words: list[str]) -> None:
        self._number = number
        self._words = words
        self._given: set[str] = set()
        self._rule = ScriptRule(number, " ".join(f'{w}"' if w[:1] == '"' else w for w in words), "")
        self._phrases: dict[str, Callable[[], None]] = {
            "server": lambda: self._set("side", "server"),
            "client": lambda: self._set("side", "client"),
            "every": lambda: self._set("every", self._count("every")),
            "first": lambda: self._set("first", self._count("first")),
            "after": self._read_after,
            "with": lambda: self._set("phrase", self._text()),
            "alone": lambda: self._set("is_alone", True),
            "within": lambda: self._set("within_s", self._time("within")),
        }

    def rule(self) -> ScriptRule:
        rule, action = self._rule, self._words.pop(0)
        rule.action = action.lower()
        if rule.action not in _EXAMPLES:
            hint = _guess(action, ACTIONS) or f"Begin the line with one of: {', '.join(ACTIONS)}."
            raise self._error(f'Unknown action "{_plain(action)}"', hint)
        if rule.action == "delay":
            rule.delay_s = self._range()
        elif rule.action == "kill":
            self._expect_server()
        elif rule.action == "close":
            self._read_stream()
        while self._words:
            self._read_phrase()
        self._check()
        return rule

    # The parts of a line

    def _read_phrase(self) -> None:
        word = self._words.pop(0)
        name = word.lower()
        read = self._phrases.get(name)
        if read is not None:
            read()
        elif found := _ORDINAL.fullmatch(name):
            self._set("nth", self._positive(found[1]))
        elif found := _PERCENT.fullmatch(name):
            self._set("chance", self._chance(found[1]))
        elif _NUMBER.fullmatch(name) and self._rule.action == "reorder":
            self._set("group", self._positive(name))
        elif _NUMBER.fullmatch(name) and self._words[:1] in (["times"], ["time"]):
            del self._words[0]
            self._set("copies", self._positive(name))
        else:
            self._read_kind(word)

    def _read_kind(self, word: str) -> None:
        rule, kind = self._rule, _KINDS.get(word.lower())
        if kind is not None:
            self._set("kind", kind)
            if self._words[:1] == ["of"]:
                del self._words[0]
                rule.method = self._method()
        elif word.lower() == "progress":
            self._set("kind", "notification")
            rule.method = _PROGRESS
        elif _is_method(word):
            self._set("kind", "call")
            rule.method = word
        else:
            raise self._unknown(word)

    def _read_after(self) -> None:
        if self._words and (found := _TIME.fullmatch(self._words[0].lower())):
            del self._words[0]
            self._set("after_s", _seconds(found))
        else:
            self._set("after", self._count("after"))

    def _read_stream(self) -> None:
        name = self._words.pop(0) if self._words else ""
        if name.lower() not in _STREAMS:
            hint = _guess(name, _STREAMS) or f"Close stdin, stdout or stderr: {_EXAMPLES['close']}"
            raise self._error("The stream to close is missing", hint)
        self._rule.stream = name.lower()

    def _expect_server(self) -> None:
        word = self._words.pop(0) if self._words else ""
        if word.lower() == "client":
            hint = "The client started this tap. Try: close stdout after 3s"
            raise self._error("A script cannot kill the client", hint)
        if word.lower() != "server":
            raise self._error('"server" is missing after "kill"', f"Try: {_EXAMPLES['kill']}")

    def _check(self) -> None:
        """Check that the line has everything that its action needs, and nothing else."""
        rule = self._rule
        if rule.is_final:
            rule.side = rule.side or _STREAMS.get(rule.stream, "server")
            if (rule.after is None) == (rule.after_s is None):
                raise self._error('"after" is missing', f"Try: {_EXAMPLES[rule.action]}")
            self._refuse("every", "nth", "first", "chance")
            if rule.after_s is not None:
                self._refuse("side", "kind", "phrase")
        elif not rule.side:
            hint = f'Write "server" or "client": {_EXAMPLES[rule.action]}'
            raise self._error("The sender of the messages is missing", hint)
        for action, name in _BELONGS:
            if rule.action != action:
                self._refuse(name)
        if rule.action == "reorder" and rule.group < 2:
            raise self._error("A single message cannot be reordered", "Use 2 messages or more.")

    def _refuse(self, *names: str) -> None:
        for name in names:
            if name in self._given:
                what = f'{_NAMES[name]} cannot be used with "{self._rule.action}"'
                raise self._error(what, f"Try: {_EXAMPLES[self._rule.action]}")

    # Words

    def _set(self, name: str, value: object) -> None:
        if name in self._given:
            raise self._error(f"{_NAMES[name]} is given twice", "Write two rules.")
        self._given.add(name)
        setattr(self._rule, name, value)

    def _count(self, before: str) -> int:
        word = self._words.pop(0).lower() if self._words else ""
        found = _ORDINAL.fullmatch(word)
        number = found[1] if found else word
        if not _NUMBER.fullmatch(number):
            or_time = " or a time such as 3s" if before == "after" else ""
            raise self._error(f'"{before}" needs a number', f"Try: {before} 3{or_time}")
        return self._positive(number)

    def _positive(self, digits: str) -> int:
        if not int(digits):
            raise self._error("0 is not a valid number", "Counting starts at 1.")
        return int(digits)

    def _chance(self, digits: str) -> float:
        if float(digits) > 100:
            raise self._error(f"{digits}% is more than 100%", "Write 100% or less.")
        return float(digits) / 100

    def _time(self, before: str) -> float:
        word = self._words.pop(0) if self._words else ""
        found = _TIME.fullmatch(word.lower())
        if found is None:
            raise self._error(f'"{before}" needs a time', f"Try: {before} 500ms, {before} 2s")
        return _seconds(found)

    def _range(self) -> tuple[float, float]:
        """A time, or a range such as `100ms-2s`."""
        if self._words and "-" in self._words[0]:
            self._words[0:1] = self._words[0].split("-", 1)
            least, longest = self._time("delay"), self._time("delay")
            if least > longest:
                raise self._error("The range of times is reversed", "Try: delay 100ms-2s server")
            return least, longest
        seconds = self._time("delay")
        return seconds, seconds

    def _text(self) -> str:
        if not self._words or not _plain(self._words[0]):
            raise self._error('"with" needs a text', 'Try: drop server with "export"')
        return _plain(self._words.pop(0))

    def _method(self) -> str:
        word = self._words.pop(0) if self._words else ""
        if not _is_method(word):
            hint = _guess(word, _METHODS) or "Try: result of tools/call"
            raise self._error('"of" needs a method', hint)
        return word

    def _unknown(self, word: str) -> ScriptError:
        if word[:1] == '"':
            return self._error('"with" is missing before quoted text', f'Write: with {word}"')
        known = (*self._phrases, *_KINDS, "progress", *_METHODS)
        example = _EXAMPLES[self._rule.action]
        return self._error(f'Unknown word "{word}"', _guess(word, known) or f"Try: {example}")

    def _error(self, what: str, hint: str) -> ScriptError:
        return ScriptError(self._number, what, hint)


_BELONGS = (("delay", "is_alone"), ("duplicate", "copies"), ("reorder", "within_s"))
"""Parts that only one action has."""
_NAMES = {
    "side": "The sender",
    "kind": "The kind of message",
    "phrase": '"with"',
    "every": '"every"',
    "nth": "The position",
    "first": '"first"',
    "chance": "A percentage",
    "after": '"after"',
    "after_s": '"after"',
    "is_alone": '"alone"',
    "copies": '"times"',
    "group": "The number of messages",
    "within_s": '"within"',
}


def _is_method(word: str) -> bool:
    return word[:1] != '"' and ("/" in word or "*" in word or word in _METHODS)


def _seconds(found: re.Match[str]) -> float:
    return float(found[1]) * _UNITS[found[2]]


def _guess(word: str, known: Sequence[str] | dict[str, str]) -> str:
    """A suggestion for a misspelt word; empty if nothing is similar."""
    close = difflib.get_close_matches(word.lower()[:50], list(known), 1, 0.6)
    return f'Did you mean "{close[0]}"?' if close else ""
