"""Suites of random problems by length: uniform, shifted, in other texts, with more numbers than in training."""

from collections.abc import Sequence

from digitwise.data.distributions import ExactLength, Shifted, UniformValues
from digitwise.data.suites import Right, Stratum, Suite, drawn, named_kinds
from digitwise.tasks import Problems, Task


def uniform(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Numbers of exactly L digits; where a model supports several kinds of problems, each kind by itself."""
    return [drawn(task, n, name, ExactLength(n), kind) for n in lengths for name, kind in named_kinds(task)]


def upto(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """The paper's: values below 10^L."""
    return [drawn(task, n, name, UniformValues(n), kind) for n in lengths for name, kind in named_kinds(task)]


def shifted(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Values below 10^L with zeros appended, every shift that fits the canvas."""
    return [drawn(task, n, "", Shifted(UniformValues(n)), task.kinds[0]) for n in lengths]


def more(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """More summands, or digits of the multiplier, than training had; numbers of exactly L digits."""
    if not task.larger():
        raise ValueError("the more suite needs a model without a canvas that has several rows, as of beyond-product3")
    return [
        drawn(larger, n, str(kind), ExactLength(n), kind) for n in lengths for kind, larger in task.larger().items()
    ]


def text(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Numbers of exactly L digits among 0, 20 and 40 words at each of the three sides, and in English sentences."""
    if not task.in_texts():
        raise ValueError(
            "the text suite is about numbers in a text: it needs a text-addition or text-multiplication task"
        )
    others = task.in_texts().items()
    return [drawn(other, n, name, ExactLength(n), other.kinds[0]) for n in lengths for name, other in others]


def by_place(stratum: Stratum, problems: Problems, right: Right) -> dict[str, Right]:
    """Each place that an answer to numbers of this length can have."""
    return {f"place {place}": right[:, place] for place in range(stratum.places)}


SUITES = [
    Suite("uniform", 1, uniform),
    Suite("upto", 1, upto),
    Suite("more", 1, more),
    Suite("shifted", 1, shifted),
    Suite("places", 1, uniform, by_place, what="Numbers of exactly L digits; each place of the answer counted apart."),
    Suite("text", 1, text),
]
