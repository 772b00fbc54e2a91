"""A small BERT of Hugging Face, plain and with add-heads, trained on sums in sentences: before and after side by side.

    python examples/bert_add_heads.py                 # some minutes on two cores
    python examples/bert_add_heads.py --steps 20      # only to see that it runs

Nothing is downloaded: the model comes from a config, the tokenizer from the words of the sentences. Both models see the
same tokens. All heads but one of the second model get vectors by place among the digits, and its numbers share one
absolute position, since their places are the business of these heads. Nothing else differs.
"""

import argparse
import time

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor, nn
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from digitwise.coordinates import Coordinates, Extent
from digitwise.data import Distribution, ExactLength, UniformLengths
from digitwise.encodings import ByPlace, HeadGroups, Nothing
from digitwise.models.attention import PairwiseAttention
from digitwise.models.encoder import slot_positions
from digitwise.rng import generator
from digitwise.tasks import TextAddition
from digitwise.tasks.symbols import NUM_ANSWER_SYMBOLS, SPELLING
from digitwise.tasks.text import WORDS, answered_at_last, find_numbers, pad_numbers

TASK = TextAddition(canvas=9, sentences=True)
TRAINED, TESTED = 4, (1, 2, 3, 4, 5, 6, 7, 8)
FILL = "[PAD]"


def digit_tokenizer() -> PreTrainedTokenizerFast:
    """Words as they are, numbers digit by digit."""
    vocabulary = {word: number for number, word in enumerate([FILL, "[UNK]", *SPELLING, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split("_", "isolated"),
            pre_tokenizers.Digits(individual_digits=True),
        ]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=FILL, unk_token="[UNK]")


class Sums:
    """Sentences with sums as token ids, where their numbers stand, and the answers."""

    def __init__(self) -> None:
        self.tokenizer = digit_tokenizer()
        self.digits = self.tokenizer.convert_tokens_to_ids(list("0123456789"))
        self.pad, self.filler = self.tokenizer.convert_tokens_to_ids(["_", FILL])

    def draw(self, data: Distribution, rng: np.random.Generator, count: int) -> tuple[Tensor, Coordinates, Tensor]:
        operands = TASK.draw(data, rng, count)
        texts = pad_numbers(TASK.render(operands), TASK.widths, TASK.canvas)
        ids = self.tokenizer(texts, padding=True, return_tensors="pt")["input_ids"]
        coordinates = answered_at_last(find_numbers(ids, self.digits, self.pad, self.filler), TASK.widths)
        answers = torch.as_tensor(TASK.targets(operands)).long()
        return ids, coordinates.map(torch.as_tensor), answers


class AddHeads(nn.Module):
    """Stands for BERT's self-attention and the linear map behind it; the weights are theirs."""

    def __init__(self, config: BertConfig, attention: nn.Module, dense: nn.Linear):
        super().__init__()
        heads = config.num_attention_heads
        encoding = HeadGroups(((heads - 1, ByPlace(deviation=0.0, reach=3)), (1, Nothing())))
        reach = Extent(config.max_position_embeddings, TASK.widths)
        self.part = PairwiseAttention(config.hidden_size, heads, encoding, reach, batch_first=True)
        mine = self.part.attention
        pairs = [(getattr(mine, name), getattr(attention, name)) for name in ("query", "key", "value")]
        for ours, theirs in [*pairs, (mine.out, dense)]:
            ours.load_state_dict(theirs.state_dict())

    def forward(self, hidden_states: Tensor, *, coordinates: Coordinates, **_: object) -> tuple[Tensor, None]:
        output, _weights = self.part(*[hidden_states] * 3, need_weights=False, coordinates=coordinates)
        return output, None


class Solver(nn.Module):
    """BERT, and a symbol read out for each place of the answer."""

    def __init__(self, vocabulary: int, add_heads: bool):
        super().__init__()
        config = BertConfig(
            vocab_size=vocabulary, hidden_size=96, num_hidden_layers=3, num_attention_heads=4, intermediate_size=384,
            max_position_embeddings=64, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        self.bert = BertModel(config, add_pooling_layer=False)
        self.readout = nn.Linear(config.hidden_size, NUM_ANSWER_SYMBOLS)
        self.add_heads = add_heads
        if add_heads:
            for layer in self.bert.encoder.layer:
                layer.attention.self = AddHeads(config, layer.attention.self, layer.attention.output.dense)
                layer.attention.output.dense = nn.Identity()

    def forward(self, ids: Tensor, coordinates: Coordinates) -> Tensor:
        positions = (coordinates.position + 1).clamp(min=1)
        if self.add_heads:  # BERT hands what it does not know down to its attention
            positions = positions.masked_fill(coordinates.operand >= 0, 0)
            hidden = self.bert(ids, position_ids=positions, coordinates=coordinates).last_hidden_state
        else:
            seen = coordinates.position >= 0
            hidden = self.bert(ids, attention_mask=seen.long(), position_ids=positions).last_hidden_state
        return self.readout(torch.take_along_dim(hidden, slot_positions(coordinates)[..., None], 1))


def train(model: Solver, sums: Sums, steps: int, rate: float, batch: int = 64) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.1)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 100) * min(1.0, 4 * (1 - step / steps))
        ids, coordinates, answers = sums.draw(UniformLengths(TRAINED), generator(0, "train", step), batch)
        loss = nn.functional.cross_entropy(model(ids, coordinates).flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@torch.inference_mode()
def exact_match(model: Solver, sums: Sums, length: int, problems: int) -> float:
    ids, coordinates, answers = sums.draw(ExactLength(length), generator(0, "test", length), problems)
    return float((model(ids, coordinates).argmax(-1) == answers).all(-1).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--problems", type=int, default=500, help="for each length")
    options = parser.parse_args()
    sums, results = Sums(), {}
    (example,) = TASK.render(TASK.draw(ExactLength(3), generator(1), 1))
    print(f"trained on sums of at most {TRAINED} digits, such as: {example}")
    for name, add_heads in (("plain", False), ("add-heads", True)):
        torch.manual_seed(0)
        model, began = Solver(len(sums.tokenizer), add_heads), time.monotonic()
        train(model.train(), sums, options.steps, options.rate)
        model.eval()
        results[name] = [exact_match(model, sums, length, options.problems) for length in TESTED]
        print(f"{name}: {time.monotonic() - began:.0f} seconds")
    print("digits  " + "  ".join(f"{name:>9}" for name in results))
    for index, length in enumerate(TESTED):
        print(f"{length:>6}  " + "  ".join(f"{scores[index]:>9.3f}" for scores in results.values()))


if __name__ == "__main__":
    main()
