"""Window, terminal and reports say the same thing with the same text: that of `wording`."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tests.architecture.source import Module, modules, parsed

FACES = {"cli": "terminal", "exports": "reports", "gui": "window", "wording": "wording"}
SENTENCE = 4
"""So many words are a sentence: fewer may be the same by chance."""

_URL = re.compile(r"(?:\burl|_url|addresses\.(?:own|shown|origin))$")


def test_no_sentence_is_written_twice() -> None:
    assert twice(modules("app")) == []


def test_a_sentence_of_two_faces_is_found() -> None:
    window = parsed("print('The server is &disabled: {}').format(x)", "app/p/gui/a.py")
    terminal = parsed("f'the server is disabled: {name}'", "app/p/cli/b.py")
    assert len(twice([window, terminal])) == 1
    assert twice([window, parsed("f'''the server is disabled'''", "app/p/gui/c.py")]) == []
    assert twice([terminal, parsed("'''The server is disabled: {}'''", "app/p/cli.py")]) == []


def test_no_url_ends_a_sentence() -> None:
    # A terminal takes the full stop for a part of the link.
    assert glued(modules("app")) == []


def test_a_url_with_a_full_stop_is_found() -> None:
    glues = parsed("f'Forwarding to {tap.addresses.shown}. Stop with Ctrl+C.'", "app/p/a.py")
    assert glued([glues]) == ["app/p/a.py:1: tap.addresses.shown"]
    assert glued([parsed("f'It forwards to {addresses.shown} from now on.'", "app/p/a.py")]) == []


def glued(found: Iterable[Module]) -> list[str]:
    """Find URLs that are filled in with punctuation right behind them."""
    return [
        f"{module.path.as_posix()}:{node.lineno}: {name}"
        for module in found
        for node in module.nodes
        if isinstance(node, ast.JoinedStr)
        for part, after in pairwise(node.values)
        if isinstance(part, ast.FormattedValue)
        and _URL.search(name := ast.unparse(part.value))
        and isinstance(after, ast.Constant)
        and re.match(r"[.,](\s|$)", str(after.value))
    ]


def twice(found: Iterable[Module]) -> list[str]:
    """Find sentences that stand in two faces, or in `wording` and once more."""
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for module in found:
        face = FACES.get(module.path.parts[2])
        if face is None:
            continue
        for line, words in _sentences(module):
            places[words].setdefault(face, f"{module.path.as_posix()}:{line}")
    return [f"{' and '.join(at.values())}: {words}" for words, at in places.items() if len(at) > 1]


def _sentences(module: Module) -> Iterator[tuple[int, str]]:
    """Line and words of each text but docstrings; what is filled in is a `{}`."""
    told = {id(part) for node in module.nodes for part in _parts(node)}
    for node in module.nodes:
        text = ""
        if isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "" if id(node) in told else node.value
        words = re.findall(r"\{|[^\W\d_]+", re.sub(r"\{[^}]*\}", "{", text).replace("&", ""))
        if sum(word != "{" for word in words) >= SENTENCE:
            yield getattr(node, "lineno", 1), " ".join(words).casefold()


def _parts(node: ast.AST) -> list[ast.expr]:
    """The parts of an f-string, or a statement that is a text and no more: a docstring."""
    if isinstance(node, ast.JoinedStr):
        return node.values
    return [node.value] if isinstance(node, ast.Expr) else []
