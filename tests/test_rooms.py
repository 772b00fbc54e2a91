"""Imports between rooms point one way, and a dependency with a risk is imported in one place."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "digitwise"

#: From the ground up: a room may import the ground and the rooms that are named here.
ROOMS = {
    "numbers": [],
    "tasks": ["numbers"],
    "data": ["numbers", "tasks"],
    "machines": ["numbers", "tasks"],
    "encodings": [],
    "models": ["numbers", "tasks", "data", "machines", "encodings"],
    "runs": ["numbers", "tasks", "data", "machines", "encodings", "models"],
    "sweeps": ["numbers", "tasks", "data", "machines", "encodings", "models", "runs"],
    "theory": [],
    "paper": ["numbers", "tasks", "data", "machines", "encodings", "models", "runs", "sweeps", "theory"],
    "answers": ["numbers", "tasks", "data", "machines", "encodings", "models", "runs"],
    "bench": [
        "numbers",
        "tasks",
        "data",
        "machines",
        "encodings",
        "models",
        "runs",
        "sweeps",
        "theory",
        "paper",
        "answers",
    ],
    "comparison": [
        "numbers",
        "tasks",
        "data",
        "machines",
        "encodings",
        "models",
        "runs",
        "sweeps",
        "theory",
        "paper",
        "answers",
        "bench",
    ],
    "pages": ["numbers", "tasks", "data", "machines", "encodings", "models", "runs", "theory", "paper", "answers"],
    "cli": [
        "numbers",
        "tasks",
        "data",
        "machines",
        "encodings",
        "models",
        "runs",
        "sweeps",
        "theory",
        "paper",
        "answers",
        "bench",
        "comparison",
        "pages",
    ],
}
ONLY_IN = {
    "accelerate": "runs/engine.py",
    "ray": "sweeps/on_ray.py",
    "fsspec": "sweeps/place.py",
    "tqdm": "cli/terminal.py",
    "huggingface_hub": "answers/hub.py",
    "matplotlib": "plots.py",
    "starlette": "pages/server.py",
    "uvicorn": "pages/server.py",
}
WITHOUT_TORCH = ("numbers", "tasks", "data", "machines", "theory", "cli")


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__main__.py"]


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else ""


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    room = room_of(path)
    assert room == "" or room in ROOMS, f"{room} is not a room: give it a line in ROOMS"
    for name in imports(path):
        first, *rest = name.split(".")
        if first == "digitwise" and rest and rest[0] in ROOMS and rest[0] != room:
            assert rest[0] in ROOMS.get(room, []), f"{path} imports {name}"
        if first in ONLY_IN:
            assert path == SOURCE / ONLY_IN[first], f"{first} is imported in {path}"
        assert not (first == "torch" and (room in WITHOUT_TORCH or not room)), path


def test_the_house_is_small():
    assert len(list(SOURCE.rglob("*.py"))) <= 162
    for path in modules():
        assert len(path.read_text().splitlines()) <= 250, path
    assert sum(len(path.read_text().splitlines()) for path in (SOURCE / "theory").glob("*.py")) <= 2300


def test_no_code_asks_what_kind_of_task_or_model_it_has():
    """Where it would, a seam is missing. Kinds of torch's own modules are another matter."""
    ours = {"Addition", "Multiplication", "Arithmetic", "InText", "TextAddition", "TextMultiplication", "Task"}
    ours |= {"Encoder", "Ripple", "Speakers", "Model", "Architecture", "Columns", "Messages", "task", "model"}
    ours |= {"Difference", "Division"}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            asks = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if asks and node.func.id in ("isinstance", "issubclass", "hasattr"):
                named = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                named |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
                assert not named & ours, f"{path.name}:{node.lineno}"
            assert not isinstance(node, ast.Match), f"{path.name}:{node.lineno}"
