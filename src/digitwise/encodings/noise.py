"""What is random in a forward pass, drawn for the whole batch: whoever has a part of the batch takes its rows.

So several processes, or several parts of a batch one after the other, train what one process trains with all of it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor

from digitwise.coordinates import Coordinates


@dataclass(frozen=True)
class Share:
    """A part of a batch: these rows of each of its draws."""

    rows: slice
    whole: Sequence[tuple[Tensor, Coordinates]]
    """All draws of the batch, all rows."""
    generator: torch.Generator
    """The same for every part of the batch."""

    @property
    def count(self) -> int:
        """Rows of each whole draw."""
        return len(self.whole[0][0])

    @property
    def parts(self) -> int:
        return self.count // (self.rows.stop - self.rows.start)


_SHARE: ContextVar[Share | None] = ContextVar("share", default=None)


def share() -> Share | None:
    """The part that is being computed; None if it is the whole batch."""
    return _SHARE.get()


@contextmanager
def sharing(part: Share | None) -> Iterator[None]:
    token = _SHARE.set(part)
    try:
        yield
    finally:
        _SHARE.reset(token)


def drawn(draw: Callable[..., Tensor], size: Sequence[int], device: torch.device) -> Tensor:
    """Return `draw(size)`, the rows of this part if the first of several sizes counts rows.

    >>> drawn(torch.rand, (2, 1), torch.device("cpu")).shape
    torch.Size([2, 1])
    """
    part = share()
    if part is None:
        return draw(tuple(size), device=device)
    if len(size) < 2:  # one for all rows
        return draw(tuple(size), device=device, generator=part.generator)
    return draw((part.count, *size[1:]), device=device, generator=part.generator)[part.rows]
