"""Packages that only some tests need: without them these are skipped, and in CI they fail."""

import importlib.util
import os

import pytest


def needs(package: str) -> None:
    """Skip a module of tests if a package is missing, unless everything must be tested."""
    if importlib.util.find_spec(package) is None and not os.environ.get("DIGITWISE_NO_SKIP"):
        pytest.skip(f"needs {package}: pip install 'digitwise[{package}]'", allow_module_level=True)
