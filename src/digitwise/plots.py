"""One style for all figures. The only file that imports matplotlib, and only when something is drawn."""

from pathlib import Path
from typing import Any

#: Colours that stay apart for colour-blind readers and in black and white; line styles take over when they run out.
COLOURS = ["#d1495b", "#00798c", "#edae49", "#66548b", "#5a8f29", "#8d6a4f", "#30638e", "#999999"]
STYLES = ["-", "--", ":", "-."]


def new_figure(width: float = 6.4, height: float = 3.8, columns: int = 1) -> tuple[Any, Any]:
    """Return a figure and its axes (a list of axes for several columns).

    No global state is used, so drawing works in threads and without a screen.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [figure.add_subplot(1, columns, column + 1) for column in range(columns)]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    return figure, panels if columns > 1 else panels[0]


def save(figure: Any, path: Path) -> Path:
    """Write the figure in the format that the name ends in: png, svg or pdf. The same results give the same bytes."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {".svg": {"Date": None}, ".png": {"Software": None}, ".pdf": {"CreationDate": None}}
    figure.savefig(path, dpi=200, metadata=metadata.get(path.suffix, {}))
    return path
