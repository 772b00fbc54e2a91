"""Networks over tokens and coordinates. The seam is `base.Blueprint`; a kind of model needs one line here."""

from digitwise.models.base import Answers, Blueprint, Model
from digitwise.models.encoder import Architecture, Encoder
from digitwise.models.messages import Messages, Speakers
from digitwise.models.ripple import Columns, Ripple

ARCHITECTURES = {"encoder": Architecture, "columns": Columns, "messages": Messages}

__all__ = [
    "ARCHITECTURES",
    "Answers",
    "Architecture",
    "Blueprint",
    "Columns",
    "Encoder",
    "Messages",
    "Model",
    "Ripple",
    "Speakers",
]
