"""What a campaign shows by running for long, every run of the tests shows in short."""

import ast
from collections.abc import Iterator

from tests.architecture.source import Module, modules, parsed

_Test = ast.FunctionDef | ast.AsyncFunctionDef


def without_short_form(module: Module) -> list[str]:
    """The campaigns of a module that share no function of it with a test that is always run."""
    if not module.has("campaign"):
        return []
    own = {node.name for node in module.tree.body if isinstance(node, _Test)}
    tests = [node for node in _tests(module) if not _has_mark(node, "skip")]
    always = {name for test in tests if not _has_mark(test, "campaign") for name in _called(test)}
    campaigns = [test for test in tests if _has_mark(test, "campaign")]
    return [test.name for test in campaigns if not _called(test) & always & own]


def _tests(module: Module) -> Iterator[_Test]:
    for node in module.tree.body:
        if isinstance(node, _Test) and node.name.startswith("test_"):
            yield node


def _has_mark(test: _Test, name: str) -> bool:
    marks = [ast.unparse(mark).partition("(")[0] for mark in test.decorator_list]
    return f"pytest.mark.{name}" in marks


def _called(test: _Test) -> set[str]:
    calls = [node.func for node in ast.walk(test) if isinstance(node, ast.Call)]
    return {function.id for function in calls if isinstance(function, ast.Name)}


def test_every_campaign_has_a_short_form_that_is_always_run() -> None:
    found = {m.path.as_posix(): without_short_form(m) for m in modules("tests")}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_campaign_without_a_short_form_is_found() -> None:
    text = """
def _runs(times): ...
def _alone(times): ...
def _others(): ...
def test_short(): _runs(5)
def test_other(): _others()
@pytest.mark.skip(reason="slow")
def test_skipped(): _alone()
@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_long(): _runs(500)
@pytest.mark.campaign
def test_alone(): _alone(500)
"""
    assert without_short_form(parsed(text, "tests/test_sample.py")) == ["test_alone"]
