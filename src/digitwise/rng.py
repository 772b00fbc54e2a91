"""Random numbers as a pure function of names and numbers: no state is kept anywhere, so nothing has to be restored."""

from zlib import crc32

import numpy as np


def seed_of(*key: int | str) -> int:
    """A 63-bit seed for a key such as `(seed, "dropout", step, rank)`."""
    return int(np.random.SeedSequence(_entropy(key)).generate_state(1, np.uint64)[0] >> 1)


def generator(*key: int | str) -> np.random.Generator:
    """A generator for a key such as `(seed, "train", step)`: the same key always gives the same numbers."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(_entropy(key))))


def _entropy(key: tuple[int | str, ...]) -> list[int]:
    if any(isinstance(part, int) and part < 0 for part in key):
        raise ValueError("seeds and steps must not be negative")
    return [crc32(part.encode()) if isinstance(part, str) else int(part) for part in key]
