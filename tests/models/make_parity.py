"""Writes parity.safetensors: weights, input and hidden states of the last BERT that had relative positions.

Needs the old library, which the tests do not: pip install torch==2.13.0 transformers==4.57.6
"""

from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from transformers import BertConfig, BertModel

assert transformers.__version__ == "4.57.6", "later versions accept position_embedding_type and ignore it"

tensors: dict[str, torch.Tensor] = {}
for kind in ("absolute", "relative_key"):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=14, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=11, type_vocab_size=1, position_embedding_type=kind, attn_implementation="eager",
        initializer_range=0.5,
    )  # fmt: skip  # large weights, so that a wrong distance or scale moves the result by far more than 1e-5
    model = BertModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():  # biases and norms start at 0 and 1, which would hide mistakes
            if name.endswith("bias") or "LayerNorm" in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
        tokens = torch.randint(0, 14, (3, 11))
        hidden = model(tokens, output_hidden_states=True).hidden_states
    tensors |= {f"{kind}/{name}": value.contiguous() for name, value in model.state_dict().items()}
    tensors |= {f"{kind}/tokens": tokens, f"{kind}/hidden": torch.stack(hidden)}
save_file(
    {name: value for name, value in tensors.items() if "position_ids" not in name},
    Path(__file__).with_name("parity.safetensors"),
)
