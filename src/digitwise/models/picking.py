"""Some tokens of all: those that no token attends to, and those at which alone something is worked out."""

import torch
from torch import Tensor

from digitwise.coordinates import Coordinates


def unseen(coordinates: Coordinates) -> Tensor | None:
    """Return what is added to the scores so that no token attends to fillers, `[B, 1, 1, N]`.

    An answer must not depend on the length of the other rows of its batch.
    """
    filler = coordinates.position < 0
    if not filler.any():
        return None
    return torch.zeros(filler.shape, device=filler.device).masked_fill(filler, -torch.inf)[..., None, None, :]


def pick(x: Tensor, tokens: Tensor | None, dim: int = 1) -> Tensor:
    """Return the entries of some tokens, `[S]` for all rows or `[B, S]`, or of all of them."""
    if tokens is None:
        return x
    if tokens.ndim == 1:
        return x.index_select(dim, tokens)
    return torch.take_along_dim(x, tokens.reshape(len(tokens), *[1] * (dim - 1), -1, *[1] * (x.ndim - dim - 1)), dim)


def spread(q_BHSD: Tensor, tokens: Tensor | None, count: int) -> Tensor:
    """Undo `pick`, with zeros for all other tokens: `[B, H, N, D]`."""
    if tokens is None:
        return q_BHSD
    zeros_BHND = q_BHSD.new_zeros(*q_BHSD.shape[:2], count, q_BHSD.shape[-1])
    if tokens.ndim == 1:
        return zeros_BHND.index_copy(2, tokens, q_BHSD)
    return zeros_BHND.scatter(2, tokens[:, None, :, None].expand_as(q_BHSD), q_BHSD)
