"""Networks over tokens and coordinates. The seam is `base.Blueprint`; a kind of model needs one line here."""

from digitwise.models.base import Answers, Blueprint, Model
from digitwise.models.encoder import Architecture, Encoder
from digitwise.models.grid import NeuralGPU, Recurrent
from digitwise.models.lattice import Lattice
from digitwise.models.looped import Looped
from digitwise.models.messages import Messages, Speakers
from digitwise.models.ripple import Columns, Ripple

ARCHITECTURES = {"encoder": Architecture, "columns": Columns, "messages": Messages}
#: Models over columns of which less is built in, for comparison.
ARCHITECTURES |= {"recurrent": Recurrent, "neural-gpu": NeuralGPU, "lattice": Lattice, "looped": Looped}

__all__ = [
    "ARCHITECTURES",
    "Answers",
    "Architecture",
    "Blueprint",
    "Columns",
    "Encoder",
    "Lattice",
    "Looped",
    "Messages",
    "Model",
    "NeuralGPU",
    "Recurrent",
    "Ripple",
    "Speakers",
]
