"""The wheel, built and installed for real."""

import json
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_a_wheel_installs_and_runs_in_an_empty_environment(tmp_path):
    def run(*command: object) -> str:
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return result.stdout

    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    names = ZipFile(wheel).namelist()
    assert {f"digitwise/pages/static/{name}" for name in ("index.html", "page.css", "page.js")} <= set(names)
    assert "digitwise/pages/models/absolute/weights.safetensors" in names
    venv.create(tmp_path / "empty", with_pip=True)
    constraints = ["--constraint", ROOT / "constraints.txt"]
    python = tmp_path / "empty" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *constraints, "torch")
    run(python, "-m", "pip", "install", "--quiet", *constraints, wheel)
    digitwise = tmp_path / "empty" / "bin" / "digitwise"
    result = json.loads(run(digitwise, "reproduce", "quickstart", "--profile", "smoke", "--json"))
    assert len(result["runs"]) == 3
    assert (tmp_path / result["figures"][0]).exists()
    refused = subprocess.run([digitwise, "demo", "--no-browser"], capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 2 and "pip install 'digitwise[demo]'" in refused.stderr  # the page is an extra
