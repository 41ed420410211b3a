"""What is shown cut is told whole by the keyboard alone."""
from browser import fragment
from charts_cases import open_panel
from expect import expect, expect_equal, expect_quiet

TOLD = "document.querySelector('.whole-text:not([hidden])')?.innerText ?? ''"
INSIDE = """(() => {
  const box = document.querySelector(".whole-text").getBoundingClientRect();
  return box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
})()"""


def rows_of_tables(browser, inputs):
    page, plan = open_panel(browser, inputs, "long_names", "tables")
    page.resize(900, 700)
    page.settle()
    page.evaluate("document.querySelector('.tables [role=grid]').focus()")
    names = plan["graph"]["ops"]["name"]
    for _ in range(3):
        page.press("ArrowDown")
        page.settle()
        shown = page.text(".tables .row.current > div")
        told = page.evaluate(TOLD).split("\n")
        expect("…" in shown, f"{shown} is not cut")
        expect(told[0] in names, f"the row of {shown} tells {told}")
        expect(told[0].endswith(shown.rsplit("…", 1)[1]), f"{told[0]} is told of {shown}")
        expect_equal(page.evaluate("document.querySelector('.tables .row.current > div').getAttribute('aria-label')"), told[0], "name for readers")
        expect(page.evaluate(INSIDE), "what is told leaves the page")
    page.press("Escape")
    expect_equal(page.evaluate(TOLD), "", "after Escape")
    page.press("ArrowDown")
    page.press("Tab")
    page.settle()
    expect(not page.evaluate("document.querySelector('.whole-text:not([hidden])')?.innerText.includes('backward/model')"), "it stays where the focus is not")
    expect_quiet(page)
    page.close()


def links_and_buttons(browser, inputs):
    """A name that a link of the panel cuts; and what a sign means, where only its title says it."""
    name = "x" * 10_000
    page = browser.open(inputs.page("hostile"), fragment=fragment("op", name))
    page.evaluate("document.querySelector('[role=tab]').focus()")
    page.evaluate("document.querySelector('.side button[aria-label=Close]').focus()")
    page.press("Tab")
    tab = lambda: page.evaluate(f"[document.activeElement.className, {TOLD}]")  # noqa: E731
    told = []
    for _ in range(12):
        page.press("Tab")
        told.append(tab())
    links = [text for kind, text in told if kind == "link tensor"]
    expect(links and all(len(text) > 1500 for text in links if text.startswith("xxx")) and any(text.startswith("xxx") for text in links),
           f"links tell {[text[:60] for text in links]}")
    expect(page.evaluate(TOLD) == "" or page.evaluate(INSIDE), "what is told leaves the page")
    page.close()
    page = browser.open(inputs.page("mlp"), fragment=fragment("op", "act"))
    page.press("Tab")
    page.evaluate("document.querySelector('.side button[aria-label=Close]').focus()")
    expect_equal(page.evaluate(TOLD), "Close (Escape)", "what the sign of a button means")
    page.click(".side h2")
    expect_equal(page.evaluate(TOLD), "", "after a click elsewhere")
    expect_quiet(page)
    page.close()


def hits_and_changes(browser, inputs):
    page = browser.open(inputs.diff_page("long_names", "long_names_other"), width=900, height=700)
    page.press("/")
    page.type("gate")
    page.settle()
    cut = page.evaluate("[...document.querySelectorAll('[aria-selected=true] .hit-text')].some((e) => e.scrollWidth > e.clientWidth)")
    expect(not cut, "the chosen hit is cut")
    page.press("Escape")
    page.click("[role=tab][data-panel=diff]")
    page.settle()
    page.press("Tab")
    page.evaluate("document.querySelector('.change[tabindex]').focus()")
    page.press("ArrowDown")
    page.settle()
    told = page.evaluate(TOLD)
    name = page.evaluate("document.activeElement.querySelector('.name bdi').title")
    expect(name in told.split("\n") or page.evaluate("document.activeElement.querySelector('.name bdi').textContent") == name, f"{name} is not in {told}")
    expect(any(len(line) > 40 for line in told.split("\n")), f"only {told} is told of a change")
    expect_quiet(page)
    page.close()


CASES = [rows_of_tables, links_and_buttons, hits_and_changes]
