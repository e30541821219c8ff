"""A row of the table: a figure, what it stands beside, and the aim. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from benchmarks.measure import Samples


@dataclass(frozen=True, slots=True)
class Aim:
    """At most `factor` times what the row stands beside, and `extra` more in the row's own unit."""

    factor: float = 0.0
    extra: float = 0.0

    def limit(self, floor: float | None) -> float:
        """Return the largest value that meets the aim."""
        assert floor is not None or not self.factor, "a ratio needs something to stand beside"
        return self.factor * (floor or 0.0) + self.extra

    def render(self, unit: str) -> str:
        """Return the aim as the table shows it."""
        extra = f"{self.extra:g} {unit}".strip()
        if not self.factor:
            return extra
        if not self.extra:
            return f"{self.factor:g}x"
        return f"+{extra}" if self.factor == 1 else f"{self.factor:g}x +{extra}"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `value` is `None` where this machine cannot measure it; `notes` then say why.

    `noise` is half the spread of the middle half of the samples, as a part of the median.
    """

    name: str
    value: float | None
    unit: str
    floor: float | None = None
    floor_name: str = ""
    aim: Aim | None = None
    noise: float | None = None
    notes: str = ""
    counted: bool = False
    """Whether the figure is a count, which no machine changes; all others are samples of time."""

    @property
    def ratio(self) -> float | None:
        if self.value is None or not self.floor:
            return None
        return self.value / self.floor

    @property
    def held(self) -> bool | None:
        """Whether the aim is held; `None` where there is none, or no figure."""
        if self.aim is None or self.value is None:
            return None
        return self.value <= self.aim.limit(self.floor)


def timed(
    name: str,
    taken: Samples,
    floor: Samples | None = None,
    floor_name: str = "",
    aim: Aim | None = None,
    *,
    unit: Literal["ms", "s"] = "ms",
    notes: str = "",
) -> Row:
    """Return the row of a time, beside that of a floor."""
    factor = 1000 if unit == "ms" else 1
    beside = None if floor is None else floor.median * factor
    return Row(name, taken.median * factor, unit, beside, floor_name, aim, taken.noise, notes)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that belong together."""

    title: str
    rows: tuple[Row, ...]


class RowDocument(TypedDict):
    """A row as `--json` prints it."""

    section: str
    name: str
    value: float | None
    unit: str
    floor: float | None
    floor_name: str
    ratio: float | None
    aim: str | None
    held: bool | None
    noise: float | None
    notes: str
    counted: bool


class TableDocument(TypedDict):
    """The whole table as `--json` prints it."""

    machine: str
    quick: bool
    seconds: float
    rows: list[RowDocument]
    lost: list[str]


def lost(sections: Iterable[Section], *, counted_only: bool = False) -> list[str]:
    """Return the names of the rows whose aim is lost; of all rows, or of those that count."""
    rows = (row for section in sections for row in section.rows if row.held is False)
    return [row.name for row in rows if row.counted or not counted_only]


def table_document(
    sections: Sequence[Section], *, machine: str, quick: bool, seconds: float
) -> TableDocument:
    """Return the table as one JSON document."""
    return {
        "machine": machine,
        "quick": quick,
        "seconds": round(seconds, 1),
        "rows": [_row_document(section.title, row) for section in sections for row in section.rows],
        "lost": lost(sections),
    }


def _row_document(section: str, row: Row) -> RowDocument:
    return {
        "section": section,
        "name": row.name,
        "value": row.value,
        "unit": row.unit,
        "floor": row.floor,
        "floor_name": row.floor_name,
        "ratio": row.ratio,
        "aim": row.aim.render(row.unit) if row.aim else None,
        "held": row.held,
        "noise": row.noise,
        "notes": row.notes,
        "counted": row.counted,
    }


_HEAD = ("figure", "measured", "noise", "floor or peer", "", "ratio", "aim", "", "")


def render_table(sections: Sequence[Section]) -> str:
    """Return the table as text, and below it each aim that is lost."""
    cells = [_cells(row) for section in sections for row in section.rows]
    widths = [max(map(len, column)) for column in zip(_HEAD, *cells, strict=True)]
    lines = [_line(_HEAD, widths)]
    for section in sections:
        lines += ["", section.title]
        lines += [_line(_cells(row), widths) for row in section.rows]
    missed = lost(sections)
    aims = sum(row.held is not None for section in sections for row in section.rows)
    lines += ["", f"{aims - len(missed)} of {aims} aims held"]
    lines += [f"  lost: {name}" for name in missed]
    return "\n".join(lines) + "\n"


_RIGHT = (1, 2, 4, 5)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    aligned = (
        cell.rjust(width) if column in _RIGHT else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return ("  " + "  ".join(aligned)).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    verdict = {True: "held", False: "LOST", None: ""}[row.held]
    return (
        row.name,
        "-" if row.value is None else _figure(row.value, row.unit),
        "" if row.noise is None else f"±{row.noise:.0%}",
        row.floor_name,
        "" if row.floor is None else _figure(row.floor, row.unit),
        "" if row.ratio is None else f"{row.ratio:.2f}x",
        f"<= {row.aim.render(row.unit)}" if row.aim else "",
        verdict,
        row.notes,
    )


def _figure(value: float, unit: str) -> str:
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 1 else 2
    return f"{value:.{digits}f} {unit}".rstrip()
