"""The local page in a real browser: what people do with it, on a screen, on a phone and in the dark."""

import os
import re
from collections.abc import Iterator
from importlib import import_module

import pytest
from needed import needs
from serving import SCREENSHOTS, need_browser, served

needs("playwright")
playwright = import_module("playwright.sync_api")
expect = playwright.expect
expect.set_options(timeout=30_000)  # a busy machine is not a fault of the page


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    need_browser()
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as tools:
        found = tools.chromium.launch(executable_path=need_browser(), args=arguments)
        yield found
        found.close()


@pytest.fixture
def page(browser, url, request):
    """A page of a fresh visitor. Nothing may fail on it, nothing may be asked of another machine."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **getattr(request, "param", {}))
    page, faults, asked = context.new_page(), [], []
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda asked_for: faults.append(f"{asked_for.url} {asked_for.failure}"))
    page.on("response", lambda answer: faults.append(f"{answer.url} {answer.status}") if answer.status >= 500 else None)
    page.on("request", lambda asked_for: asked.append(asked_for.url))
    yield page
    context.close()
    assert faults == []
    assert asked and all(address.startswith((url, "data:")) for address in asked)


def panel(page, model):
    return page.locator(f'[data-model="{model}"]')


def visit(page, url, problem, model, beside=""):
    page.goto(f"{url}#problem={problem.replace('+', '%2B')}&model={model}&beside={beside}")
    expect(panel(page, model).locator(".verdict")).to_be_visible()


def digits(page, model) -> str:
    """The answer as it stands in the columns."""
    return "".join(panel(page, model).locator(".answer td").all_inner_texts()).strip()


def test_a_typed_sum_is_answered_right(page, url):
    visit(page, url, "1 + 2", "addition")
    page.get_by_label("Problem", exact=True).fill("123456789 + 987654321")
    page.keyboard.press("Enter")
    expect(panel(page, "addition").locator(".verdict.right")).to_have_text("1111111110 is right")
    assert digits(page, "addition") == "1111111110"
    expect(panel(page, "addition").locator(".badge")).to_have_text("proven")
    assert "problem=123456789" in page.url and "model=addition" in page.url
    page.screenshot(path=SCREENSHOTS / "sum.png", full_page=True)


def test_a_link_leads_back_to_what_was_seen(page, url, browser):
    visit(page, url, "999 + 1", "addition")
    panel(page, "addition").locator(".step").fill("2")
    expect(panel(page, "addition").locator(".round")).to_have_text("2 of 4")
    other = browser.new_page()
    other.goto(page.url)
    expect(panel(other, "addition").locator(".round")).to_have_text("2 of 4")
    assert other.get_by_label("Problem", exact=True).input_value() == "999 + 1"
    other.close()


@pytest.mark.parametrize(
    ("button", "pattern"),
    [("Cascade", r"\d{9} \+ \d{9}"), ("Nines, no carry", r"\d{9} \+ \d{9}"), ("99…9 + 1", r"999999999 \+ 1"),
     ("Random", r"\d{9} \+ \d{9}")],
)  # fmt: skip
def test_problems_are_drawn(page, url, button, pattern):
    visit(page, url, "1 + 2", "addition")
    page.get_by_label("of", exact=False).and_(page.locator("#digits")).fill("9")
    page.get_by_role("button", name=button).click()
    expect(page.locator("#problem")).to_have_value(re.compile(f"^{pattern}$"))
    expect(panel(page, "addition").locator(".verdict.right")).to_be_visible()
    first, second = map(int, page.locator("#problem").input_value().split(" + "))
    expect(panel(page, "addition").locator(".verdict")).to_have_text(f"{first + second} is right")
    columns = [int(a) + int(b) for a, b in zip(str(first), str(second).zfill(9), strict=True)]
    if button == "Cascade":
        assert columns[-1] > 9 and columns[:-1] == [9] * 8
    if button.startswith("Nines"):
        assert columns == [9] * 9
    expect(page.locator("#counts table")).to_contain_text("1 of 1")  # what is drawn is counted


def test_the_carry_is_played(page, url):
    visit(page, url, "99999 + 1", "addition")
    box = panel(page, "addition")
    box.locator(".step").fill("0")
    expect(box.locator("td.later")).to_have_count(12)  # six messages, six digits
    expect(box.locator(".said")).to_have_text("Nobody has spoken yet.")
    box.get_by_role("button", name="Play").click()
    expect(box.locator(".round")).to_have_text("3 of 6")
    assert box.locator("td.later").count() <= 6
    expect(box.locator(".said")).to_contain_text("A cell sees nothing and 9, hears #")
    assert all(len(text) < 8 for text in box.locator(".heard td").all_inner_texts())  # messages stay in their cells
    expect(box.locator("g.lit path")).not_to_have_count(0)  # the transition in the machine
    page.screenshot(path=SCREENSHOTS / "carry.png", full_page=True)
    expect(box.locator(".round")).to_have_text("6 of 6")
    expect(box.locator("td.later")).to_have_count(0)
    assert box.locator(".heard td").all_inner_texts()[0].startswith("1")  # the carry that came to the top


def test_products_go_row_by_row(page, url):
    visit(page, url, "123 * 45678", "product")
    box = panel(page, "product")
    expect(box.locator(".verdict.right")).to_have_text("5618394 is right")
    expect(box.locator("tr.heard")).to_have_count(3)
    box.locator(".step").fill("7")
    assert box.locator("tr.heard").nth(0).locator("td.later").count() == 0
    assert box.locator("tr.heard").nth(1).locator("td.later").count() == 7
    page.screenshot(path=SCREENSHOTS / "product.png", full_page=True)
    box.get_by_label("cell by cell").check()
    box.locator(".step").fill("10")
    page.reload()
    expect(box.get_by_label("cell by cell")).to_be_checked()
    expect(box.locator(".step")).to_have_value("10")


@pytest.mark.parametrize(
    ("problem", "model", "answer"),
    [("17 - 400", "difference", "-383"), ("3 ? 12", "difference", "<"), ("1000 / 7", "division", "142 remainder 6"),
     ("9 + 99 + 999", "summands", "1107")],
)  # fmt: skip
def test_other_problems(page, url, problem, model, answer):
    visit(page, url, problem, model)
    expect(panel(page, model).locator(".verdict")).to_have_text(f"{answer} is right")
    assert digits(page, model) == answer.replace(" remainder ", "")


def test_two_models_side_by_side_and_wrong_digits_are_marked(page, url):
    visit(page, url, "98765432 + 12345679", "addition", "absolute")
    expect(panel(page, "addition").locator(".verdict")).to_have_text("111111111 is right")
    wrong = panel(page, "absolute")
    expect(wrong.locator(".verdict.wrong")).to_contain_text("the exact answer is 111111111")
    marked = wrong.locator("td.wrong")
    assert marked.count() >= 1 and "wrong: the exact symbol is" in marked.first.get_attribute("title")
    assert panel(page, "addition").locator("td.wrong").count() == 0
    left, right = (panel(page, name).bounding_box() for name in ("addition", "absolute"))
    assert left["y"] == right["y"] and left["x"] < right["x"]
    expect(wrong.locator(".leak svg")).to_be_visible()
    page.screenshot(path=SCREENSHOTS / "side-by-side.png", full_page=True)


@pytest.mark.parametrize("model", ["absolute", "relative"])
def test_attention_is_drawn_from_a_chosen_digit(page, url, model):
    visit(page, url, "1234 + 5678", model)
    box = panel(page, model)
    expect(box.locator(".arcs path")).not_to_have_count(0)
    first = box.locator(".arcs").inner_html()
    box.locator(".answer button").last.click()  # the ones
    expect(box.locator(".looking")).to_contain_text("From the answer's place 0")
    assert box.locator(".arcs").inner_html() != first and "digit=0" in page.url
    box.get_by_label("layer").select_option("1")
    expect(box.locator(".arcs path")).not_to_have_count(0)
    box.get_by_text("Positional vectors").click()
    expect(box.locator("canvas").first).to_be_visible()
    assert all(picture.bounding_box()["height"] < 250 for picture in box.locator("canvas").all())
    expect(box.locator(".leak svg polyline")).not_to_have_count(0)
    page.screenshot(path=SCREENSHOTS / f"attention-{model}.png", full_page=True)


def test_accuracy_by_length_fills_in(page, url):
    visit(page, url, "12 + 34", "addition", "absolute")
    page.get_by_role("button", name="Start counting").click()
    expect(page.locator("#counts tr")).to_have_count(17)  # up to 100 digits
    page.get_by_role("button", name="Stop counting").click()
    expect(page.get_by_role("button", name="Start counting")).to_be_visible()
    rows = {row.split()[0]: row.split()[1:] for row in page.locator("#counts tr").all_inner_texts()[1:]}
    assert all(cells[0] == cells[2] for cells in rows.values())  # the proven model is right
    assert rows["10"][3] == "0"  # and the absolute one is not
    expect(page.locator("#counts svg polyline")).to_have_count(4)  # each with a sample in the legend
    page.screenshot(path=SCREENSHOTS / "counts.png", full_page=True)


@pytest.mark.parametrize("problem", ["12 + ", "9" * 2001 + " + 1", "1 / 0"])
def test_what_cannot_be_answered_is_said(browser, url, problem):
    page = browser.new_page()  # a refused request is an error in the console
    page.goto(url)
    page.get_by_label("Problem", exact=True).fill(problem)
    page.keyboard.press("Enter")
    expect(page.locator("#error")).not_to_be_empty()
    page.close()


LOOKS = [
    {"viewport": {"width": 390, "height": 844}}, {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
    {"color_scheme": "dark"},
]  # fmt: skip


@pytest.mark.parametrize("look", LOOKS, ids=["phone", "phone-dark", "dark"])
@pytest.mark.parametrize(
    ("problem", "model", "beside"),
    [("9" * 100 + " + 1", "addition", ""), ("98765432 + 12345679", "absolute", "relative"),
     ("12345 * 67891", "product", "")],
    ids=["long", "canvas", "product"],
)  # fmt: skip
def test_a_phone_and_the_dark(browser, url, look, problem, model, beside):
    context = browser.new_context(**look)
    page = context.new_page()
    visit(page, url, problem, model, beside)
    expect(panel(page, model).locator(".verdict")).to_be_visible()
    if model == "addition":  # while it is played, the cell whose turn it is can be seen
        panel(page, model).locator(".step").fill("2")
        left, right = page.evaluate("""() => ['td.now', '.wide'].map((name) =>
            document.querySelector(name).getBoundingClientRect().right)""")
        assert left <= right
    wide, window = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window, "the page scrolls sideways"
    paper, ink = page.evaluate(
        "() => ['backgroundColor', 'color'].map((name) => getComputedStyle(document.body)[name])"
    )
    dark = look.get("color_scheme") == "dark"
    assert (brightness(paper) < 0.2) == dark and contrast(paper, ink) >= 7
    soft, good, bad = (
        page.evaluate("name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()", name)
        for name in ("--soft", "--good", "--bad")
    )
    assert min(contrast(paper, colour) for colour in (soft, good, bad)) >= 4.5
    name = "-".join([model, "dark" if dark else "light", str(page.viewport_size["width"])])
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
    unsure = page.evaluate(SHADED)  # a digit of which the network is not sure at all
    assert contrast(unsure, ink) >= 4.5, f"{ink} on {unsure}"
    context.close()


#: The colour of an answer's cell with the least confidence, as it is painted over the paper.
SHADED = """() => {
    const cell = document.querySelector('.answer td[title]');
    cell.style.setProperty('--doubt', 1);
    const numbers = (element) => getComputedStyle(element).backgroundColor.match(/[\\d.]+/g).map(Number);
    const [r, g, b, share] = numbers(cell), paper = numbers(document.body);
    return 'rgb(' + [r, g, b].map((part, at) => Math.round(share * part + (1 - share) * paper[at])).join(', ') + ')';
}"""


def brightness(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    if colour.startswith("#"):
        parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    else:
        parts = [int(number) for number in re.findall(r"\d+", colour)[:3]]
    linear = [part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((brightness(one), brightness(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_control_has_a_name(page, url):
    visit(page, url, "1234 + 5678", "addition", "relative")
    unnamed = page.evaluate("""() => [...document.querySelectorAll('input, select, button, svg, canvas')]
        .filter((one) => !(one.labels?.length || one.getAttribute('aria-label') || one.textContent.trim()))
        .map((one) => one.outerHTML)""")
    assert unnamed == []
    assert page.locator("html").get_attribute("lang") == "en" and page.locator("h1").count() == 1


def test_a_bad_link_is_said_and_harms_nothing(page, url):
    visit(page, url, "12 + 34", "addition")
    page.goto(f"{url}#problem=56+%2B+7&model=nobody&beside=absolute&step=x&lowest=-1&layer=y&digit=z")
    expect(page.locator("#error")).to_contain_text("There is no model 'nobody' here")
    expect(panel(page, "addition").locator(".verdict")).to_have_text("63 is right")
    expect(panel(page, "addition").locator(".round")).to_have_text("2 of 2")
    expect(panel(page, "absolute").locator(".looking")).to_contain_text("From the answer's place 1")


def test_only_problems_that_there_are_are_offered(page, url):
    visit(page, url, "12 + 34", "addition")
    for operator, offered in {"+": 4, "-": 2, "/": 1}.items():
        page.get_by_label("with").select_option(operator)
        expect(page.locator("[data-how]:enabled")).to_have_count(offered)


def test_a_verdict_is_read_aloud_and_the_focus_stays(page, url):
    visit(page, url, "9" * 100 + " + 1", "addition")
    expect(page.get_by_role("status").first).to_contain_text("addition: 1000")
    slider = page.get_by_label("Columns from place")
    slider.focus()
    for place in ("1", "2"):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".row label").first).to_have_text(f"Columns from place {place}")
    expect(slider).to_be_focused()


def test_what_no_cell_hears_has_no_meaning(page, url):
    visit(page, url, "1000 / 7", "division")
    expect(panel(page, "division").locator(".said")).to_contain_text("which no cell hears")


def test_everything_can_be_done_from_the_keyboard(page, url):
    visit(page, url, "1 + 2", "addition", "absolute")
    page.locator("#problem").focus()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("() => document.activeElement.id || document.activeElement.textContent.trim()"))
    assert {"model", "beside", "digits", "operator", "Random", "Cascade", "Play", "step-addition", "count"} <= reached
