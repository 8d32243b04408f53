"""What an experiment is made of: figures of a paper, runs, tables, pictures."""

from dataclasses import dataclass

NOT_STATED = "not stated in words"


@dataclass(frozen=True)
class Published:
    """A figure that the text of a paper states. Nothing is read off its pictures: `figure` is NOT_STATED where the text has no number."""

    what: str
    figure: str
    source: str  # "TPC, figure 1"


@dataclass(frozen=True)
class Run:
    """One call of ./bench. Experiments that name the same run share it."""

    benchmark: str
    arguments: tuple[str, ...] = ()
    quick_arguments: tuple[str, ...] | None = None  # where a quick run is of something smaller

    def words(self, quick: bool) -> list[str]:
        """Benchmark and arguments, without what every benchmark takes."""
        return [
            self.benchmark,
            *(self.quick_arguments if quick and self.quick_arguments is not None else self.arguments),
        ]

    def name(self, quick: bool) -> str:
        """What it is called among the results."""
        return " ".join(self.words(quick))

    def command(self, quick: bool) -> str:
        """As it is typed."""
        return " ".join(["./bench", *self.words(quick), *(["--quick"] if quick else [])])


Cell = str | float | None  # None: there is no such figure


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: list[list[Cell]]


@dataclass(frozen=True)
class Line:
    """One line of a chart: points (x, y) or (x, y, low, high)."""

    name: str
    points: list[tuple[float, ...]]


@dataclass(frozen=True)
class Chart:
    """Lines over numbers. base: of a logarithmic axis; 0 for a linear one."""

    title: str
    x: str
    y: str
    lines: list[Line]
    x_base: int = 0
    y_base: int = 0


@dataclass(frozen=True)
class Bars:
    """A bar for each name, with its interval where there is one. `mark`: a value to compare with, and what it is."""

    title: str
    y: str
    bars: list[tuple[str, float, float | None, float | None]]
    mark: tuple[float, str] | None = None


Picture = Chart | Bars
