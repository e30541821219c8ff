"""Renders tables with aligned columns. This module is pure."""

from __future__ import annotations

from collections.abc import Sequence

from llmch.console.clean import cell_width, one_line


def render_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines, every column as wide as its widest cell."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(cell_width, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - cell_width(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]
