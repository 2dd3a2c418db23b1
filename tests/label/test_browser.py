"""The labelling page in a real Chromium, as people use it.

python tests/label/test_browser.py docs/images      makes the pictures of the docs
"""

import json
import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "helpers"))

from browsing import browser, needs_chromium
from label_server import Client, serving
from labelling import digit, write_texts

KEYS = "1234567890"
NAMES = [str(k) for k in range(10)]


@pytest.fixture(autouse=True)
def _chromium():
    needs_chromium()


def start(page, server, name="ann"):
    """Open the page; the name is asked once."""
    page.goto(server.address)
    if page.locator("#who[open]").count() or page.locator("body[data-ready=yes]").count() == 0:
        page.wait_for_selector("#who[open], body[data-ready=yes]")
    if page.locator("#who[open]").count():
        page.fill("#who-name", name)
        page.keyboard.press("Enter")
    page.wait_for_selector("body[data-ready=yes]")
    assert "token" not in page.url


def shown(page):
    """The number of the digit that is shown."""
    return int(page.get_attribute("#item img", "src").split("/")[1])


def settled(page):
    """Wait until the server has answered, and images are there."""
    page.wait_for_timeout(100)
    page.wait_for_load_state("networkidle")
    page.evaluate("Promise.all([...document.images].map(image => image.decode().catch(() => 0)))")


def until(condition, seconds=30.0):
    """Wait for something that the page shows."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def count(page, name="labelled"):
    return int(page.inner_text(f"#n-{name}").replace(",", ""))


def press(page, key, name="labelled", by=1):
    """Press a key and wait for its effect."""
    before = count(page, name)
    page.keyboard.press(key)
    until(lambda: count(page, name) == before + by)


def label_digits(page, n):
    asked = []
    for _ in range(n):
        number = shown(page)
        asked.append(number)
        press(page, KEYS[int(digit(number))])
    return asked


def test_thirty_digits_by_keyboard(tmp_path):
    with serving(tmp_path, "--classes", ",".join(NAMES)) as server, browser() as page:
        start(page, server)
        assert "Every answer changes the next question." in page.inner_text("#lead")
        assert page.locator("#classes button").count() == 10
        asked = label_digits(page, 30)
        assert len(set(asked)) == 30
        assert "Saved" in page.inner_text("#saved")
        assert page.locator("#strip button").count() == 8
        assert page.locator("#because-items button").count() > 0

        press(page, "Backspace", by=-1)  # undo: the item is asked about again
        assert shown(page) == asked[-1]
        press(page, "Shift+Backspace")
        number = shown(page)
        page.keyboard.press("Space")  # later
        until(lambda: shown(page) != number)
        press(page, "x", "aside")
        assert count(page) == 30

        page.keyboard.press("n")
        page.keyboard.type("a note")
        page.keyboard.press("Enter")
        number = shown(page)
        press(page, KEYS[int(digit(number))])
        page.click("#strip li:first-child button")  # clickable, with its note
        assert shown(page) == number
        assert page.input_value("#note") == "a note"
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        assert page.locator("#help[open]").count() == 1
        page.keyboard.press("Escape")
        question, belief = shown(page), page.inner_text("#classes")
        numbers = {name: count(page, name) for name in ("labelled", "aside", "open")}

    with serving(tmp_path) as server, browser() as page:  # stopped in the middle, and started again
        start(page, server)
        assert shown(page) == question
        assert page.inner_text("#classes") == belief
        assert {name: count(page, name) for name in numbers} == numbers


def test_grid_find_all_review_and_export(tmp_path):
    with serving(tmp_path, "--classes", ",".join(NAMES)) as server, browser() as page:
        start(page, server)
        label_digits(page, 40)

        page.keyboard.press("g")
        page.wait_for_selector("#grid-items button")
        buttons = page.locator("#grid-items button")
        numbers = [int(buttons.nth(k).get_attribute("data-number")) for k in range(buttons.count())]
        wrong = [k for k, number in enumerate(numbers) if digit(number) != "0"]
        for k in wrong:
            buttons.nth(k).click()
        page.locator("main").focus()
        before = count(page)
        page.keyboard.press("Enter")
        until(lambda: count(page) == before + len(numbers) - len(wrong))
        press(page, "Backspace", by=len(wrong) - len(numbers))  # one action
        press(page, "Shift+Backspace", by=len(numbers) - len(wrong))
        page.click("#one-at-a-time")
        page.wait_for_selector("#one:not([hidden])")
        settled(page)

        page.click("#tab-find")
        settled(page)
        page.select_option("#find-class", "6")
        until(lambda: "found" in page.inner_text("#certificate"))
        settled(page)
        asked = label_digits(page, 12)
        assert sum(digit(number) == "6" for number in asked) >= 4

        page.keyboard.press("/")
        page.fill("#search-words", "digit-0777")
        page.keyboard.press("Enter")
        page.wait_for_selector("#search-items button")
        page.click("#search-feed")
        until(lambda: shown(page) == 776)

        page.click("#tab-review")
        page.wait_for_selector("#review-items button")
        page.select_option("#review-kind", "class:6")
        until(lambda: "6" in page.inner_text("#review-items li:first-child"))
        settled(page)
        for k in (0, 1):
            page.locator("#review-items button").nth(k).click()
        page.select_option("#review-to", "5")
        six = page.locator("#review-items button").count()
        page.click("#review-apply")
        until(lambda: page.locator("#review-items button").count() == six - 2)
        page.select_option("#manage-class", "9")
        page.fill("#manage-name", "<b>nine</b>")
        page.click("#manage button[value=rename]")
        until(lambda: "<b>nine</b>" in page.inner_text("#counts"))  # as text
        page.fill("#manage-name", "8")
        page.select_option("#manage-class", "7")
        page.click("#manage button[value=merge]")
        until(lambda: page.locator("#counts li").count() == 9)

        page.click("#tab-explore")
        page.wait_for_selector("#legend li", timeout=120_000)  # first use compiles
        page.click("#map", position={"x": 300, "y": 250})
        page.wait_for_selector("#map-item img")

        page.click("#tab-export")
        with page.expect_download() as waiting:
            page.click("a[href='export/labels.jsonl']")
        rows = [json.loads(line) for line in Path(waiting.value.path()).read_text().splitlines()]
        assert len(rows) == count(page)
        assert "<b>nine</b>" in {row["label"] for row in rows}
        assert "7" not in {row["label"] for row in rows}


def test_a_tab_opened_while_the_last_one_loads_is_not_lost(tmp_path):
    with serving(tmp_path, "--classes", ",".join(NAMES)) as server, browser() as page:
        start(page, server)
        label_digits(page, 12)
        page.evaluate(
            """() => {
                const real = window.fetch;
                window.fetch = async (address, options) => {
                    if (String(address).endsWith("review")) await new Promise((wake) => setTimeout(wake, 1500));
                    return real(address, options);
                };
            }"""
        )
        page.click("#tab-review")
        page.click("#tab-explore")
        page.wait_for_selector("#legend li", timeout=120_000)  # first use compiles
        assert page.is_visible("#view-explore")


def test_texts_with_markup_and_the_keyboard_alone(tmp_path):
    labels = write_texts(tmp_path / "t.csv", 200)
    with open(tmp_path / "t.csv", "a") as file:
        file.write('200,"<script>document.title=1</script> <img src=x onerror=alert(1)> refund"\n')
    guide = tmp_path / "guide.md"
    guide.write_text("# What counts\n- a *refund* is money back\n<b>bold?</b>\n")
    words = (tmp_path / "t.csv", "--text", "body", "--guidelines", guide, "--annotator", "ann")
    with serving(tmp_path, *words) as server, browser() as page:
        start(page, server)
        assert page.locator("#who[open]").count() == 0
        assert page.inner_text("#guidelines h3") == "What counts"
        assert "<b>bold?</b>" in page.inner_text("#guidelines")
        for name in ("refund", "delivery", "praise"):  # classes as they are met
            page.locator("#new-class-name").focus()
            page.keyboard.type(name)
            page.keyboard.press("Enter")
            until(lambda name=name: name in page.inner_text("#classes"))
        for _ in range(12):
            row = int(page.inner_text("#item-name").removeprefix("row ")) - 1
            label = labels[row] if row < 200 else "refund"
            press(page, KEYS[("refund", "delivery", "praise").index(label)])
        page.keyboard.press("/")
        page.keyboard.type("<script>")
        page.keyboard.press("Enter")
        page.wait_for_selector("#search-items button")
        assert "<script>" in page.inner_text("#search-items")
        page.keyboard.press("Escape")
        page.locator("#tab-label").focus()
        page.keyboard.press("ArrowRight")
        settled(page)
        assert page.get_attribute("#tab-find", "aria-selected") == "true"
        page.locator("#open-help").focus()  # single keys can be switched off
        page.keyboard.press("Enter")
        page.locator("#keys-on").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Escape")
        page.locator("main").focus()
        before = count(page)
        page.keyboard.press("1")
        page.wait_for_timeout(300)
        assert count(page) == before
        assert page.title().startswith("t.csv")


def test_more_than_ten_classes_by_their_first_letters(tmp_path):
    names = [
        f"{word}{k}"
        for k, word in enumerate(
            ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite", "lynx"]
        )
    ]
    with serving(tmp_path, "--classes", ",".join(names)) as server, browser() as page:
        start(page, server)
        page.locator("main").focus()
        page.keyboard.press("l")
        page.keyboard.press("y")
        assert page.locator("#classes button.match").count() == 1
        press(page, "Enter")
        assert "lynx11" in page.inner_text("#strip")


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A server with some answers, for tests that only look at its pages."""
    needs_chromium()
    with serving(tmp_path_factory.mktemp("answered"), "--classes", ",".join(NAMES)) as server:
        client = Client(server)
        reply = client.call("question")
        for _ in range(12):
            number = reply["question"]["item"]["number"]
            reply = client.change("answer", item=number, kind="label", label=digit(number))
        yield server


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_no_sideways_scrolling(answered, scheme):
    size = {"width": 360, "height": 740}
    with browser(viewport=size, color_scheme=scheme) as page:
        start(page, answered)
        label_digits(page, 3)
        for tab in ("label", "find", "review", "explore", "export"):
            page.click(f"#tab-{tab}")
            settled(page)
            wide = page.evaluate("document.scrollingElement.scrollWidth")
            assert wide <= 360, tab


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(answered, scheme):
    path = os.environ.get("ONLINESVM_AXE")
    if not path:
        pytest.skip("ONLINESVM_AXE names no axe.min.js (npm pack axe-core)")
    script = Path(path).read_text(encoding="utf-8")
    found = []
    with browser(color_scheme=scheme, bypass_csp=True) as page:
        start(page, answered)
        label_digits(page, 3)
        page.evaluate(script)
        for view in ("label", "grid", "find", "review", "explore", "export", "help", "search"):
            if view == "grid":
                page.click("#as-grid")
            elif view in ("help", "search"):
                page.click(f"#open-{view}")
            else:
                page.click(f"#tab-{view}")
            settled(page)
            result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            found += [
                (view, v["id"], [n["target"] for n in v["nodes"]][:3])
                for v in result["violations"]
                if v["impact"] in ("serious", "critical")
            ]
            if view == "grid":
                page.click("#one-at-a-time")
            if view in ("help", "search"):
                page.keyboard.press("Escape")
    assert not found


# -- pictures of the docs --------------------------------------------------------------------


def pictures(folder):
    """The page, the grid, a phone and the dark map, as small PNG files."""
    import tempfile

    opened = browser(viewport={"width": 1120, "height": 800})
    place = tempfile.mkdtemp()
    with serving(place, "--classes", ",".join(NAMES)) as server, opened as page:
        take_pictures(page, server, folder)


def take_pictures(page, server, folder):
    start(page, server)
    page.locator("main").focus()
    label_digits(page, 120)
    settled(page)
    page.screenshot(path=folder / "label-page.png")
    page.keyboard.press("g")
    page.wait_for_selector("#grid-items button")
    settled(page)
    page.screenshot(path=folder / "label-grid.png")
    page.click("#one-at-a-time")
    page.click("#tab-review")
    page.wait_for_selector("#review-items button")
    settled(page)
    page.screenshot(path=folder / "label-review.png")
    page.emulate_media(color_scheme="dark")
    page.click("#tab-explore")
    page.wait_for_selector("#legend li", timeout=120_000)
    page.click("#map", position={"x": 320, "y": 250})
    page.wait_for_selector("#map-item img")
    settled(page)
    page.screenshot(path=folder / "label-explore-dark.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 360, "height": 740})
    page.click("#tab-find")
    settled(page)
    page.screenshot(path=folder / "label-phone.png")


if __name__ == "__main__":
    pictures(Path(sys.argv[1]))
