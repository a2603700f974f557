"""The documents: no link leads nowhere, no page is lost, the README stays short."""

import re
from pathlib import Path, PurePosixPath

import pytest

from tests.architecture.source import APP, ROOT, tracked_texts

_README_LIMIT = 7000
"""Bytes: one screen or two."""
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_PATH = re.compile(r"`([\w.-]+/[\w./-]*|\w+\.(?:py|md))`")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def links(text: str) -> list[str]:
    """The targets of the links and pictures of a page, without those in code."""
    return _LINK.findall(_CODE.sub("", _FENCED.sub("", text)))


def anchors(text: str) -> set[str]:
    """The names that a page's headings have on GitHub and on the site."""
    titles = [title.replace("`", "").lower() for title in _HEADING.findall(_FENCED.sub("", text))]
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in titles}


def broken(pages: dict[str, str], root: Path) -> list[str]:
    """Links of pages to files and headings that are not there; those to other hosts are let be."""
    found = []
    for name, text in pages.items():
        for link in links(text):
            if "://" in link or link.startswith("mailto:"):
                continue
            path, _, anchor = link.partition("#")
            target = (root / PurePosixPath(name).parent / path).resolve() if path else root / name
            is_there = target.exists() and target.is_relative_to(root)
            if is_there and anchor:
                is_there = anchor in anchors(target.read_text("utf-8"))
            if not is_there:
                found.append(f"{name}: {link}")
    return found


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: text for name, text in tracked_texts() if name.endswith(".md")}


def test_every_link_leads_somewhere(pages: dict[str, str]) -> None:
    assert {"README.md", "docs/index.md", "CONTRIBUTING.md"} <= pages.keys()
    assert sum(len(links(text)) for text in pages.values()) > 50
    assert broken(pages, ROOT) == []


@pytest.mark.parametrize(
    ("link", "is_broken"),
    [
        ("b.md", False),
        ("b.md#two-words", False),
        ("#here", False),
        ("https://example.org/nothing", False),
        ("c.md", True),
        ("b.md#three", True),
        ("#there", True),
        ("../outside.md", True),
    ],
)
def test_broken_links_are_found(link: str, tmp_path: Path, *, is_broken: bool) -> None:
    (tmp_path / "outside.md").write_text("")
    root = tmp_path / "root"
    root.mkdir()
    pages = {"a.md": f"# Here\n\n[x]({link})\n", "b.md": "## `Two` words\n\n```\n# three\n```\n"}
    for name, text in pages.items():
        (root / name).write_text(text)
    assert bool(broken(pages, root)) is is_broken


def test_every_page_of_the_manual_is_in_its_contents_and_on_the_site(pages: dict[str, str]) -> None:
    manual = {name.removeprefix("docs/") for name in pages if name.startswith("docs/")}
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert manual - {"index.md"} == set(links(pages["docs/index.md"]))
    assert manual == set(re.findall(r"[\w/-]+\.md", site))


def test_the_readme_is_short(pages: dict[str, str]) -> None:
    assert len(pages["README.md"].encode()) <= _README_LIMIT


def lost_paths(text: str) -> list[str]:
    """The paths in a text, in code, that are neither in the package nor in the repository."""
    found = dict.fromkeys(_PATH.findall(text))
    return [path for path in found if not (APP / path).exists() and not (ROOT / path).exists()]


def test_each_path_in_where_do_i_put_exists(pages: dict[str, str]) -> None:
    _, _, table = pages["ARCHITECTURE.md"].partition("## Where do I put …")

    assert len(_PATH.findall(table)) > 40
    assert lost_paths(table) == []
    assert lost_paths("`cli/entry.py`, `tests/unit`, `cli/lost.py`, `lost.py`") == [
        "cli/lost.py",
        "lost.py",
    ]
