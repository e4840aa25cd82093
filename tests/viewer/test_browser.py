"""The page in a real browser: what a person does with it, and what hostile text cannot do."""

import re

import pytest
from mistaken_runs import make_run

from envtune_gym import load_tasks
from envtune_gym.viewer.building import build_page
from envtune_gym.viewer.opening import open_run
from envtune_gym.viewer.selecting import Conditions, select, view
from envtune_gym.viewer.strings import MAX_TEXT
from tests.viewer.runs import (
    FAILED,
    HOSTILE,
    HOSTILE_MESSAGES,
    OPEN,
    SOLVED,
    TASK,
    WITHHELD,
    answer,
    call,
    played,
    save,
    save_tasks,
)

FLAGS = (
    "--no-sandbox",  # Chromium's own needs rights that root in a container does not have
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

HIDDEN = "\u3164\u034f\U000e0101"


@pytest.fixture(scope="module")
def pages(tmp_path_factory, chromium):
    """Pages by name, made before the browser starts: its loop and that of the episodes do not mix."""
    directory = tmp_path_factory.mktemp("pages")
    tasks = str(save_tasks(directory / "tasks.jsonl"))
    long = call("create_ticket", title="Lamp", description="x" * (MAX_TEXT + 5000))
    runs = {
        "first": [played(TASK, SOLVED), played(WITHHELD, [OPEN, answer(), answer(), answer()])],
        "second": [played(TASK, FAILED, feedback="actionable")],
        "mixed": [played(TASK, SOLVED), played(TASK, FAILED, sample=1, feedback="error")],
        "wide": [
            played(TASK, [f"{HIDDEN} {'x' * 1097}\U0001f600{'y' * 1000}"]).model_copy(
                update={"broken": "", "category": "C" * 5000, "task_id": "I" * 5000, "domains": ["D" * 5000]}
            )
        ],
        "hostile": [played(TASK, [OPEN]).model_copy(update={"messages": HOSTILE_MESSAGES, "broken": ""})],
        "long": [played(TASK, [long, answer(), answer()])],
        "broken": [played(TASK, [OPEN]).model_copy(update={"broken": f"ServerError: {HOSTILE}"})],
    }
    files = {name: save(directory / f"{name}.jsonl", episodes) for name, episodes in runs.items()}
    many = list(make_run(load_tasks("generated", split="test")[:150], seed=1, skill=0.7))
    files["many"] = save(directory / "many.jsonl", many)

    def page(*names):
        opened = [open_run(files[name], None if name == "many" else tasks) for name in names]
        conditions = Conditions()
        path = directory / f"{'-'.join(names)}.html"
        path.write_text(build_page(view(opened, select(opened, conditions), conditions)), encoding="utf-8")
        return path

    return {"-".join(names): page(*names) for names in (*((name,) for name in files), ("first", "second"))}


@pytest.fixture(scope="module")
def browser(pages, chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(pages, browser):
    """Open a page by name; afterwards make sure that nothing happened that must not."""
    happened = []
    contexts = []

    def visit(name, place="", **options):
        context = browser.new_context(**{"viewport": {"width": 1300, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        address = pages[name].as_uri()
        page.on("dialog", lambda dialog: (happened.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: happened.append(str(error)))
        page.on("console", lambda message: happened.append(message.text))
        page.on("request", lambda request: request.url.startswith(address) or happened.append(request.url))
        page.goto(address + place)
        page.wait_for_selector("html[data-ready]")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert happened == []


def expect(locator):
    from playwright.sync_api import expect

    return expect(locator)


def options(page):
    return page.get_by_role("listbox", name="Episodes").get_by_role("option")


def count(page):
    return page.get_by_role("status").inner_text()


def test_the_overview_has_headlines_charts_and_settings(visit):
    page = visit("many")
    assert page.get_by_role("region", name="Accuracy, mean of categories").inner_text().count("95% interval") == 1
    captions = page.locator("caption").all_inner_texts()
    assert captions[:4] == [
        "Accuracy by category",
        "Progress by category",
        "Failures by class",
        "Accuracy by number of user turns",
    ]
    assert "actionable" in page.locator(".settings").inner_text()


@pytest.mark.parametrize("place", ["", "#episode-0"])
def test_one_panel_is_shown_at_a_time(visit, place):
    page = visit("many", place)
    shown = page.locator('[role="tabpanel"]').evaluate_all("panels => panels.map(one => one.offsetHeight > 0)")
    assert shown == [not place, bool(place)]
    assert page.evaluate("document.documentElement.scrollHeight") <= 800


def test_a_figure_leads_to_its_episodes(visit):
    page = visit("many")
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="gave up"))
    number = row.locator("b").inner_text()
    row.get_by_role("button").click()
    assert count(page) == f"{number} of 150 episodes"
    assert page.get_by_label("Failure class").input_value() == "gave_up"


def test_a_long_list_holds_few_rows_at_a_time(visit):
    page = visit("many", "#episode-0")
    assert count(page) == "150 episodes"
    assert options(page).count() < 50
    assert options(page).first.get_attribute("aria-setsize") == "150"
    page.locator("#list").evaluate("(list) => { list.scrollTop = list.scrollHeight; }")
    page.wait_for_selector("#row-149")


def test_episodes_are_filtered_by_what_they_are(visit):
    page = visit("many", "#episode-0")
    page.get_by_label("Outcome").select_option("solved")
    solved = int(count(page).split()[0])
    page.get_by_label("Outcome").select_option("failed")
    failed = int(count(page).split()[0])
    assert solved + failed == 150
    page.get_by_label("Category").select_option("miss_func")
    page.get_by_label("Domain").select_option("TravelAPI")
    narrowed = int(count(page).split()[0])
    assert 0 < narrowed < failed
    assert re.search("miss_func .* Travel", options(page).first.inner_text())
    page.get_by_role("button", name="Clear filters").click()
    assert count(page) == "150 episodes"


def test_episodes_are_found_by_any_text_in_them(visit):
    page = visit("first", "#episode-0")
    search = page.get_by_role("searchbox")
    search.fill("MORE TOOLS ARE HERE")
    expect(page.get_by_role("status")).to_have_text("1 of 2 episodes")
    assert "withheld" in options(page).inner_text()
    search.fill("nowhere to be found")
    page.wait_for_selector("text=No episode fits these filters.")
    assert options(page).count() == 0


def test_an_episode_shows_calls_results_hints_verdicts_and_differences(visit):
    page = visit("second", "#episode-0")
    article = page.get_by_role("article")
    text = article.inner_text()
    assert "create_ticket(title='Lump', description='Broken.')" in text
    assert "Ticket with ID 99 not found." in article.locator(".said.tool.failed").inner_text()
    assert "Hint (augmented)" in article.get_by_role("note").inner_text()
    assert "multi_turn:instance_state_mismatch" in text
    assert article.locator(".badge").all_inner_texts() == ["✗ not passed", "✗ not passed"]
    row = article.get_by_role("row").filter(has_text="title").first
    assert row.inner_text().split() == ["different", "TicketAPI.ticket_queue[0].title", '"Lamp"', '"Lump"']
    assert "0 of 2 turns" in text


def test_the_message_as_it_was_written_can_be_seen(visit):
    page = visit("first", "#episode-0")
    assert "<tool_call>" not in page.get_by_role("article").inner_text()
    switch = page.get_by_role("button", name="as written").first
    switch.click()
    assert OPEN in page.get_by_role("article").inner_text()
    switch.click()
    assert "<tool_call>" not in page.get_by_role("article").inner_text()


def test_what_is_long_is_folded_and_what_is_left_out_is_said(visit):
    page = visit("long", "#episode-0")
    call = page.locator(".said .call").first
    assert len(call.inner_text()) < 1300
    call.get_by_role("button", name="more characters").click()
    assert len(call.inner_text()) > MAX_TEXT
    assert "characters are not in this file" in call.inner_text()


def test_all_of_it_works_with_the_keyboard(visit):
    page = visit("many")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Episodes").get_attribute("aria-selected") == "true"
    page.keyboard.press("/")
    page.keyboard.type("gen-")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "list"
    for key, row in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 149), ("Home", 0)):
        page.keyboard.press(key)
        expect(page.locator("#list")).to_have_attribute("aria-activedescendant", f"row-{row}")
    name = page.locator("#row-0 .name").inner_text()
    assert page.get_by_role("heading", level=2).inner_text() == name
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "detail"
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "list"


def test_a_search_outlives_escape_and_the_place_stands_in_the_address(visit):
    page = visit("first", "#episode-1")
    page.get_by_role("tab", name="Overview").click()
    page.get_by_role("tab", name="Episodes").click()
    assert page.evaluate("location.hash") == "#episode-1"
    search = page.get_by_role("searchbox")
    search.fill("more tools")
    expect(page.get_by_role("status")).to_have_text("1 of 2 episodes")
    search.press("Escape")
    assert search.input_value() == "more tools"
    assert count(page) == "1 of 2 episodes"
    page.get_by_role("button", name="Clear filters").press("Enter")
    assert search.input_value() == ""
    assert page.evaluate("document.activeElement.id") == "list"


def test_episodes_are_filtered_by_what_they_were_played_under(visit):
    page = visit("mixed", "#episode-0")
    page.get_by_label("Played under").select_option("feedback error")
    assert count(page) == "1 of 2 episodes"
    assert "Played under feedback error" in page.get_by_role("article").inner_text()


def test_what_cannot_be_seen_is_written_out_and_no_character_is_cut_in_two(visit):
    page = visit("wide", "#episode-0")
    text = page.get_by_role("article").inner_text()
    assert "\\u3164\\u034f\\U000e0101" in text
    assert "\\ud83d" not in text


@pytest.mark.parametrize("width", [1300, 320])
def test_names_without_end_do_not_widen_the_page(visit, width):
    page = visit("wide", viewport={"width": width, "height": 800})
    assert page.evaluate(TOO_WIDE) == []
    page.get_by_role("tab", name="Episodes").click()
    assert page.evaluate(TOO_WIDE) == []


def test_two_runs_stand_side_by_side_flips_first(visit):
    page = visit("first-second")
    assert page.get_by_role("button", name="1 solved by A only").is_visible()
    assert "McNemar" in page.get_by_role("main").inner_text()
    page.get_by_role("button", name="1 solved by A only").click()
    assert count(page) == "1 of 2 episodes"
    page.get_by_role("button", name="Clear filters").click()
    assert "solved by A only" in options(page).nth(0).inner_text()
    assert "played by A only" in options(page).nth(1).inner_text()
    sides = page.locator(".side-by-side > section")
    assert "✓ solved" in sides.nth(0).inner_text()
    assert "✗ failed" in sides.nth(1).inner_text()
    options(page).nth(1).click()
    assert "Not played in this run." in sides.nth(1).inner_text()


@pytest.mark.parametrize("name", ["hostile", "broken"])
def test_hostile_text_is_shown_and_does_nothing(visit, name):
    """That no dialog, request or error came is checked by the fixture."""
    page = visit(name, "#episode-0")
    text = page.get_by_role("main").inner_text()
    assert "<script>alert(1)</script></script><img src=x onerror=alert(2)><!-- --><svg onload=alert(3)>" in text
    assert "&lt;b&gt; ]]> \\x1b[2J\\x00\\x07 \\u202eevil\\u2066" in text
    assert page.locator("main img, main script, main svg").count() == 0
    assert not re.search("[\\x00-\\x08\\x0b-\\x1f\\u202a-\\u202e\\u2066-\\u2069]", text)


def test_the_policy_stops_what_would_act(pages, browser):
    page = browser.new_page()
    page.goto(pages["first"].as_uri())
    violations = page.evaluate(
        """async () => {
          const found = [];
          document.addEventListener('securitypolicyviolation', (event) => found.push(event.effectiveDirective));
          const image = document.createElement('img');
          image.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=';
          const script = document.createElement('script');
          script.append('document.title = "acted"');
          document.body.append(image);
          try { document.body.append(script); } catch {}
          try { document.body.innerHTML = '<b>markup</b>'; } catch { found.push('markup'); }
          await new Promise((resolve) => setTimeout(resolve, 100));
          return found;
        }"""
    )
    assert {"img-src", "markup"} <= set(violations)
    assert page.title() == "first.jsonl"
    page.close()


@pytest.mark.parametrize("width", [1300, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", ["#overview", "#episode-0"])
@pytest.mark.parametrize("name", ["second", "first-second"])
def test_text_can_be_read_in_both_schemes_and_on_small_screens(visit, name, place, scheme, width):
    page = visit(name, place, color_scheme=scheme, viewport={"width": width, "height": 800})
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate(CONTRAST) >= 4.5


TOO_WIDE = """() => [...document.querySelectorAll('html, #panel-overview, #panel-episodes, #detail')]
  .filter((element) => element.scrollWidth > element.clientWidth).map((element) => element.id || element.tagName)"""


CONTRAST = """() => {
  const light = (color) => {
    const linear = (part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.match(/[\\d.]+/g).map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$/.test(color)) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const contrast = (element) => {
    if (getComputedStyle(element).opacity !== '1') return 0;  // what shines through is not reckoned with here
    const [one, other] = [getComputedStyle(element).color, behind(element)].map(light).sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  };
  const texts = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility()
    && [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim()));
  return Math.min(...texts.map(contrast));
}"""
