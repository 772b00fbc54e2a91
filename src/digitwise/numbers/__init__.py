"""Digit arrays, exact arithmetic on them, and how difficult problems are: no torch."""
