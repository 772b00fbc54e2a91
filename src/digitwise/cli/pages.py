"""Commands that show: a local page to play with, a report to send, and figures drawn anew."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from digitwise.cli.terminal import Bar, show


def add(command: Callable[..., argparse.ArgumentParser]) -> None:
    """The options of these commands."""
    sub = command("demo", demo, "Open a local page on which to try models, and to break them.", table=False)
    sub.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="run folders to show beside the bundled models")
    sub.add_argument("--host", default="127.0.0.1", help="address to listen at; the default is this machine alone")
    sub.add_argument("--name", action="append", default=[], help="another name that this server may be called by")
    sub.add_argument("--port", type=int, default=8642, help="0 takes any that is free")
    sub.add_argument("--no-browser", action="store_true", help="do not open a browser")

    sub = command("report", report, "Write runs or a folder of results as one HTML file, and as Markdown.")
    sub.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="run folders, or one folder of results")
    sub.add_argument("--profile", default="cpu", help="of the claims: paper, cpu or smoke")
    sub.add_argument("--to", type=Path, default=Path("report.html"), help="file to write, with Markdown beside it")


def demo(options: argparse.Namespace) -> None:
    import json
    import webbrowser
    from contextlib import suppress

    try:
        from digitwise.pages import server
    except ModuleNotFoundError as missing:
        raise ValueError(f"the page needs {missing.name}: pip install 'digitwise[demo]'") from missing
    from digitwise.pages.shelf import shelf

    models = shelf(options.runs)
    bound = server.listen(options.host, options.port)
    host, port = bound.getsockname()[:2]
    host = f"[{host}]" if ":" in host else host
    url = f"http://{host}:{port}/"

    def ready() -> None:
        print(json.dumps({"url": url}) if options.json else f"{url}  (Ctrl-C ends it)", flush=True)
        if not options.no_browser:
            webbrowser.open(url)

    with bound, suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        server.serve(server.application(models, [host, *options.name]), bound, ready)


def report(options: argparse.Namespace) -> None:
    from digitwise.pages.report import write

    bar = Bar()
    document: dict[str, Any] = write(options.runs or [Path("runs")], options.to, options.profile, bar)
    bar.close()
    show(options, document, None, "\n".join(document["files"]))


def redraw(options: argparse.Namespace) -> None:
    """`digitwise figure` with a folder of results."""
    from digitwise.paper import kept

    if options.to or options.curve or options.by:
        raise ValueError(f"{options.runs[0]} has several figures, each drawn where it stands: leave out the options")
    bar = Bar()
    drawn = [str(path) for path in kept.redraw(options.runs[0], progress=bar)]
    bar.close()
    show(options, {"figures": drawn}, None, "\n".join(drawn))
