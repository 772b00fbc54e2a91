"""The vocabulary of all tasks, the words of texts among them, and symbols back to text."""

import numpy as np
from numpy.typing import NDArray

from digitwise.numbers.digits import Digits, lengths

Tokens = NDArray[np.uint8]

PAD, PLUS, TIMES, MINUS = 10, 11, 12, 13
SPELLING = [*"0123456789", "_", "+", "*", "-"]
NUM_SYMBOLS = len(SPELLING)
NUM_ANSWER_SYMBOLS = 11  # ten digits and the pad: all that may stand in an answer of most tasks
#: Tasks with rows that flow down have a vocabulary of their own, since words of texts take these numbers elsewhere.
DIVIDE, REST, LESS, EQUAL, MORE = range(14, 19)
SIGNS = [*SPELLING, *"/r<=>"]

#: Texts around two numbers.
SUMS = (
    "what is A plus B ?",
    "please add A and B .",
    "the sum of A and B is",
    "start with A , then put B on top : how much is there ?",
    "anna has A apples and finds B more under the tree : how many apples are there now ?",
    "a farmer sold A eggs on monday and B on friday . what did he sell in all ?",
    "one river is A miles long , the other B miles ; together they have",
    "there were A people in the city before B new ones came by train , so now there are",
)
PRODUCTS = (
    "what is A times B ?",
    "please multiply A by B .",
    "the product of A and B is",
    "the crate holds A boxes of B screws",
    "each of A trucks brings B stones to the bridge : how many stones is that ?",
    "a ticket costs A coins and B people bought one . what did they pay in all ?",
    "with A rows of B seats every row full , the theatre has room for",
    "in A days a baker who makes B loaves a day will make",
)
#: The words of the templates in order of appearance. The order is part of every trained model: new words go to the end.
WORDS = tuple(dict.fromkeys(w for line in (*SUMS, *PRODUCTS) for w in line.split() if w not in ("A", "B")))
FILLER = NUM_SYMBOLS
SYMBOLS = (*SPELLING, "", *WORDS)
WORD = {word: number for number, word in enumerate(SYMBOLS) if number > FILLER}


def pad(digits: Digits, width: int) -> Tokens:
    """Return digits as symbols on `width` places, least significant first: leading zeros become pads."""
    out = np.full((len(digits), width), PAD, dtype=np.uint8)
    places = min(width, digits.shape[-1])
    written = np.arange(places) < lengths(digits)[:, None]
    out[:, :places] = np.where(written, digits[:, :places], np.uint8(PAD))
    return out


def read_answers(symbols: Tokens) -> list[str]:
    """Return answer symbols `[count, slots]` as text. What is not a number stays visible as it is."""
    spelled = np.array(SIGNS)[symbols[:, ::-1]]
    texts = ["".join(row).lstrip("_") for row in spelled]  # for people's eyes only, never in the data path
    return [text or "_" for text in texts]


def parts_of(templates: tuple[str, ...]) -> Tokens:
    """The words before, between and after the numbers of each template, `[templates, 3, longest]`."""
    split = [[part.split() for part in line.replace(" B", " A").split("A")] for line in templates]
    longest = max(len(words) for parts in split for words in parts)
    out = np.full((len(split), 3, longest), FILLER, dtype=np.uint8)
    for row, parts in zip(out, split, strict=True):
        for part, words in zip(row, parts, strict=True):
            part[: len(words)] = [WORD[word] for word in words]
    return out
