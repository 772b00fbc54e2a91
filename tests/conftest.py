"""Tests share one thread, so that two of them can run at once on two cores."""

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("default", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("default")
