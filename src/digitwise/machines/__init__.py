"""Cells as finite machines: tables of situations, problems run by them, and the check of every case. No torch here."""

from collections.abc import Callable

from digitwise.machines.rows import products, sums_of_many
from digitwise.machines.walk import Tell, Walk, differences, divisions, sums_of_two

#: What can be proven, and the walk over every case that proves it.
CLAIMS: dict[str, Callable[[Tell], Walk]] = {
    "sum": sums_of_two,
    "sums": sums_of_many,
    "product": products,
    "difference": differences,
    "division": divisions,
}
