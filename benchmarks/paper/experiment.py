"""What an experiment is: a question, what a paper published, the runs that answer it here, and how to read them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from paper.figures import Figures
from paper.parts import Picture, Published, Run, Table


@dataclass(frozen=True)
class Experiment:
    """tables, pictures and shows read what the runs wrote; they raise Missing for what a run did not measure."""

    name: str
    title: str
    question: str
    published: tuple[Published, ...]
    runs: tuple[Run, ...]
    tables: Callable[[Figures], list[Table]]
    shows: Callable[[Figures], str]  # two sentences
    pictures: Callable[[Figures], list[Picture]] = field(default=lambda _: [])
    differs: str = ""  # what of the paper's experiment is not repeated or is done otherwise, and why
    cause: str = ""  # why ours is worse than the paper's ratio, where it is
