"""The local page, served by a process of its own, and a real browser in front of it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
STRICT = bool(os.environ.get("DIGITWISE_NO_SKIP"))
SCREENSHOTS = Path(os.environ.get("DIGITWISE_SCREENSHOTS", Path(__file__).parent.parent / "build" / "screenshots"))


@contextmanager
def served(*arguments: object) -> Iterator[str]:
    """The address of the page while it is served."""
    command = [sys.executable, "-m", "digitwise", "demo", "--no-browser", "--port", "0", "--json"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout and process.stderr
        line = process.stdout.readline()
        assert line, process.stderr.read()
        try:
            yield json.loads(line)["url"]
        finally:
            process.terminate()


def need_browser() -> str:
    """Skip without a browser, unless the environment says that nothing may be skipped."""
    if CHROMIUM is None and not STRICT:
        pytest.skip("needs Chromium: apt-get install chromium")
    assert CHROMIUM is not None, "DIGITWISE_NO_SKIP is set, and there is no Chromium"
    return CHROMIUM
