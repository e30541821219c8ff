"""Which repository a URL names, what its host is, and the body of a request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmch.ci.pull_requests import (
    GITHUB,
    GITLAB,
    MOST_BODY,
    Forge,
    Remote,
    Request,
    forges_of,
    parse_remote,
)


@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("https://github.com/ada/shop.git", Remote("github.com", "ada/shop")),
        ("https://token@github.com/ada/shop", Remote("github.com", "ada/shop")),
        ("git@github.com:ada/shop.git", Remote("github.com", "ada/shop")),
        ("ssh://git@ssh.github.com:443/ada/shop.git", Remote("github.com", "ada/shop")),
        ("https://git.example.org:8443/a/b/c.git", Remote("git.example.org:8443", "a/b/c")),
        ("work:ada/shop", Remote("work", "ada/shop")),
        ("/srv/git/shop.git", None),
        ("file:///srv/git/shop.git", None),
        ("../shop", None),
        ("git@-oProxyCommand=x:ada/shop", None),
        ("https://github.com/ada\n/shop", None),
        ("https://github.com/", None),
        ("", None),
    ],
)
def test_a_url_names_a_repository(url: str, remote: Remote | None) -> None:
    assert parse_remote(url) == remote


@given(st.text())
def test_any_text_is_read(url: str) -> None:
    remote = parse_remote(url) or Remote("x", "a/b")
    for forge in forges_of(remote):
        for call in (forge.find_call(remote, url), forge.repo_call(remote)):
            assert call.argv[-1].isascii() and not call.argv[-1].startswith("-")
            assert not any(each.isspace() for each in call.argv[-1])


@pytest.mark.parametrize(
    ("host", "forges"),
    [
        ("github.com", (GITHUB,)),
        ("github.example.org", (GITHUB,)),
        ("gitlab.com", (GITLAB,)),
        ("code.example.org", (GITHUB, GITLAB)),
    ],
)
def test_the_name_of_a_host_says_what_it_is(host: str, forges: tuple[Forge, ...]) -> None:
    assert forges_of(Remote(host, "a/b")) == forges


@pytest.mark.parametrize(
    ("forge", "host", "named"),
    [
        (GITHUB, "github.com", "--repo a/b "),
        (GITHUB, "code.example.org", "--repo code.example.org/a/b "),
        (GITLAB, "gitlab.com", "--repo a/b "),
        (GITLAB, "code.example.org", "--repo https://code.example.org/a/b "),
    ],
)
def test_a_command_names_the_repository(forge: Forge, host: str, named: str) -> None:
    assert named in forge.command(Remote(host, "a/b"), request("x"), "01RUN")


def request(report: str) -> Request:
    return Request("work", "main", "Title", report)


@given(st.text(), st.text(alphabet="a<>!-\n"))
def test_a_second_report_takes_the_place_of_the_first(before: str, report: str) -> None:
    first = request("the first").body_after(before)
    second = request(report).body_after(first)
    assert "the first" not in second or "the first" in before + report
    assert request(report).body_after(second) == second
    assert second.startswith(before.rstrip())


@pytest.mark.parametrize("mark", [0, -1])
def test_a_report_that_shows_a_mark_is_replaced_whole(mark: int) -> None:
    lines = request("").body.strip().splitlines()
    first = request(f"`{lines[mark]}` and the first").body_after("By hand.")
    second = request("the second").body_after(f"{first}Below.\n")
    assert second == request("the second").body_after(f"By hand.\n\n{request('').body}Below.\n")


def test_what_follows_the_report_stays() -> None:
    first = request("one").body_after("") + "\nReviewed by Ada.\n"
    second = request("two").body_after(first)
    assert second.endswith("\nReviewed by Ada.\n") and "one" not in second


def test_a_body_is_as_long_as_github_takes() -> None:
    body = request("x" * 200_000).body
    assert len(body) < 65_536 and len(body) > MOST_BODY
    assert "The report goes on" in body


@pytest.mark.parametrize("words", [6_000, 40_000])
def test_a_body_has_room_for_what_a_person_wrote(words: int) -> None:
    by_hand = "w" * words
    first = request("x" * 200_000).body_after(by_hand)
    second = request("y" * 200_000).body_after(f"{first}{by_hand[:20_000]}")
    for each in (first, second):
        assert 64_000 < len(each) < 65_536 and each.startswith(by_hand)
    assert "y" in second and "x" not in second
