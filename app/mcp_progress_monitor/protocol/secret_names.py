"""Names that usually hold secrets: of members, variables, headers, options, parameters of URLs."""

from __future__ import annotations

import re
import urllib.parse
from typing import Final

_NOT_LETTERS: Final = re.compile(r"[^a-z]+")
_SECRET_NAME: Final = re.compile(
    r"pass(?:word|wd|phrase|code)|^pass$|pwd|secret|credential|authorization|cookie|bearer|jwt"
    r"|(?:api|private|access|signing|encryption|auth|account|master|ssh)keys?(?:value)?$"
    r"|^auth$|^pin$|^otp$|(?<!progress)tokens?(?:value|string)?$|sessionid$"
    r"|^sig$|(?:amz|goog|url|request)signature$"
)
_SECRET_SETTING: Final = re.compile(
    r"(?:^|service|[_-])key$|(?:^|[_-])pat$|[_-]sas$|dsn$|connection[_-]?string$", re.IGNORECASE
)
_SECRET_HEADER: Final = re.compile(r"^auth|-auth\b|api-?key|token|signature", re.IGNORECASE)
_SECRET_PARAMETERS: Final = frozenset({"code", "code_verifier", "assertion"})
"""Parameters of URLs that let in who has them: a key of Azure Functions, what OAuth hands over."""
_NO_SECRETS: Final = frozenset({"mcp-session-id"})
"""Headers that are shown: what happened over HTTP could not be told without them."""
_USER: Final = re.compile(r"^(\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//)[^/?#\\]*@")
_PARAMETER: Final = re.compile(r"(?P<kept>[?&;#](?P<name>[^=&;#?]{1,200})=)(?P<value>[^&;#\s]+)")
_REFERENCES: Final = re.compile(r"(?:\$\{(?:env|keyring):[^${}]+\})+")
HIDDEN_VALUE: Final = "***"
"""What stands in place of a secret in a URL, or within a text."""


def is_secret_name(name: str) -> bool:
    """Whether what has that name holds a secret: `apiKey`, `CLIENT_SECRET`, `X-Auth-Token`.

    A progress token is none: it only names a request.
    """
    return _SECRET_NAME.search(letters(name)) is not None


def is_secret_setting(name: str) -> bool:
    """Whether a variable, a header or an option of that name holds a secret.

    Of those more names are taken for it than of members of messages: `KEY`, `GITHUB_PAT`, `DSN`.
    """
    return is_secret_name(name) or _SECRET_SETTING.search(name) is not None


def is_secret_parameter(name: str) -> bool:
    """Whether a parameter of a URL of that name holds a secret."""
    return is_secret_setting(name) or name.lower() in _SECRET_PARAMETERS


def is_secret_header(name: str) -> bool:
    """Whether a header of HTTP of that name is a credential by itself."""
    if name.lower() in _NO_SECRETS:
        return False
    return is_secret_setting(name) or _SECRET_HEADER.search(name) is not None


def shown_url(url: str) -> str:
    """A URL as it may be shown: without a user's name and password, and its parameters' secrets.

    One that cannot be read is shown likewise; references to secrets stay as they are.
    """
    bare = _USER.sub(r"\1", url, count=1)
    return _PARAMETER.sub(_shown_parameter, bare) if "=" in bare else bare


def _shown_parameter(found: re.Match[str]) -> str:
    name = urllib.parse.unquote_plus(found["name"])
    if not is_secret_parameter(name) or _REFERENCES.fullmatch(found["value"]):
        return found[0]
    return f"{found['kept']}{HIDDEN_VALUE}"


def letters(name: str) -> str:
    """The letters of a name alone, small: `API_KEY`, `apiKey` and `api-key` are one."""
    return _NOT_LETTERS.sub("", name.lower())
