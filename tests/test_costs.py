"""The table of costs counts each part of a call once, and only what a cache can serve."""

from __future__ import annotations

from benchmarks import costs


def test_a_heading_within_a_fence_or_the_specification_begins_no_part() -> None:
    prompt = (
        "# Task\n```\n# comment\n```\n# Product specification\n"
        "<product_spec>\n# Tally\n</product_spec>\n# Output format\n"
    )

    found = [heading for heading, _ in costs._sections(prompt)]

    assert found == ["", "# Task", "# Product specification", "# Output format"]
    assert "".join(text for _, text in costs._sections(prompt)) == prompt


def test_a_prefix_counts_from_the_length_that_providers_serve_from_a_cache() -> None:
    head = "word " * costs.LEAST_PREFIX

    assert costs._cacheable([head + "one", head + "two"]) == costs.tokens(head)
    assert costs._cacheable(["word one", "word two"]) == 0
