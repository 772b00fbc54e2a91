"""Digits: exact arithmetic on numbers of any length, and how difficult problems are. No torch."""
