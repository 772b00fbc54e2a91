"""The server of the local page over real sockets: answers, refusals, limits, and many requests at once."""

import http.client
import json
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from urllib.parse import urlsplit

import pytest
from needed import needs
from serving import served

from digitwise.cli import main
from digitwise.pages import LIMITS

needs("starlette")
needs("uvicorn")


@pytest.fixture(scope="module")
def url():
    with served() as found:
        yield found


def ask(url, method, path, body=None, host=None, kind="application/json"):
    """Status and JSON of a request; a `host` other than the server's own takes its name."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    headers = ({"Content-Type": kind} if kind else {}) | ({"Host": host} if host else {})
    content = json.dumps(body) if isinstance(body, dict | list) else body
    connection.request(method, path, content, headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    is_json = response.getheader("Content-Type", "").startswith("application/json")
    return response.status, json.loads(text) if is_json else text


def solve(url, problem, model="addition", **more):
    return ask(url, "POST", "/api/solve", {"problem": problem, "model": model} | more)


def test_an_answer(url):
    status, found = solve(url, "987 + 14")
    assert status == 200 and found["answer"] == found["exact"] == "1001" and found["right"] and found["proven"]
    assert [cell["symbol"] for cell in found["written"]] == list("1001")
    assert [line["symbols"] for line in found["lines"]] == [list(" 987"), list("  14")]
    assert [one and one["means"] for one in found["rows"][0]["hears along"]] == ["1", "1", "1", None]


def test_only_part_of_a_long_problem_is_shown_and_any_part_can_be(url):
    problem = f"{'9' * 1000} + 1"
    _, lowest = solve(url, problem)
    _, highest = solve(url, problem, lowest=10**6)
    assert lowest["places"][-1] == 0 and highest["places"][0] == 1000 and lowest["answer"] == f"1{'0' * 1000}"
    assert highest["written"][0]["symbol"] == "1" and len(highest["rows"][0]["cells"]) == len(highest["places"])


def test_the_models_and_the_limits(url):
    status, found = ask(url, "GET", "/api/models")
    names = {model["name"]: model for model in found["models"]}
    assert status == 200 and found["limits"] == LIMITS
    assert {"addition", "product", "absolute", "relative"} <= set(names)
    assert names["addition"]["proven"] and not names["absolute"]["proven"]
    assert names["absolute"]["canvas"] and names["absolute"]["layers"] and not names["addition"]["layers"]


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("solve", {"problem": "12 +", "model": "addition"}, 400, "is not a problem"),
        ("solve", {"problem": "1 + 2"}, 400, "'model' must be a text"),
        ("solve", {"problem": 12, "model": "addition"}, 400, "'problem' must be a text"),
        ("solve", {"problem": "1 + 2", "model": "nobody"}, 404, "no model 'nobody'"),
        ("solve", {"problem": "1 * 2", "model": "addition"}, 400, "supports 2 summands"),
        ("solve", {"problem": "1 + 2", "model": "addition", "lowest": -1}, 400, "'lowest' must be a whole number"),
        ("solve", {"problem": f"{'9' * 2001} + 1", "model": "addition"}, 400, "takes up to 2,000"),
        ("solve", {"problem": f"{'9' * 51} * {'9' * 60}", "model": "product"}, 400, "takes up to 50"),
        ("solve", {"problem": " + ".join("1" * 51), "model": "summands"}, 400, "takes up to 50"),
        ("solve", "{", 400, "not JSON"),
        ("solve", "[" * 100_000, 400, "not JSON"),
        ("solve", [1], 400, "not a JSON object"),
        ("solve", "x" * 300_000, 413, "larger than"),
        ("attention", {"problem": "1 + 2", "model": "addition"}, 400, "does not look at a whole canvas"),
        ("attention", {"problem": "1 + 2", "model": "absolute", "layer": 99}, 400, "no layer 100"),
        ("draw", {"how": "cascade", "digits": 0}, 400, "from 1 to 2,000"),
        ("draw", {"how": "odd", "digits": 3}, 400, "no problem 'odd'"),
        ("tally", {"models": ["addition"], "count": 5000}, 400, "count must be from 1 to 50"),
        ("tally", {"models": []}, 400, "one or two"),
        ("nothing", {}, 404, "Not Found"),
    ],
)
def test_bad_requests_get_a_json_error(url, path, body, status, message):
    found_status, found = ask(url, "POST", f"/api/{path}", body)
    assert found_status == status and message in found["error"]


def test_other_methods_types_and_paths_get_a_json_error(url):
    assert ask(url, "GET", "/api/solve")[0] == 405
    assert ask(url, "POST", "/api/solve", {"problem": "1 + 2", "model": "addition"}, kind="text/plain")[0] == 415
    status, found = ask(url, "GET", "/../../etc/passwd")
    assert status == 404 and found["error"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_requests_to_another_name_are_refused(url, host):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.putrequest("GET", "/", skip_host=True)
    if host:
        connection.putheader("Host", host)
    connection.endheaders()
    response = connection.getresponse()
    assert response.status in (400, 421)  # without a name HTTP itself refuses
    assert response.status == 400 or "--name" in json.loads(response.read())["error"]
    connection.close()


def test_names_of_this_machine_are_answered(url):
    port = urlsplit(url).port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", "LOCALHOST", f"[::1]:{port}"):
        assert ask(url, "GET", "/", host=host)[0] == 200


def test_it_listens_to_this_machine_alone(url):
    assert urlsplit(url).hostname == "127.0.0.1"


def test_fifty_sums_of_a_thousand_digits_at_once_and_the_page_all_the_while(url):
    rng = random.Random(0)
    numbers = [(rng.randrange(10**999, 10**1000), rng.randrange(10**999, 10**1000)) for _ in range(50)]
    done, waits = threading.Event(), []

    def look():
        while not done.is_set():
            began = time.monotonic()
            assert ask(url, "GET", "/")[0] == 200
            waits.append(time.monotonic() - began)

    with ThreadPoolExecutor(51) as pool:
        looking = pool.submit(look)
        answers = list(pool.map(lambda pair: solve(url, f"{pair[0]} + {pair[1]}"), numbers))
        done.set()
        looking.result()
    assert all(status == 200 and found["right"] for status, found in answers)
    assert [int(found["answer"]) for _, found in answers] == [a + b for a, b in numbers]
    print(f"{len(waits)} requests for the page meanwhile, the slowest {max(waits):.3f} s")


def test_problems_drawn_and_counted(url):
    asked = {"how": "cascade", "operator": "+", "digits": 12, "seed": 7}
    first, again = (ask(url, "POST", "/api/draw", asked)[1]["problem"] for _ in range(2))
    other = ask(url, "POST", "/api/draw", asked | {"seed": 8})[1]["problem"]
    assert first == again != other
    status, found = ask(url, "POST", "/api/tally", {"models": ["addition", "absolute"], "digits": 10, "count": 20})
    assert status == 200 and found["right"]["addition"] == found["tried"] == 20 and found["right"]["absolute"] < 5
    _, beyond = ask(url, "POST", "/api/tally", {"models": ["absolute"], "digits": 100, "count": 2})
    assert beyond["right"]["absolute"] is None  # beyond its canvas


def test_attention_positions_and_leak(url):
    _, found = ask(url, "POST", "/api/attention", {"problem": "12 + 34", "model": "relative", "layer": 1, "head": 2})
    assert len(found["tokens"]) == len(found["weights"][0]) and len(found["slots"]) == len(found["symbols"])
    assert all(sum(row) == pytest.approx(1, abs=0.01) for row in found["weights"])
    _, leak = ask(url, "POST", "/api/leak", {"model": "absolute"})
    assert [row["digits"] for row in leak["rows"]][:3] == [1, 2, 3]
    assert leak["rows"][-1]["shares"] > leak["rows"][1]["shares"] and leak["rows"][0]["right"] > 0.9
    assert all(row["masked"] == row["right"] for row in leak["rows"] if row["digits"] <= leak["trained"])  # none is far
    for model, name in (("absolute", "added to the embeddings"), ("relative", "pairs, layer 1")):
        tables = ask(url, "POST", "/api/positions", {"model": model})[1]["tables"]
        assert name in tables and any(any(row) for row in tables[name])


def test_the_page_is_small():
    static = files("digitwise") / "pages" / "static"
    assert sum(len(path.read_bytes()) for path in static.iterdir()) < 150_000


def test_mistakes_on_the_command_line(capsys, tmp_path, url):
    assert main(["demo", str(tmp_path / "none"), "--port", "0"]) == 2
    assert "is not a run folder" in capsys.readouterr().err
    assert main(["demo", "--port", str(urlsplit(url).port)]) == 2
    assert "--port" in capsys.readouterr().err
