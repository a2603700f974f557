"""Which variables and headers a server receives, shown before the user approves it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.secrets.references import names_in
from mcp_progress_monitor.snapshots.definitions import ServerDefinition, StdioDefinition

_STEERING: Final = re.compile(
    r"PATH|PATHEXT|CDPATH|IFS|SHELL|ENV|BASH_.*|ZDOTDIR|COMSPEC|HOME|USERPROFILE|APPDATA|XDG_.*"
    r"|LD_.*|DYLD_.*|GCONV_PATH|GLIBC_.*|MALLOC_.*|LOCPATH"
    r"|PYTHON.*|PIP_.*|UV_.*|UVX_.*|VIRTUAL_ENV|CONDA_.*|POETRY_.*|PIPX_.*"
    r"|NODE_.*|NPM_CONFIG_.*|YARN_.*|PNPM_.*|COREPACK_.*|BUN_.*|DENO_.*|TSX?_NODE_.*"
    r"|RUBY.*|GEM_.*|BUNDLE_.*|PERL.*|PHP.*|LUA_.*|R_.*|GO.*|CARGO_.*|RUST.*"
    r"|CLASSPATH|_?JAVA_.*|JDK_.*|JVM_.*|MAVEN_.*|GRADLE_.*|DOTNET_.*|COR_.*|CORECLR_.*"
    r"|DOCKER_.*|PODMAN_.*|CONTAINER_.*|KUBECONFIG|GIT_.*|SSH_ASKPASS|SUDO_ASKPASS"
    r"|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|TMPDIR|TEMP|TMP|SYSTEMROOT|WINDIR|PSMODULEPATH"
    r"|(?:PY|RB|NOD|GO)ENV_.*|NVM_.*|VOLTA_.*|ASDF_.*|MISE_.*|FNM_.*|PDM_.*|PIPENV_.*|HATCH_.*"
    r"|ELECTRON_.*|ERL_.*|ELIXIR_.*|MIX_.*|JULIA_.*|TCLLIBPATH|NIX_.*|MAKEFLAGS|TF_CLI_.*"
    r"|AWS_CONFIG_FILE|AWS_ENDPOINT_URL.*|BOTO_CONFIG|CLOUDSDK_.*"
    r"|EDITOR|VISUAL|(?:MAN)?PAGER|LESS(?:OPEN|CLOSE)|BROWSER"
    r"|(?:HTTPS?|ALL|NO|FTP)_PROXY|SSL_.*|SSLKEYLOGFILE|REQUESTS_CA_BUNDLE|CURL_.*|OPENSSL_.*"
    r"|HOSTALIASES|RES_OPTIONS|LOCALDOMAIN",
    re.IGNORECASE,
)
"""Variables by which other code runs than the command says, or traffic goes elsewhere."""
_STRANGE_BLANK: Final = re.compile(
    "[\xa0\u034f\u115f\u1160\u1680\u2000-\u200d\u202f\u205f\u2800\u3000\u3164\uffa0]"
)
"""What looks like a space, or like nothing, and is another character."""
_GAP: Final = re.compile(" {9,}")


class PassedValue(NamedTuple):
    """A variable, or a header. `references` are kinds and names of what its value takes in.

    `value` is told of variables that steer what runs; None of all others, which may be secrets.
    """

    name: str
    value: str | None
    references: tuple[tuple[str, str], ...]


def steers(name: str) -> bool:
    """Whether a variable of that name has a say in what runs, whatever the command is."""
    return _STEERING.fullmatch(name) is not None


def handed_on(definition: ServerDefinition) -> list[PassedValue]:
    """A server's variables, or its headers, by name."""
    is_process = isinstance(definition, StdioDefinition)
    values = definition.env if isinstance(definition, StdioDefinition) else definition.headers
    return [
        PassedValue(name, value if is_process and steers(name) else None, tuple(names_in(value)))
        for name, value in sorted(values.items())
    ]


def taken_in(definition: ServerDefinition) -> tuple[tuple[str, str], ...]:
    """Kinds and names of what a command's arguments take in, as it is whenever it is started."""
    if not isinstance(definition, StdioDefinition):
        return ()
    found = [reference for word in definition.args for reference in names_in(word)]
    return tuple(dict.fromkeys(found))


def without_gaps(text: str) -> str:
    """What is to be agreed to, with blanks in which nobody could hide the rest of it.

    A run of spaces is told by its length; other blank characters are written as escapes.
    """
    plain = _STRANGE_BLANK.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return _GAP.sub(lambda found: f"[{formatting.count(len(found[0]), 'space')}]", plain)


def has_user(url: str) -> bool:
    """Whether a URL has a user's name, and perhaps a password, which are not shown with it."""
    return "@" in url.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0]
