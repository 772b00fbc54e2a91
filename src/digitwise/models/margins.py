"""Codes that settle: what hard bits pay in training, and how strays are brought back.

Bits pay for being near their threshold, where rounding could turn them, and far from it, where training no longer can.

Noise in training teaches cells to hear a code with a wrong bit as if that bit were right. So a cell that says such a
code in some rare situation, a *stray*, gives right answers, and nothing mends it. But the check follows a stray into
all that it could meet. For what is said along a row that is little: cells of rows of the same digit. For what is said
to the next row it is every digit with every carry, most of which training never shows. Therefore a stray to the next
row is heard as the nearest code that is said often, and its bits pay until they are that code. If it is not the code
that is meant, answers are wrong, and that mends it. What codes stand for plays no part.
"""

import torch
from torch import Tensor

MARGIN, CEILING = 1.0, 2.0
"""Between these hard bits are left alone."""


def nearest_code(z_AL: Tensor, often_FL: Tensor) -> tuple[Tensor, Tensor]:
    """Which messages, given before their signs are taken, are strays `[A, 1]`, and the nearest of these codes."""
    with torch.no_grad():
        said_AL = torch.where(z_AL > 0, 1.0, -1.0).to(z_AL.dtype)
        strays_A1 = (said_AL @ often_FL.T).amax(1, keepdim=True) < z_AL.shape[1]
        return strays_A1, often_FL[(z_AL @ often_FL.T).argmax(1)]


def price(z_AL: Tensor, push: float, settle: float, often_FL: Tensor | None) -> Tensor:
    """The sum over the bits of messages, before their signs are taken."""
    size_AL = z_AL.abs()
    paid = push * ((MARGIN - size_AL).relu() + (size_AL - CEILING).relu()).sum()
    if often_FL is not None:
        strays_A1, nearest_AL = nearest_code(z_AL, often_FL)
        paid = paid + settle * ((MARGIN - nearest_AL * z_AL).relu() * strays_A1).sum()
    return paid
