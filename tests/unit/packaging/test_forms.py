from forms import Form, table


def test_the_table_has_the_size_of_the_release_before() -> None:
    rows = [Form("deb", 70_400_000, 31.04), Form("image", 1_000_000, 2)]

    assert table(rows, {"deb": 71.2}).splitlines() == [
        "form                                  MB  before  seconds",
        "deb                                 70.4    71.2     31.0",
        "image                                1.0       -      2.0",
    ]
