import pytest

from tally.journal import Paid, Repaid, parse_journal

PEOPLE = "people Ada Bob Cy\n"


# R-03cd76 R-5921be R-c13513 R-84ffab
def test_entries():
    journal = parse_journal(
        "# trip\n\npeople Ada Bob\npaid Ada 9 for old  bread\npeople Cy\nrepaid Cy 1.50 to Ada\n"
        "paid Bob 3 for tea\n"
    )
    assert journal.errors == []
    assert journal.people == ["Ada", "Bob", "Cy"]
    assert journal.entries == [
        Paid("Ada", 900, "old bread", ("Ada", "Bob")),
        Repaid("Cy", 150, "Ada"),
        Paid("Bob", 300, "tea", ("Ada", "Bob", "Cy")),
    ]


# R-10a2a5 R-0b08e8
def test_among():
    journal = parse_journal(PEOPLE + "paid Ada 4 for a walk among trees among Bob Cy Bob\n")
    assert journal.entries == [Paid("Ada", 400, "a walk among trees", ("Bob", "Cy", "Bob"))]


# R-796830 R-97ce85 R-a930b5
@pytest.mark.parametrize(
    "line",
    [
        "people", "people Ada", "people Dan Dan", "people dan", "people D4n", "people " + "D" * 21,
        "paid Dan 3 for tea", "paid Ada 3 for tea among Dan", "paid Ada 3 for", "paid Ada 3 tea",
        "paid Ada x for tea", "paid Ada 3 for tea among", "paid Ada 3 for among Bob",
        "repaid Ada 3 to Ada", "repaid Ada 3 to Dan", "repaid Ada 3 to Bob Cy", "gave Ada 3",
    ],
)  # fmt: skip
def test_error(line):
    journal = parse_journal(PEOPLE + line + "\npaid Ada 3 for tea\n")
    assert [each.split(":")[0] for each in journal.errors] == ["line 2"]
    assert len(journal.errors[0]) > len("line 2: ")
    assert (journal.people, len(journal.entries)) == (["Ada", "Bob", "Cy"], 1)


# R-67c9db R-0a8846 R-501b6d
def test_no_people_yet():
    journal = parse_journal(
        "\npaid Ada 3 for tea\npeople Ada\npeople Ada Bob\nrepaid Bob 1 to Ada\n"
    )
    assert journal.errors[0] == "line 2: no people yet"
    assert [each.split(":")[0] for each in journal.errors] == ["line 2", "line 3"]
    assert journal.entries == [Repaid("Bob", 100, "Ada")]


def test_longest_name():
    assert parse_journal("people A " + "B" * 20).people == ["A", "B" * 20]
