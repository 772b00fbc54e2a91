"""The examples run, on a few steps."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from needed import needs

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_bert_with_add_heads(monkeypatch, capsys):
    pytest.importorskip("transformers")
    monkeypatch.setattr(sys, "argv", ["bert_add_heads.py", "--steps", "3", "--problems", "10"])
    example = runpy.run_path(str(EXAMPLES / "bert_add_heads.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split() == ["digits", "plain", "add-heads"]
    assert [line.split()[0] for line in lines[4:]] == [str(length) for length in example["TESTED"]]
    assert max(example["TESTED"]) == 2 * example["TRAINED"]


def test_add_heads_start_as_the_same_bert():
    """With tables of zeros and the same positions, the part stands for BERT's own attention exactly."""
    torch, _ = pytest.importorskip("torch"), pytest.importorskip("transformers")
    example = runpy.run_path(str(EXAMPLES / "bert_add_heads.py"))
    sums = example["Sums"]()
    ids, coordinates, answers = sums.draw(example["ExactLength"](3), example["generator"](0), 8)
    assert (coordinates.position < 0).any() and answers.shape == (8, 10)
    plain = None
    for add_heads in (False, True):
        torch.manual_seed(0)
        model = example["Solver"](len(sums.tokenizer), add_heads).eval()
        if plain is not None:
            model.readout.load_state_dict(plain.readout.state_dict())
            # All numbers share position 0; let it be that of each token, as in the plain model.
            position = (coordinates.position + 1).clamp(min=1)
            with torch.no_grad():
                ours = model.bert(ids, position_ids=position, coordinates=coordinates).last_hidden_state
                seen = coordinates.position >= 0
                theirs = plain.bert(ids, attention_mask=seen.long(), position_ids=position).last_hidden_state
            torch.testing.assert_close(ours[seen], theirs[seen], rtol=1e-4, atol=1e-5)
        plain = model


NOTEBOOK = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=1200).execute()
nbformat.write(notebook, sys.argv[2])
"""


def outputs(path: Path) -> list[str]:
    """The texts and pictures below each cell that has any."""
    found = []
    for cell in json.loads(path.read_text())["cells"]:
        told = [out for out in cell.get("outputs", []) if out.get("name") != "stderr"]
        texts = ["".join(out.get("text", "") or out.get("data", {}).get("image/svg+xml", "")) for out in told]
        found += ["".join(texts)] if told else []
    return found


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_was_committed(tmp_path):
    """In a kernel of its own. Numbers of trained models vary between machines; what is proven does not."""
    needs("nbclient"), needs("ipykernel")
    done = tmp_path / "tour.ipynb"
    command = [sys.executable, "-c", NOTEBOOK, str(EXAMPLES / "tour.ipynb"), str(done)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    subprocess.run(command, check=True, cwd=tmp_path, env=environment, capture_output=True)
    committed, now = outputs(EXAMPLES / "tour.ipynb"), outputs(done)
    assert len(committed) == len(now) == 8
    broken = {line.split()[0]: line for line in now[1].splitlines()}
    assert float(broken["3"].split()[3].strip(",")) > 0.8 and float(broken["6"].split()[3].strip(",")) < 0.1
    assert [text for text in committed[4:] if "<svg" not in text] == [text for text in now[4:] if "<svg" not in text]
    assert "proven from 827 situations, 0 of them wrong" in now[5] and sum("<svg" in text for text in now) == 2


def test_the_notebook_can_be_read_on_its_own():
    assert len(outputs(EXAMPLES / "tour.ipynb")) == 8
    text = (EXAMPLES / "tour.ipynb").read_text()
    assert not re.search(r"/(work|root|tmp|home)/", text) and len(text) < 300_000
