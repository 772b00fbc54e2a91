"""Encodings side by side: the same data, encoder, optimizer and tuning for each, at equal steps and at equal time.

The seam is `encodings.base.Encoding`: whatever can be named can be compared. A comparison is a folder that accumulates.
"""

from digitwise.comparison.setting import ENCODINGS, FORMATS, TASKS

__all__ = ["ENCODINGS", "FORMATS", "TASKS"]
