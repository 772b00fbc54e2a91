"""Tests share one thread, and so do the processes that they start, so that two of them can run at once on two cores."""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # read when torch is first imported

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("default", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("default")
