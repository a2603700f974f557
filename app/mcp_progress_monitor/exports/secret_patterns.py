"""Patterns of secrets: by name, and by their form within a text."""

from __future__ import annotations

import functools
import re
from typing import Final

from mcp_progress_monitor.protocol.secrets import letters

REMOVED: Final = "(removed)"  # what replaces a secret

_HEADERS_NAME: Final = re.compile(
    "(?:http|request|response|extra|custom|default|additional|static)*headers?"
)
_COUNTED_NAME: Final = re.compile(r"tokens$")


def may_be_count(name: str) -> bool:
    """Return whether a number with that name is a count: `max_tokens`."""
    return _COUNTED_NAME.search(letters(name)) is not None


def is_key(name: str) -> bool:
    """Return whether a member with that name holds either a secret or the name of something."""
    return letters(name) in {"key", "xkey"}


def looks_random(text: str) -> bool:
    """Return whether cases and digits alternate too often for a name; False for a UUID."""
    if not _RANDOM.fullmatch(text) or _UUID.fullmatch(text):
        return False
    stretches = _STRETCH.findall(text)
    has_digit = any(stretch[0].isdigit() for stretch in stretches)
    return has_digit and len(stretches) * _LONGEST_STRETCH >= len(text)


def is_environment(name: str) -> bool:
    return letters(name) in {"env", "environ", "environment", "environmentvariables", "envvars"}


def is_headers(name: str) -> bool:
    return _HEADERS_NAME.fullmatch(letters(name)) is not None


def is_harmless_header(name: str) -> bool:
    """Return whether a header with that name only describes the message, and grants no access."""
    return name.lower() in _HARMLESS_HEADERS


def is_address(name: str) -> bool:
    """Return whether a member or header with that name has a URL."""
    return letters(name) in {"url", "location"}


def address_without_secrets(text: str) -> str:
    """A URL without the random parts of its path, which may grant access."""
    found = _PATH.match(text)
    if found is None:
        return text
    parts = [
        REMOVED if len(part) >= _SHORTEST_PART and looks_random(part) else part
        for part in found["path"].split("/")
    ]
    return f"{found['before']}{'/'.join(parts)}{text[found.end() :]}"


def is_command(name: str) -> bool:
    return letters(name) in {"args", "argv", "command", "cmd", "commandline"}


_HARMLESS_HEADERS: Final = frozenset(
    {
        *("accept", "accept-encoding", "accept-language", "accept-ranges", "age", "allow"),
        *("cache-control", "connection", "content-encoding", "content-language", "content-length"),
        *("content-type", "date", "expires", "host", "keep-alive", "last-modified", "location"),
        *("mcp-method", "mcp-name", "mcp-protocol-version", "origin", "pragma", "retry-after"),
        *("server", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "vary", "via"),
        *("www-authenticate", "x-accel-buffering", "x-powered-by"),
    }
)
_PATH: Final = re.compile(
    r"(?P<before>https?://[^/?#\s]{0,500})(?P<path>/[^?#\s]*+)", re.IGNORECASE
)
_SHORTEST_PART: Final = 20

# A name within a text, and the characters between it and its value. A quote may be escaped, in JSON
# within JSON.
_NAMED: Final = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|credentials?|jwt"
    r"|(?:api|private|access|secret|signing|encryption|auth|account|master|ssh)[ _.-]?key)"
    r"[\w.-]{0,40}|(?:mcp[_-])?session[ _-]?id(?![\w-])"
    r"|(?<!progress)(?<!progress[ _-])tokens?(?![\w-])"
)
_SIGN: Final = r"""\\{0,8}["'`]?\s{0,8}(?::=|=>|[:=])\s{0,8}"""
_QUOTED: Final = r"""(?P<quote>\\{0,8}["'`])[^\r\n]{0,100000}?(?P=quote)"""
_BARE: Final = r"""\(removed\)|(?:(?:bearer|basic|digest)\s{1,8})?[^\s,;&"'`<>\\)\]}]++"""

_ASSIGNED: Final = re.compile(f"(?P<kept>(?:{_NAMED}){_SIGN})(?:{_QUOTED}|{_BARE})", re.IGNORECASE)
_HEADER: Final = re.compile(
    rf"""(?P<kept>(?:authorization|cookies?){_SIGN})(?:{_QUOTED}|[^\r\n"'`\\]++)""", re.IGNORECASE
)
_OPTION: Final = re.compile(
    rf"(?P<kept>(?<![\w-])--?[\w.-]{{0,60}}?(?:{_NAMED})\s{{1,8}})(?:{_QUOTED}|{_BARE})",
    re.IGNORECASE,
)
_HEADER_OPTION: Final = re.compile(
    r"""(?P<kept>(?<![\w-])(?:--header|-H)[ =]{1,8}\\{0,8}["']?[\w-]{1,80}\s{0,8}[:=]\s{0,8})"""
    r"""[^\r\n"'\\]++"""
)
_ENV_OPTION: Final = re.compile(
    r"""(?P<kept>(?<![\w-])(?:--env|-e)[ =]{1,8}["']?\w{1,80}=)"""
    r"""(?:(?P<quote>["'])[^\r\n]{0,10000}?(?P=quote)|[^\s"']++)"""
)
_ADDRESS: Final = re.compile(r"(?P<kept>[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,200}:)[^\s/@]++(?=@)")
# Parameters of URLs that grant access; the separator may be escaped for JSON or HTML.
_SIGNED: Final = re.compile(
    r"(?P<kept>(?:[?&;]|\\u0026)(?![\w.-]{0,40}progress[_-]?token)(?:sig|hmac|key"
    r"|x-(?:amz|goog|ms)-[\w-]{0,40}(?:signature|credential|token)"
    r"|[\w.-]{0,40}(?:token|signature|secret|password|session[_-]?id|api[_-]?key))=)"
    r"""(?:\(removed\)|[^\s&#;"'`<>\\)\]}]++)""",
    re.IGNORECASE,
)
# Authorization codes in a browser's URL; a shorter one is another kind of code.
_CODE: Final = re.compile(
    r"(?P<kept>[?&](?:code|code_verifier|assertion)=)[\w.~%+/-]{12,}+", re.IGNORECASE
)
_ORDINARY: Final = (
    "(?:required|missing|invalid|wrong|(?:in)?correct|not|too|needed|empty|blank|set|unset|weak"
    "|short|long|strong|hidden|the|an?|your|my|our|their|in|on|at|for|from|to|of|now|never|always"
    "|only|case|optional|mandatory|unknown|null|none|ok|okay|fine|about|already|still|no|neither"
    r"|same|shown|kept|sent|valid|bad|here|there|what|why|how|one|[a-z]+(?:ed|ing|able|ible|ary))"
    r"(?![\w-])"
)
_SAID: Final = re.compile(
    rf"(?P<kept>\bpass(?:word|wd|phrase|code)\s{{1,4}}(?:is|was)\s{{1,4}}:?)(?!{_ORDINARY})"
    rf"(?:{_QUOTED}|{_BARE})",
    re.IGNORECASE,
)
_KEY: Final = re.compile(
    rf"""(?P<kept>(?<![\w])(?:x-)?key{_SIGN})(?P<value>[\w+/=-]{{16,512}})(?![\w+/=-])""",
    re.IGNORECASE,
)
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RANDOM: Final = re.compile(r"[\w+/=-]{16,512}")
_STRETCH: Final = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
_LONGEST_STRETCH: Final = 3  # average run of characters of one kind in random texts
_SCHEME: Final = re.compile(r"(?P<kept>\b(?:bearer|basic)\s{1,8})[\w.~+/=-]{6,}", re.IGNORECASE)
_SHAPED: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}-----|\Z)"
    r"|\beyJ[\w-]{5,}+\.[\w-]++(?:\.[\w-]*+)?"
    r"|\b(?:sk|pk|rk)[-_][\w-]{8,}+"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|npm_|hf_|pypi-)[\w-]{10,}+"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}+",
    re.DOTALL,
)
_KEEPING: Final = (
    _HEADER_OPTION,
    _ENV_OPTION,
    _HEADER,
    _ASSIGNED,
    _OPTION,
    _SIGNED,
    _CODE,
    _SAID,
    _SCHEME,
    _ADDRESS,
)


def without_secrets(text: str) -> str:
    """Replace values that look like secrets, or are named so, by `REMOVED`, in linear time."""
    for pattern in _KEEPING:
        text = pattern.sub(_kept, text)
    text = _KEY.sub(_unless_a_name, text)
    return _SHAPED.sub(REMOVED, text)


def _unless_a_name(found: re.Match[str]) -> str:
    return f"{found['kept']}{REMOVED}" if looks_random(found["value"]) else found[0]


def _kept(found: re.Match[str]) -> str:
    quote = found.groupdict().get("quote") or ""
    return f"{found['kept']}{quote}{REMOVED}{quote}"


_TRIGGERS: Final = tuple(
    b"pass pwd secret credential key auth cookie bearer basic jwt env header arg command cmd -h -e"
    b' pin" otp" session sig= sig" signature hmac= eyj url" location" code= _verifier= assertion='
    b" sk- sk_ pk- pk_ rk- rk_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xox npm_"
    b" hf_ pypi- akia asia aiza @ \\u00".split(b" ")
)


_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_SHORT: Final = 512  # bytes of a text whose answer is remembered


def may_have_secrets(raw: bytes) -> bool:
    """Return whether any rule can match; False for most frames of a flood.

    Ten times as fast as a single regular expression. Of short texts that differ only in digits, one
    is searched and the result cached: no trigger has a digit other than 0.
    """
    return _may_short(raw.translate(_DIGITS)) if len(raw) <= _SHORT else _may(raw)


@functools.lru_cache(4096)
def _may_short(raw: bytes) -> bool:
    return _may(raw)


def _may(raw: bytes) -> bool:
    low = raw.lower()
    for trigger in _TRIGGERS:
        if trigger in low:
            return True
    return low.count(b"token") > low.count(b"progresstoken")
