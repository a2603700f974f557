"""Every requirement of the progress specification is shown met by a test that names it."""

from tests.architecture.requirements import claimed
from tests.architecture.source import modules, parsed

REQUIRED = {
    "SC-3",
    *(f"FR-{n}" for n in range(1, 11)),
    *(f"NFR-{n}" for n in range(1, 4)),
    *(f"UT-{n}" for n in range(1, 5)),
    *(f"IT-{n}" for n in range(1, 4)),
}


def test_no_requirement_lacks_a_test() -> None:
    assert sorted(REQUIRED - claimed(modules("tests"))) == []


def test_no_test_claims_a_requirement_that_does_not_exist() -> None:
    assert sorted(claimed(modules("tests")) - REQUIRED) == []


def _claims(text: str, path: str = "tests/test_sample.py") -> set[str]:
    return claimed([parsed(text, path)])


def test_marks_on_tests_classes_and_modules_count() -> None:
    text = """
pytestmark = [pytest.mark.requirement("A")]
@pytest.mark.requirement("B", "C")
def test_one(): ...
@pytest.mark.requirement("D")
class TestTwo:
    @pytest.mark.requirement("E")
    async def test_three(self): ...
"""
    assert _claims(text) == set("ABCDE")


def test_marks_where_nothing_runs_do_not_count() -> None:
    mark = '@pytest.mark.requirement("A")\n'

    assert _claims(mark + "def helper(): ...") == set()
    assert _claims(mark + "@pytest.mark.skip(reason='x')\ndef test_one(): ...") == set()
    assert _claims(mark + "def test_one(): ...", "tests/sample.py") == set()
    assert _claims('pytestmark = pytest.mark.requirement("A")') == set()
