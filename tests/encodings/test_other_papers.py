"""Encodings of other papers equal public implementations, and draw what they draw in training alone."""

import math

import pytest
import torch
from small import located

from digitwise.coordinates import Coordinates, Extent, extent
from digitwise.data import ExactLength
from digitwise.encodings import (
    ENCODINGS,
    Abacus,
    Alibi,
    Buckets,
    Coupled,
    Fire,
    HeadGroups,
    Nothing,
    Randomised,
    Relative,
    Rotary,
    Shape,
    Sinusoidal,
    Sum,
)
from digitwise.encodings.biases import slopes
from digitwise.encodings.rotation import rotated
from digitwise.models.attention import PairwiseAttention
from digitwise.models.encoder import Architecture, Encoder, slot_positions
from digitwise.rng import generator
from digitwise.tasks import Addition, Growing, Multiplication

COUNT = 200
SHAPE = Shape(layers=2, heads=4, head_size=8, width=32)
POSITIONS = torch.arange(COUNT)
HERE = Coordinates(POSITIONS, POSITIONS, POSITIONS, POSITIONS)
OF_OTHERS = ["sinusoidal", "rope", "alibi", "t5", "fire", "abacus", "coupled", "randomised"]


def built(encoding):
    torch.manual_seed(0)
    vectors = encoding.build(SHAPE, Extent(COUNT, (COUNT,)))
    return vectors, vectors.prepare(HERE)


def random_scores() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return tuple(torch.randn(2, SHAPE.heads, COUNT, SHAPE.head_size, generator=generator) for _ in range(2))


# Parity with public implementations


def test_sinusoids_equal_those_of_transformers():
    marian = pytest.importorskip("transformers.models.marian.modeling_marian")
    theirs = marian.MarianSinusoidalPositionalEmbedding(COUNT, SHAPE.width).create_weight()
    vectors, prepared = built(Sinusoidal())
    torch.testing.assert_close(vectors.embed(prepared) / vectors.size, theirs, rtol=1e-4, atol=1e-4)


def test_sinusoids_equal_those_of_x_transformers():
    x_transformers = pytest.importorskip("x_transformers.x_transformers")
    theirs = x_transformers.ScaledSinusoidalEmbedding(SHAPE.width)
    vectors, prepared = built(Sinusoidal())
    found = vectors.embed(prepared) / vectors.size * theirs.scale
    torch.testing.assert_close(found, theirs(torch.zeros(1, COUNT, 1)), rtol=1e-4, atol=1e-4)


def test_rotated_products_equal_those_of_llama():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(hidden_size=SHAPE.width, num_attention_heads=SHAPE.heads)
    q, k = random_scores()
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, POSITIONS[None])
    theirs_q, theirs_k = llama.apply_rotary_pos_emb(q, k, cos, sin)
    vectors, prepared = built(Rotary())
    angles = vectors.angles(0, prepared)
    torch.testing.assert_close(rotated(q, angles), theirs_q, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(rotated(k, angles), theirs_k, rtol=1e-4, atol=1e-4)


def test_rotated_products_equal_those_of_x_transformers():
    """They pair neighbouring entries, we pair the halves: the products are the same for entries in another order."""
    x_transformers = pytest.importorskip("x_transformers.x_transformers")
    q, k = random_scores()
    frequencies, _ = x_transformers.RotaryEmbedding(SHAPE.head_size).forward_from_seq_len(COUNT)
    theirs_q, theirs_k = (x_transformers.apply_rotary_pos_emb(x, frequencies) for x in (q, k))
    order = torch.arange(SHAPE.head_size).view(-1, 2).T.flatten()
    vectors, prepared = built(Rotary())
    angles = vectors.angles(0, prepared)
    ours = rotated(q[..., order], angles) @ rotated(k[..., order], angles).mT
    torch.testing.assert_close(ours, theirs_q @ theirs_k.mT, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("heads", [1, 2, 4, 6, 8, 12])
def test_slopes_equal_those_of_bloom(heads):
    bloom = pytest.importorskip("transformers.models.bloom.modeling_bloom")
    theirs = bloom.build_alibi_tensor(torch.ones(1, 2, dtype=torch.long), heads, torch.float32)[:, 0, 1]
    torch.testing.assert_close(torch.tensor(slopes(heads)), theirs)


def test_biases_by_distance_equal_those_of_x_transformers():
    x_transformers = pytest.importorskip("x_transformers.x_transformers")
    q, _ = random_scores()
    vectors, prepared = built(Alibi())
    theirs = x_transformers.AlibiPositionalBias(SHAPE.heads)(COUNT, COUNT)
    torch.testing.assert_close(vectors.scores(0, q, prepared)[0], theirs)
    vectors, prepared = built(Buckets(deviation=1.0))
    theirs = x_transformers.RelativePositionBias(scale=1.0, heads=SHAPE.heads)
    theirs.relative_attention_bias.weight.data = vectors.tables[0].data
    torch.testing.assert_close(vectors.scores(1, q, prepared)[0], theirs(COUNT, COUNT))


@pytest.mark.parametrize(("buckets", "furthest"), [(32, 128), (16, 40)])
def test_buckets_equal_those_of_t5(buckets, furthest):
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    ahead = POSITIONS[None, :] - POSITIONS[:, None]
    theirs = t5.T5Attention._relative_position_bucket(ahead, True, buckets, furthest)
    assert torch.equal(Buckets(0.0, buckets, furthest).classes(HERE, Extent(COUNT, ())), theirs)


def test_fire_by_hand():
    """The paper's equation for one pair, in plain numbers."""
    vectors, prepared = built(Fire(threshold=50.0))
    q, _ = random_scores()
    with torch.no_grad():
        vectors.stretch[1], vectors.share[1] = 0.3, 5.0
        found = vectors.scores(1, q, prepared)[0, :, 7, 30]
        progress = -math.log(0.3 * 23 + 1) / math.log(0.3 * 250 + 1)  # the threshold is larger than the sequence
        expected = vectors.functions[1](torch.tensor([progress]))
    torch.testing.assert_close(found, expected)


# What is added where


def test_abacus_and_coupling_by_hand():
    coordinates = located(Addition(3))  # tokens a a a + b b b
    abacus = Abacus(room=2).build(SHAPE, extent(coordinates))
    found = abacus.embed(abacus.prepare(coordinates))
    places = [2, 1, 0, None, 2, 1, 0]
    for vector, place in zip(found, places, strict=True):
        torch.testing.assert_close(vector, torch.zeros(SHAPE.width) if place is None else abacus.table[place])
    coupled = Coupled(room=2).build(SHAPE, extent(coordinates))
    found = coupled.embed(coupled.prepare(coordinates))
    torch.testing.assert_close(found[3], coupled.table[3])  # the operator is read as the overflow digit


@pytest.mark.parametrize("name", OF_OTHERS)
@pytest.mark.parametrize("task", [Addition(4), Multiplication(2, 5), Growing(0, 5)], ids=str)
def test_the_last_layer_at_the_slots_alone_is_the_whole_last_layer(name, task):
    coordinates = located(task)
    torch.manual_seed(0)
    model = Encoder(Architecture(layers=2, width=32, heads=4), ENCODINGS[name](), extent(coordinates), 14, 11).eval()
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    tokens = torch.randint(0, 11, (3, len(coordinates.position)))
    with torch.no_grad():
        hidden = model.hidden(tokens, coordinates)[:, slot_positions(coordinates)]
        torch.testing.assert_close(model(tokens, coordinates), model.readout(hidden), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["abacus", "coupled", "randomised"])
def test_random_offsets_belong_to_training_alone(name):
    vectors, prepared = built(ENCODINGS[name]())
    draws = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        varied = vectors.vary(prepared, 3)
        q, _ = random_scores()
        found = vectors.embed(varied)
        draws.append(vectors.scores(0, q, varied) if found is None else found)
    if name == "randomised":  # a table that starts from zero shows nothing: compare what is looked up in it
        torch.manual_seed(0)
        first, again = (vectors.vary(prepared, 3).inner.of_pairs for _ in range(2))
        torch.manual_seed(0)
        assert torch.equal(first, vectors.vary(prepared, 3).inner.of_pairs) and not torch.equal(first, again)
        assert torch.equal(prepared.inner.of_pairs, vectors.prepare(HERE).inner.of_pairs)
        assert (first.diff(dim=1) < 0).all()  # positions stay sorted
        return
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])
    assert torch.equal(vectors.embed(prepared), vectors.embed(vectors.prepare(HERE)))


def test_coupling_draws_a_start_per_problem_and_abacus_one_for_all():
    for encoding, alike in ((Coupled(), False), (Abacus(), True)):
        vectors, prepared = built(encoding)
        found = vectors.embed(vectors.vary(prepared, 8))
        rows = found.expand(8, -1, -1)
        assert bool((rows == rows[:1]).all()) == alike


@pytest.mark.parametrize(("name", "told_apart"), [("abacus", False), ("coupled", False), ("by-place", False),
                                                  ("relative", True), ("rope", True)])  # fmt: skip
def test_by_place_alone_a_multiplier_cannot_be_told_from_the_ones(name, told_apart):
    """3 x 47 and 7 x 43 have the same higher digits for them: why they learn no products here (docs/encodings.md)."""
    task = Multiplication(1, 4)
    torch.manual_seed(0)
    encoder = Encoder(Architecture(layers=2, width=32, heads=4), ENCODINGS[name](), task.extent, 14, 11).eval()
    for parameter in encoder.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    tokens, coordinates = task.write(task.draw(ExactLength(3), generator(0, "exchanged"), 5))
    tokens_BN = torch.as_tensor(tokens)
    multiplier, ones = (n for n, place in enumerate(coordinates.place) if place == 0)
    exchanged_BN = tokens_BN.clone()
    exchanged_BN[:, [multiplier, ones]] = tokens_BN[:, [ones, multiplier]]
    with torch.no_grad():
        change = (encoder(tokens_BN, coordinates) - encoder(exchanged_BN, coordinates))[:, 1:].abs().max()
    assert (change > 1e-4) == told_apart


def test_rotations_of_groups_and_sums():
    """A group of heads is rotated by itself; angles of a sum add up; other products are with queries as they were."""
    vectors, prepared = built(HeadGroups(((1, Rotary()), (3, Nothing()))))
    angles = vectors.angles(0, prepared)
    assert angles.shape == (1, 4, COUNT, 4) and (angles[:, 1:] == 0).all() and (angles[:, 0, 1:] != 0).any(-1).all()
    vectors, prepared = built(Sum((Rotary(), Rotary(), Relative())))
    torch.testing.assert_close(vectors.angles(0, prepared), 2 * Rotary().build(SHAPE, Extent(9, ())).prepare(HERE))


def test_rotary_as_a_part_of_other_models_sees_distances_only():
    torch.manual_seed(0)
    part = PairwiseAttention(32, 4, Rotary(), Extent(9, ()), batch_first=True).eval()
    x, position = torch.randn(2, 9, 32), torch.arange(9)
    with torch.no_grad():
        here, there, reordered = (
            part(x, x, x, coordinates=Coordinates(p, p, p, p))[0] for p in (position, position + 100, position * 2)
        )
    torch.testing.assert_close(here, there, rtol=1e-3, atol=1e-4)
    assert (here - reordered).abs().max() > 1e-4


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="even size"):
        Rotary().build(SHAPE._replace(head_size=7), Extent(9, ()))
    with pytest.raises(ValueError, match="even width"):
        Sinusoidal().build(SHAPE._replace(width=7), Extent(9, ()))
    with pytest.raises(ValueError, match="at least 4"):
        Buckets(buckets=2)
    with pytest.raises(ValueError, match="positions to draw from"):
        Randomised(most=5).build(SHAPE, Extent(9, ()))
