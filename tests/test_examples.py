"""The examples run, on a few steps."""

import runpy
import sys
from pathlib import Path

import pytest

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
