"""Large plans: seconds and bytes against the budgets, measured and printed. The bounds are the goals times what a
loaded machine costs (SBP_VIEWER_SLACK, 4): a quadratic pass fails by far more."""
import os

from expect import expect, expect_quiet

SLACK = float(os.environ.get("SBP_VIEWER_SLACK", 4))


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


def ten_thousand(browser, inputs):
    """First paint, then what is to answer in 100 ms."""
    page = opens(browser, inputs, "ops10000", 2, 15)
    for panel in page.evaluate("[...document.querySelectorAll('[role=tab]')].map((b) => b.dataset.panel)"):
        took = page.timed(lambda panel=panel: page.click(f"[role=tab][data-panel={panel}]"))
        within(f"ops10000: panel {panel}", took, 0.5, "s")
    ops = inputs.read("ops10000")["graph"]["ops"]
    select = lambda place: page.evaluate(f"location.hash = '#op=' + encodeURIComponent({ops[place]['name']!r})")  # noqa: E731
    page.timed(lambda: select(5000))  # the first opens the groups around it, and the panel
    within("ops10000: select an op", min(page.timed(lambda place=place: select(place)) for place in (5001, 5002, 5003)), 0.1, "s")
    expect_quiet(page)
    page.close()


def fifty_thousand(browser, inputs):
    page = opens(browser, inputs, "ops50000", 3, 15)
    within("ops50000: heap", page.heap_bytes() / 1e6, 1000, "MB", 1)
    expect(page.count("*") < 20_000, "elements grow with ops")
    expect_quiet(page)
    page.close()


def two_hundred_thousand(browser, inputs):
    page = opens(browser, inputs, "ops200000", 15, 60)
    within("ops200000: heap", page.heap_bytes() / 1e6, 3000, "MB", 1)
    expect(page.count("*") < 20_000, "elements grow with ops")
    expect_quiet(page)
    page.close()


CASES = [ten_thousand]
SLOW_CASES = [fifty_thousand, two_hundred_thousand]
