"""Large plans: seconds and bytes against the budgets, measured and printed. The bounds are the goals times what a
loaded machine costs (SBP_VIEWER_SLACK, 4): a quadratic pass fails by far more. Cases that measure seconds are slow ones;
by default is looked at what no machine changes."""
import json

from browser import fragment
from expect import SLACK, expect, expect_quiet


def within(what, seen, goal, unit, slack=SLACK):
    print(f"  {what}: {seen:.3g} {unit} (goal {goal:g} {unit})", flush=True)
    expect(seen <= goal * slack, f"{what}: {seen:.3g} {unit}, the goal is {goal:g} {unit}, allowed {slack:g} times that")


def opens(browser, inputs, name, seconds, megabytes):
    path = inputs.page(name)
    within(f"{name}: file", path.stat().st_size / 1e6, megabytes, "MB", 1)
    page = browser.open(path, timeout=300)
    page.settle()
    within(f"{name}: open", page.seconds_to_open, seconds, "s")
    return page


PANELS = "[...document.querySelectorAll('[role=tab]')].map((b) => b.dataset.panel)"
MOST_ELEMENTS = 20_000
WAIT_FOR_ADDRESS = """new Promise((done) => {
  addEventListener("hashchange", () => done(), {once: true});
  location.hash = %s;
})"""
KEY = "document.querySelector('.graph-canvas').dispatchEvent(new KeyboardEvent('keydown', {key: %s, bubbles: true}))"
SET = """(() => { const control = document.querySelector(%s); control.value = %s; control.dispatchEvent(new Event(%s)); })()"""


def open_panel(page, panel):
    return page.timed(f"document.querySelector('[role=tab][data-panel={panel}]').click()")


def select(page, kind, name):
    return page.timed(WAIT_FOR_ADDRESS % json.dumps(fragment(kind, name)))


def press(page, key):
    return page.timed(KEY % json.dumps(key))


def shows_large_plans(browser, inputs):
    """Every panel of ten thousand ops, opened: elements do not grow with ops, and the file is small."""
    for name in ("ops10000", "step10000"):
        path = inputs.page(name)
        within(f"{name}: file", path.stat().st_size / 1e6, 15, "MB", 1)
        page = browser.open(path)
        for panel in page.evaluate(PANELS):
            open_panel(page, panel)
        plan = inputs.read(name)
        expect(len(plan["graph"]["ops"]) >= 10_000, f"{name}: {len(plan['graph']['ops'])} ops")
        expect(name == "ops10000" or len(plan.get("transitions", [])) > 2000, f"{name}: few transitions")
        select(page, "op", plan["graph"]["ops"][5000]["name"])
        expect(page.count("*") < MOST_ELEMENTS, "elements grow with ops")
        expect_quiet(page)
        page.close()


def expands(page):
    """Seconds to open each of the first groups that the arrow keys come to, closed before."""
    page.evaluate("document.querySelector('.graph-canvas').focus()")
    took = []
    for _ in range(12):
        press(page, "ArrowDown")
        if "group of" not in page.evaluate("document.querySelector('.graph-view .said').textContent"):
            continue
        press(page, "Enter")
        took.append(press(page, "Enter"))
    expect(took, "no group is opened")
    return took


def searches(page):
    """Seconds for each letter of a word, from the first on, and for another word."""
    letters = [page.timed(SET % ("'.search input'", json.dumps("attention"[:end]), "'input'")) for end in range(1, 10)]
    expect(page.count(".search li[role=option]") > 3, "nothing is found")
    return [*letters, page.timed(SET % ("'.search input'", "'s(0) b'", "'input'"))]


def overlays(page):
    rows = page.evaluate("[...document.querySelectorAll('.tools select option')].map((o) => o.value)")
    expect(len(rows) > 6, f"{len(rows)} overlays")
    return [page.timed(SET % ("'.tools select'", json.dumps(row), "'change'")) for row in rows]


def answers(page, inputs, name):
    """What is to be done in 100 ms."""
    page.settle()
    within(f"{name}: overlay", max(overlays(page)), 0.1, "s")
    within(f"{name}: expand", max(expands(page)), 0.1, "s")
    within(f"{name}: search", max(searches(page)), 0.1, "s")
    for panel in page.evaluate(PANELS):
        within(f"{name}: panel {panel}", open_panel(page, panel), 0.5, "s")
    ops = inputs.read(name)["graph"]["ops"]
    middle = len(ops) // 2
    select(page, "op", ops[middle]["name"])  # the first opens the groups around it, and the panel
    took = [select(page, "op", ops[middle + next]["name"]) for next in (1, 2, 3)]
    within(f"{name}: select an op", min(took), 0.1, "s")
    open_panel(page, "schedule")
    key = "document.querySelector('.schedule canvas').dispatchEvent(new KeyboardEvent('keydown', {key: %s}))"
    within(f"{name}: keys of the schedule", max(page.timed(key % json.dumps(one)) for one in ("+", "ArrowRight", "-", "0")), 0.1, "s")


def ten_thousand(browser, inputs):
    """First paint, then what is to answer in 100 ms: of a graph, and of a training step with collectives in each layer."""
    for name in ("ops10000", "step10000"):
        page = opens(browser, inputs, name, 2, 15)
        answers(page, inputs, name)
        expect_quiet(page)
        page.close()


def many_micro_batches(browser, inputs):
    page = opens(browser, inputs, "accumulated256", 2, 15)
    answers(page, inputs, "accumulated256")
    expect_quiet(page)
    page.close()


def many_devices(browser, inputs):
    """A tensor on 2,048 devices, split over all, over some, over none."""
    page = opens(browser, inputs, "devices2048", 2, 15)
    for tensor in ("x", "h", "w1", "y"):
        within(f"devices2048: select {tensor}", select(page, "tensor", tensor), 0.1, "s")
    expect_quiet(page)
    page.close()


def fifty_thousand(browser, inputs):
    for name in ("ops50000", "step50000"):
        page = opens(browser, inputs, name, 3, 15)
        within(f"{name}: heap", page.heap_bytes() / 1e6, 1000, "MB", 1)
        within(f"{name}: tab", browser.tab_bytes() / 1e6, 1000, "MB", 1)
        expect(page.count("*") < MOST_ELEMENTS, "elements grow with ops")
        expect_quiet(page)
        page.close()


def two_hundred_thousand(browser, inputs):
    page = opens(browser, inputs, "ops200000", 15, 60)
    within("ops200000: heap", page.heap_bytes() / 1e6, 3000, "MB", 1)
    expect(page.count("*") < MOST_ELEMENTS, "elements grow with ops")
    expect_quiet(page)
    page.close()


CASES = [shows_large_plans]
SLOW_CASES = [ten_thousand, many_micro_batches, many_devices, fifty_thousand, two_hundred_thousand]
