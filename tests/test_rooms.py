"""Imports point down the layers, and a dependency with a risk is imported in one place."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "digitwise"

#: From the top down; a module may import what stands below its own line, and its own line's other modules.
LAYERS = [
    ["cli"],
    ["hub"],
    [
        "bench",
        "reproduction",
        "paper",
        "prediction",
        "exchange",
        "conformance",
        "theory",
        "solver",
        "maps",
        "fixed_map",
    ],
    ["recipes"],
    ["training"],
    ["evaluation", "engine", "seeds"],
    ["runs", "suites"],
    ["experiment", "figures", "complexity_figures"],
    ["nn", "ripple"],
    ["model"],
    ["encodings"],
    ["tasks"],
    ["levels", "explain"],
    ["counts", "tables", "complexity", "laws"],
    ["text"],
    ["digits", "coordinates", "config", "rng", "edges", "optimizers"],
]
DEPTH = {name: depth for depth, names in enumerate(reversed(LAYERS)) for name in names}
NEVER = [("tasks", "encodings"), ("encodings", "tasks"), ("tasks", "model"), ("suites", "model")]
ONLY_IN = {
    "accelerate": {"engine"},
    "tqdm": {"cli"},
    "huggingface_hub": {"hub"},
    "pyarrow": {"exchange"},
    "matplotlib": {"figures", "theory"},
}


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or not path.name.startswith("__"))


def unit(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    mine = unit(path)
    assert mine in DEPTH, f"{mine} has no layer: give it a line in LAYERS"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "digitwise" and len(parts) > 1 and parts[1] in DEPTH and parts[1] != mine:
            assert DEPTH[parts[1]] <= DEPTH[mine], f"{mine} imports {parts[1]}, which stands above it"
            assert (mine, parts[1]) not in NEVER
        if parts[0] in ONLY_IN:
            assert mine in ONLY_IN[parts[0]], f"{parts[0]} is imported in {mine}"


def test_the_ground_knows_no_torch():
    for path in modules():
        if unit(path) in {"digits", "coordinates", "config", "rng", "tasks", "counts", "tables", "theory", "cli"}:
            assert not {name for name in imports(path) if name.split(".")[0] == "torch"}, path
