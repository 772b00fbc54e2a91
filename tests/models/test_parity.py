"""Hidden states equal those of BERT in transformers 4.57.6, layer by layer (make_parity.py made the file)."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from small import located

from digitwise.coordinates import Extent
from digitwise.encodings import Absolute, Relative
from digitwise.models.encoder import Architecture, Encoder
from digitwise.tasks import Addition

THEIRS = load_file(Path(__file__).parent / "parity.safetensors")


def copied(kind: str) -> Encoder:
    theirs = {name.removeprefix(f"{kind}/"): value for name, value in THEIRS.items() if name.startswith(f"{kind}/")}
    architecture = Architecture(layers=2, width=16, heads=2, feedforward=32, norm="post")
    encoding = Absolute() if kind == "absolute" else Relative()
    ours = Encoder(architecture, encoding, Extent(11, (5, 5)), symbols=14, answers=11).eval()
    # Every token has the same type here, so that vector belongs to the symbols.
    state = {
        "embedding.weight": theirs["embeddings.word_embeddings.weight"]
        + theirs["embeddings.token_type_embeddings.weight"]
    }
    names = {"embedding_norm": "embeddings.LayerNorm"}
    for layer in range(2):
        ours_layer, theirs_layer = f"layers.{layer}", f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            names[f"{ours_layer}.attention.{part}"] = f"{theirs_layer}.attention.self.{part}"
        names[f"{ours_layer}.attention.out"] = f"{theirs_layer}.attention.output.dense"
        names[f"{ours_layer}.norms.0"] = f"{theirs_layer}.attention.output.LayerNorm"
        names[f"{ours_layer}.feedforward.0"] = f"{theirs_layer}.intermediate.dense"
        names[f"{ours_layer}.feedforward.2"] = f"{theirs_layer}.output.dense"
        names[f"{ours_layer}.norms.1"] = f"{theirs_layer}.output.LayerNorm"
        if kind == "relative_key":
            distances = theirs[f"{theirs_layer}.attention.self.distance_embedding.weight"]
            state[f"vectors.tables.{layer}"] = distances
    if kind == "absolute":
        state["vectors.table"] = theirs["embeddings.position_embeddings.weight"]
    for our_name, their_name in names.items():
        state |= {f"{our_name}.{end}": theirs[f"{their_name}.{end}"] for end in ("weight", "bias")}
    missing = ours.load_state_dict(state, strict=False)
    assert set(missing.missing_keys) == {"readout.weight", "readout.bias"} and not missing.unexpected_keys
    return ours


@pytest.mark.parametrize("kind", ["absolute", "relative_key"])
def test_hidden_states_equal_theirs(kind: str) -> None:
    ours = copied(kind)
    coordinates = located(Addition(canvas=5))
    ours_hidden = []
    for layer in ours.layers:
        layer.register_forward_hook(lambda _module, _inputs, output: ours_hidden.append(output))
    with torch.no_grad():
        last = ours.hidden(THEIRS[f"{kind}/tokens"], coordinates)
    theirs_hidden = THEIRS[f"{kind}/hidden"]
    assert len(ours_hidden) == len(theirs_hidden) - 1
    for ours_layer, theirs_layer in zip(ours_hidden, theirs_hidden[1:], strict=True):
        torch.testing.assert_close(ours_layer, theirs_layer, rtol=0, atol=1e-5)
    torch.testing.assert_close(last, theirs_hidden[-1], rtol=0, atol=1e-5)
