"""Angles of positions, and queries and keys that are rotated by them."""

import torch
from torch import Tensor


def angles_of(position: Tensor, size: int, base: float) -> Tensor:
    """position * base^(-2 k / size) for k = 0 .. size / 2 - 1: `[..., N] -> [..., N, size / 2]`."""
    powers = torch.arange(0, size, 2, device=position.device) / size
    return position[..., None] / base**powers


def rotated(x_BHND: Tensor, angles: Tensor) -> Tensor:
    """Queries or keys, each pair of an entry of the first half and one of the second turned by its angle."""
    first, second = x_BHND.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
