"""Problems as people write them, and answers to them: by our models, and by anyone else.

`Problem.parse` is the one parser, for all commands that take a problem. Nothing here imports torch.
"""

import re
from dataclasses import dataclass

import numpy as np

from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.tasks.problems import Kind, spelled

TIMES, OVER = "*xX\u00d7\u00b7", "/\u00f7"
EXAMPLES = "a problem is two or more whole numbers with + between them, or two with - or * or ? or /, such as 56 * 4297"
_NUMBERS = re.compile(rf"\s*\d+(\s*([-+?{TIMES}{OVER}])\s*\d+)(\s*\2\s*\d+)*\s*", re.ASCII)


@dataclass(frozen=True)
class Problem:
    """A kind, and numbers without leading zeros, for products the multiplier first."""

    kind: Kind
    numbers: tuple[str, ...]
    text: str = ""
    """As it was written."""

    @classmethod
    def parse(cls, text: str) -> "Problem":
        if not isinstance(text, str):
            raise ValueError(f"a problem is a text, not {type(text).__name__}")
        text = text.strip()
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        if re.search(r"(^|[-+*?/])\s*-\s*\d", text):
            raise ValueError(f"'{shown}' has a negative number: only numbers from 0 up are supported")
        found = _NUMBERS.fullmatch(text)
        if found is None:
            raise ValueError(f"'{shown}' is not a problem: {EXAMPLES}")
        operator = "*" if found[2] in TIMES else "/" if found[2] in OVER else found[2]
        numbers = re.findall(r"\d+", text)
        if operator != "+" and len(numbers) > 2:
            raise ValueError(f"'{shown}' is not a problem that is supported: {EXAMPLES}")
        return cls.of(operator, numbers, text)

    @classmethod
    def of(cls, operator: str, numbers: list[str], text: str = "") -> "Problem":
        """The shorter factor is the multiplier."""
        first, *others = (number.lstrip("0") or "0" for number in numbers)
        if operator == "*":
            multiplier, multiplicand = sorted((first, *others), key=len)
            return cls(Kind("*", len(multiplier)), (multiplier, multiplicand), text)
        if operator == "/":
            if others == ["0"]:
                raise ValueError("nothing can be divided by 0")
            if len(others[0]) > 1:
                raise ValueError(f"a divisor of {len(others[0])} digits is not supported: divide by one digit")
            return cls(Kind("/", len(others[0])), (first, *others), text)
        return cls(Kind(operator, len(numbers)), (first, *others), text)

    @property
    def length(self) -> int:
        """Digits of the longest number of any length."""
        return max(map(len, self.kind.split(self.numbers)[1]))

    def __str__(self) -> str:
        return f" {self.kind.operator} ".join(self.numbers)

    def answer(self) -> str:
        """Return the exact answer."""
        return spelled(self.kind, *arrays(self.kind, [self]))[0]


def arrays(kind: Kind, problems: list[Problem]) -> tuple[Digits, Digits]:
    """Problems of one kind: multipliers or divisors `[count, digits]`, and numbers `[count, numbers, width]`."""
    columns = [dg.parse(column) for column in zip(*(problem.numbers for problem in problems), strict=True)]
    factors, numbers = kind.split(columns)
    width = max(number.shape[1] for number in numbers)
    stacked = np.stack([dg.widen(number, width) for number in numbers], axis=1)
    return factors[0] if factors else stacked[:, 0, :0], stacked
