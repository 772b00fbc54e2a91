"""The vocabulary that all tasks share, and symbols back to text."""

import numpy as np
from numpy.typing import NDArray

from digitwise.numbers.digits import Digits, lengths

Tokens = NDArray[np.uint8]

PAD, PLUS, TIMES, MINUS = 10, 11, 12, 13
SPELLING = [*"0123456789", "_", "+", "*", "-"]
NUM_SYMBOLS = len(SPELLING)
NUM_ANSWER_SYMBOLS = 11  # ten digits and the pad: all that may stand in an answer


def pad(digits: Digits, width: int) -> Tokens:
    """Return digits as symbols on `width` places, least significant first: leading zeros become pads."""
    out = np.full((len(digits), width), PAD, dtype=np.uint8)
    places = min(width, digits.shape[-1])
    written = np.arange(places) < lengths(digits)[:, None]
    out[:, :places] = np.where(written, digits[:, :places], np.uint8(PAD))
    return out


def read_answers(symbols: Tokens) -> list[str]:
    """Return answer symbols `[count, slots]` as text. What is not a number stays visible as it is."""
    spelled = np.array(SPELLING)[symbols[:, ::-1]]
    texts = ["".join(row).lstrip("_") for row in spelled]  # for people's eyes only, never in the data path
    return [text or "_" for text in texts]
