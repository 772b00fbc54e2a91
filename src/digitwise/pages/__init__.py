"""Pages to look at: a local page on which people try to break models, and reports that are sent to others."""

LIMITS = {"digits": 2_000, "numbers": 50, "multiplier": 50}
"""The largest problem that the local page takes: digits of a number, summands, digits of a multiplier."""
