"""A training step of Hugging Face's own BERT with relative positions beside ours: `make bench-hf`.

It needs an environment of its own, since transformers 5 has no relative positions any more. Same sizes, batch, tokens,
loss, dropout and optimizer. Theirs is trained as one would train it: labels of -100 where no answer is read.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import BertConfig, BertForTokenClassification

from digitwise.bench import BENCHMARKS, run
from digitwise.bench.measure import Row, Session, row
from digitwise.bench.references import encoder_floor
from digitwise.bench.results import FOLDER, heading, text, write
from digitwise.bench.step import SMOKE, on_canvas, one_step
from digitwise.runs.experiment import Experiment
from digitwise.runs.training import Source
from digitwise.tasks.symbols import NUM_ANSWER_SYMBOLS

THEIRS = f"transformers {transformers.__version__}"


def hugging_face(session: Session) -> list[Row]:
    rows = []
    for case, experiment in on_canvas().items():
        if session.smoke:
            experiment = replace(experiment, architecture=SMOKE)
        sides = {
            "ours": one_step(experiment),
            THEIRS: their_step(experiment),
            "floor": encoder_floor(experiment.architecture, Source(experiment).batch(0)),
        }
        ratios = [("ours", THEIRS), ("ours", "floor"), (THEIRS, "floor")]
        rows.append(row(case, "seconds", session.seconds(case, sides), ratios))
        print(f"{case}: measured", flush=True)
    return rows


def their_step(experiment: Experiment) -> Callable[[], Any]:
    """Return a call that trains their model by one step, always on the first batch."""
    size, training, batch = experiment.architecture, experiment.training, Source(experiment).batch(0)
    config = BertConfig(
        vocab_size=len(experiment.task.symbols),
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.inner,
        hidden_dropout_prob=size.dropout,
        attention_probs_dropout_prob=size.dropout,
        max_position_embeddings=batch.tokens.shape[1],
        pad_token_id=None,  # the pads of a canvas are symbols like others
        position_embedding_type="relative_key",
        num_labels=NUM_ANSWER_SYMBOLS,
        attn_implementation="eager",  # the only one that has relative positions
    )
    model = BertForTokenClassification(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=training.rate, weight_decay=training.decay)
    tokens = torch.as_tensor(batch.tokens).long()
    labels = torch.full_like(tokens, -100)
    slot = torch.as_tensor(batch.coordinates.slot)
    labels[:, slot >= 0] = torch.as_tensor(batch.targets).long()[:, slot[slot >= 0]]

    def step() -> None:
        optimizer.zero_grad()
        model(input_ids=tokens, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), training.clip)
        optimizer.step()

    return step


def main() -> None:
    if not transformers.__version__.startswith("4."):
        raise SystemExit(f"{THEIRS} has no relative positions: run make bench-hf, which installs one that has")
    parser = argparse.ArgumentParser(description="Hugging Face's BERT with relative positions beside ours.")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, to see that everything runs")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder or .json file")
    options = parser.parse_args()
    BENCHMARKS["hugging-face"] = hugging_face
    session = Session(options.repeats, options.threads, "smoke" if options.smoke else "full")
    result = run("hugging-face", session)
    print(f"{heading(result)}\n\n{text(result)}\nwritten to {write(result, options.out)}")


if __name__ == "__main__":
    main()
