"""The attention as a part: equal to torch's without positions, and to the encoder's with them."""

import copy

import pytest
import torch
from torch import nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.data import UniformLengths
from digitwise.encodings import Absolute, ByPlace, HeadGroups, Nothing, Relative, Shape, Sum
from digitwise.models.attention import PairwiseAttention, standing_at
from digitwise.models.encoder import Architecture, Encoder
from digitwise.rng import generator
from digitwise.tasks import TextAddition
from digitwise.tasks.text import find_numbers

GROUPS = HeadGroups(((2, ByPlace()), (2, Nothing())))
REACH = Extent(40, (5, 6))


def text_batch(count: int = 3) -> tuple[torch.Tensor, Coordinates]:
    task = TextAddition(5, most=3)
    tokens = task.encode(task.draw(UniformLengths(4), generator(1, "nn"), count)).tokens
    return torch.as_tensor(tokens), task.coordinates(tokens).map(torch.as_tensor)


def pair(batch_first: bool, encoding=GROUPS, tables: float = 0.0) -> tuple[nn.MultiheadAttention, PairwiseAttention]:
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(16, 4, batch_first=batch_first)
    nn.init.normal_(theirs.in_proj_bias)
    ours = PairwiseAttention.like(theirs, encoding, REACH)
    for table in ours.vectors.parameters():
        nn.init.normal_(table, std=tables)
    return theirs.eval(), ours.eval()


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("mask", ["none", "pairs", "pairs of each head", "added"])
def test_equals_torchs_without_vectors(batch_first, average, mask):
    theirs, ours = pair(batch_first)
    _, coordinates = text_batch()
    batch, count = coordinates.position.shape
    x = torch.randn(batch, count, 16) if batch_first else torch.randn(count, batch, 16)
    padding = coordinates.position < 0
    padding[:, 0] = True  # more than the coordinates know of
    causal = torch.ones(count, count, dtype=torch.bool).triu(1)
    causal[:, 1] = False  # so that nobody is left with nothing to look at
    masks = {
        "none": None,
        "pairs": causal,
        "pairs of each head": causal.expand(batch * 4, -1, -1).clone(),
        "added": torch.randn(count, count).masked_fill(causal, -torch.inf),
    }
    if mask == "added":
        padding = torch.zeros(padding.shape).masked_fill(padding, -torch.inf)  # torch wants both masks of one kind
    options = {"key_padding_mask": padding, "attn_mask": masks[mask], "average_attn_weights": average}
    with torch.no_grad():
        here, there = ours(x, x, x, coordinates=coordinates, **options), theirs(x, x, x, **options)
        for our_part, their_part in zip(here, there, strict=True):
            torch.testing.assert_close(our_part, their_part, rtol=1e-5, atol=1e-6)
        output, weights = ours(x, x, x, need_weights=False, coordinates=coordinates)
    assert weights is None and output.shape == x.shape


def test_the_vectors_change_what_numbers_see_of_numbers_and_nothing_else():
    theirs, ours = pair(True, tables=1.0)
    _, coordinates = text_batch()
    x = torch.randn(*coordinates.position.shape, 16)
    with torch.no_grad():
        _, here = ours(x, x, x, average_attn_weights=False, coordinates=coordinates)
        _, there = theirs(x, x, x, key_padding_mask=coordinates.position < 0, average_attn_weights=False)
    number = coordinates.operand >= 0
    changed = (here - there).abs().amax(-1)  # [B, H, N]
    assert (changed[:, 2:] < 1e-6).all()  # heads without an encoding
    assert (changed[:, :2].amax(1)[~number] < 1e-6).all() and (changed[:, 0][number] > 1e-4).all()


@pytest.mark.parametrize("encoding", [GROUPS, Relative(), Sum((Relative(), GROUPS))], ids=str)
def test_equals_the_encoders_attention(encoding):
    torch.manual_seed(1)
    tokens, coordinates = text_batch()
    encoder = Encoder(Architecture(layers=1, width=16, heads=4), encoding, REACH, 150, 11).eval()
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, std=0.5)
    seen = {}
    attention = encoder.layers[0].attention
    attention.register_forward_hook(lambda _, inputs, output: seen.update(x=inputs[0], output=output))
    part = PairwiseAttention(16, 4, encoding, REACH, batch_first=True).eval()
    part.attention.load_state_dict(attention.state_dict())
    part.vectors.load_state_dict(encoder.vectors.state_dict())
    with torch.no_grad():
        encoder.hidden(tokens, coordinates)
        output, weights = part(*[seen["x"]] * 3, average_attn_weights=False, coordinates=coordinates)
    torch.testing.assert_close(output, seen["output"][0])
    torch.testing.assert_close(weights, seen["output"][1])


def test_what_cannot_work_is_refused():
    _, ours = pair(True)
    _, coordinates = text_batch()
    x = torch.randn(*coordinates.position.shape, 16)
    with pytest.raises(ValueError, match="same tokens"):
        ours(x, x[:, 1:], x[:, 1:], coordinates=coordinates)
    with pytest.raises(ValueError, match="tokens"):
        ours(x[:, 1:], x[:, 1:], x[:, 1:], coordinates=coordinates)
    with pytest.raises(ValueError, match="multiple"):
        PairwiseAttention(10, 4, GROUPS, REACH)
    with pytest.raises(ValueError, match="can be copied"):
        PairwiseAttention.like(nn.MultiheadAttention(16, 4, bias=False), GROUPS, REACH)
    three = find_numbers([[1, 30, 2, 30, 3]], digits=range(10)).map(torch.as_tensor)
    with pytest.raises(ValueError, match="row 0 has more than the 2 numbers"):
        ours(x[:1, :5], x[:1, :5], x[:1, :5], coordinates=three)


def test_half_precision_with_masks():
    _, coordinates = text_batch()
    assert (coordinates.position < 0).any()
    ours = PairwiseAttention(16, 4, GROUPS, REACH, batch_first=True).bfloat16()
    x = torch.randn(*coordinates.position.shape, 16).bfloat16()
    output, _ = ours(x, x, x, key_padding_mask=coordinates.position < 0, coordinates=coordinates)
    assert output.dtype == torch.bfloat16 and output.isfinite().all()


def test_a_copy_keeps_precision_and_mode():
    theirs = nn.MultiheadAttention(16, 4, dropout=0.5, batch_first=True).double().eval()
    ours = PairwiseAttention.like(theirs, HeadGroups(((2, ByPlace(0.0)), (2, Nothing()))), REACH)
    _, coordinates = text_batch(1)
    x = torch.randn(*coordinates.position.shape, 16).double()
    with torch.no_grad():
        torch.testing.assert_close(ours(x, x, x, coordinates=coordinates)[0], theirs(x, x, x)[0])
    with pytest.raises(ValueError, match="extra keys"):
        PairwiseAttention.like(nn.MultiheadAttention(16, 4, add_zero_attn=True), GROUPS, REACH)


def test_what_would_be_ignored_is_refused():
    tokens, coordinates = text_batch()
    x = torch.randn(*coordinates.position.shape, 16)
    ours = PairwiseAttention(16, 4, GROUPS, REACH, batch_first=True)
    with pytest.raises(ValueError, match="attention_mask == 0"):
        ours(x, x, x, key_padding_mask=(coordinates.position >= 0).long(), coordinates=coordinates)
    with pytest.raises(ValueError, match="give the causal attn_mask too"):
        ours(x, x, x, is_causal=True, coordinates=coordinates)
    for encoding in (Absolute(), Sum((Absolute(), GROUPS))):
        with pytest.raises(ValueError, match="leave Absolute out"):
            PairwiseAttention(16, 4, encoding, REACH, batch_first=True)(x, x, x, coordinates=coordinates)
    with pytest.raises(ValueError, match="ids of the digits"):
        find_numbers(tokens, "0123456789")
    with pytest.raises(ValueError, match="fill them up"):
        find_numbers([[1, 2], [3]], range(10))


@pytest.mark.parametrize("training", [True, False])
def test_inside_the_encoder_of_torch(training):
    """Its layers cannot pass coordinates on, so these are given beforehand; its fast path must not leave them out."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    plain = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).train(training)
    ours = copy.deepcopy(plain)
    for part in ours.layers:
        part.self_attn = PairwiseAttention.like(part.self_attn, GROUPS, REACH)
        for table in part.self_attn.vectors.parameters():
            nn.init.zeros_(table)
    _, coordinates = text_batch()
    x, padding = torch.randn(*coordinates.position.shape, 16), coordinates.position < 0
    with torch.no_grad():
        with standing_at(coordinates):
            same = ours(x, src_key_padding_mask=padding)
        seen = ~padding
        torch.testing.assert_close(same[seen], plain(x, src_key_padding_mask=padding)[seen], rtol=1e-4, atol=1e-5)
        for table in ours.layers[0].self_attn.vectors.parameters():
            nn.init.normal_(table, std=3)
        with standing_at(coordinates):
            other = ours(x, src_key_padding_mask=padding)
        assert (other - same)[seen].abs().max() > 1e-2
        with pytest.raises(ValueError, match="standing_at"):
            ours(x)


@pytest.mark.parametrize("encoding", [Relative(0.5), Relative(0.5, reach=3)], ids=str)
def test_few_queries_of_many_tokens_get_the_same_scores(encoding):
    """Slices of the table and a vector for each pair: equal scores, and equal gradients of queries and table."""
    position = torch.arange(9)
    coordinates = Coordinates(position, position, position, position)
    vectors = encoding.build(Shape(1, 2, 4, 8), Extent(12, (12,))).double()
    few = torch.randn(2, 2, 9, 4, dtype=torch.double, requires_grad=True)
    many = few.detach().repeat(3, 1, 1, 1).requires_grad_()
    prepared = vectors.prepare(coordinates)
    by_slices, by_pairs = (vectors.scores(0, queries, prepared) for queries in (few, many))
    torch.testing.assert_close(by_slices, by_pairs[:2])
    along = torch.randn_like(by_slices)
    of_few, table = torch.autograd.grad(by_slices, [few, vectors.tables[0]], along)
    of_many, same_table = torch.autograd.grad(by_pairs[:2], [many, vectors.tables[0]], along)
    torch.testing.assert_close(of_few, of_many[:2])
    torch.testing.assert_close(table, same_table)
