"""What holds of every page: nothing asked for, hostile names as text, equal bytes, two plans side by side, and that
keyboard and readers of screens reach all."""
import json
import math
import pathlib
import re

from browser import fragment
from charts_cases import document
from expect import expect, expect_equal, expect_quiet, expect_shown
from inputs import HOSTILE


def opens_from_disk(browser, inputs):
    page = browser.open(inputs.page("mlp"))
    expect(page.evaluate("document.title").startswith("mlp.graph.json (mlp)"), "title")
    expect_quiet(page)
    policy = page.evaluate("document.querySelector('meta[http-equiv=Content-Security-Policy]').content")
    expect("default-src 'none'" in policy, f"policy: {policy}")
    page.close()


def asks_for_nothing(browser, inputs):
    """Each panel opened once: no request, no complaint."""
    page = browser.open(inputs.page("llama"))
    for panel in page.evaluate("[...document.querySelectorAll('[role=tab]')].map((b) => b.dataset.panel)"):
        page.click(f"[role=tab][data-panel={panel}]")
        page.settle()
        expect_equal(page.evaluate("document.querySelector('[role=tab][aria-selected=true]').dataset.panel"), panel, "open panel")
        expect(page.evaluate(f"document.querySelector('.panel.{panel}').getBoundingClientRect().height") > 100,
               f"{panel} shows nothing")
    expect_quiet(page)
    page.close()


def hostile_names(browser, inputs):
    """Names that would be markup, code, or 10 kB long are shown as text, in every panel."""
    page = browser.open(inputs.page("hostile"))
    expect(HOSTILE[1] in page.evaluate("document.title"), "title")
    for name in HOSTILE:
        page.go(fragment("op", name))
        expect_equal(page.evaluate("document.querySelector('.side h2')?.title"), name[:2000], "title of what is selected")
        if len(name) < 200:
            expect_equal(page.evaluate("document.querySelector('.side h2').textContent"), name, "name as text")
    for panel in page.evaluate("[...document.querySelectorAll('[role=tab]')].map((b) => b.dataset.panel)"):
        page.click(f"[role=tab][data-panel={panel}]")
        page.settle()
    expect_equal(page.count("img, #app script, iframe"), 0, "elements made of names")
    expect(HOSTILE[1] in page.evaluate("document.title"), "title afterwards")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"the page is {wide} points too wide")
    expect_quiet(page)
    page.close()


def same_bytes(_, inputs):
    """The same plan gives the same file."""
    for name in ("first.html", "again.html"):
        inputs.run("render", inputs.plan("llama"), "-o", name)
    first, again = ((inputs.folder / name).read_bytes() for name in ("first.html", "again.html"))
    expect(first == again, "two pages of one plan differ")


def bare_model(browser, inputs):
    """A model without a plan: its graph, and of what is selected what there is to say."""
    page = browser.open(inputs.model_page())
    for panel in page.evaluate("[...document.querySelectorAll('[role=tab]')].map((b) => b.dataset.panel)"):
        page.click(f"[role=tab][data-panel={panel}]")
        page.settle()
    for name, kind in (("up", "op"), ("h", "tensor"), ("mlp", "scope")):
        page.go(fragment(kind, name))
        expect_equal(page.text(".side h2"), name, f"selected by {kind}")
    page.click("[role=tab][data-panel=graph]")
    page.settle()
    expect("nothing is divided" in page.evaluate("document.querySelector('.legend-content').textContent"), "the legend tells of a plan")
    expect_equal(page.evaluate("[...document.querySelectorAll('.tools select option')].map((o) => o.value)"), ["sharing", "bytes"], "overlays")
    page.evaluate("""(() => {
      const select = document.querySelector(".tools select");
      select.value = "bytes";
      select.dispatchEvent(new Event("change"));
    })()""")
    page.settle()
    plan = document(inputs.model_page())
    types, tensors = plan["graph"]["types"], plan["graph"]["tensors"]
    most = sum(4 * math.prod(types[tensors["type"][t]]["shape"]) for out in plan["graph"]["ops"]["outputs"] for t in out)
    shown = page.evaluate("document.querySelector('.legend-content .scale').lastChild.previousSibling.textContent")
    expect_shown(shown, most, "bytes of the group around all ops")
    expect_quiet(page)
    page.close()


def bare_tables(browser, inputs):
    """Of a model without a plan: ops and tensors, with what is known of them; a row is selected."""
    page = browser.open(inputs.model_page())
    page.click("[role=tab][data-panel=tables]")
    page.settle()
    expect_equal(page.texts(".tables .switch button"), ["Ops", "Tensors"], "tables")
    rows = page.evaluate("[...document.querySelectorAll('.tables .data-table .row')].map((r) => [...r.children].map((c) => c.innerText))")
    rows = [row for row in rows if row[0] != ""]
    expect_equal([row[:2] for row in rows], [["act", "Relu"], ["down", "MatMul"], ["up", "MatMul"]], "ops")
    expect_equal(rows[2][4:6], ["f32[64,256], f32[256,1024]", "f32[64,1024]"], "what an op reads and writes")
    page.click(".tables .switch button[data-table=tensors]")
    page.settle()
    expect(any(text.startswith("w1") for text in page.texts(".tables .data-table .row")), "the weights are not there")
    page.click(".tables .data-table .row")
    page.wait("document.querySelector('.side .kind')?.innerText === 'Tensor'")
    expect_quiet(page)
    page.close()


def any_case_of_a_file(browser, inputs):
    """FILE.HTML is a page as FILE.html is."""
    inputs.run("render", inputs.plan("mlp"), "-o", "upper.HTML")
    expect((inputs.folder / "upper.HTML").read_text().startswith("<!DOCTYPE html>"), "upper.HTML is no page")


def traced_steps_have_phases(browser, inputs):
    """A joint graph that torch traced has no scopes; its gradients tell which ops are the backward pass."""
    source = pathlib.Path(__file__).resolve().parents[1] / "data/spellings/gpt2-joint.pt2"
    inputs.run("infer", source, "--mesh", "2", "--strategy", "greedy", "-o", "joint.json", "-q")
    page = browser.open(inputs._paged("joint.html", "render", "joint.json"))
    plan = document(inputs.folder / "joint.html")
    phases, outputs = plan["graph"]["ops"]["phase"], plan["graph"]["ops"]["outputs"]
    names = plan["graph"]["tensors"]["name"]
    for op, phase in enumerate(phases):
        if any(tensor >= 0 and names[tensor].startswith("grad/") for tensor in outputs[op]):
            expect_equal(phase, 1, f"phase of what makes {names[outputs[op][0]]}")
    expect(0 < phases.count(0) < phases.count(1), f"{phases.count(0)} ops forward, {phases.count(1)} backward")
    root = [label for label, parent in zip(plan["outline"]["label"], plan["outline"]["parent"]) if parent == 0]
    expect_equal(root, ["forward", "backward"], "groups of the whole")
    page.click("[role=tab][data-panel=tables]")
    page.settle()
    expect(any("backward" in text for text in page.texts(".tables .data-table .row")), "the table knows no backward pass")
    expect_quiet(page)
    page.close()


TOTALS = "[...document.querySelectorAll('.about table')].map((t) => [...t.rows].map((r) => [...r.cells].map((c) => c.innerText)))"


def lines_of(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def numbers_are_the_plans(browser, inputs):
    """The page about the plan has the totals that `explain` prints, word for word; the head says how good it is."""
    page = browser.open(inputs.page("llama"))
    page.click("[role=tab][data-panel=about]")
    [rows] = page.evaluate(TOTALS)
    plan, told = inputs.read("llama"), lines_of(inputs.run("explain", inputs.plan("llama")))
    expect(len(rows) > 6, f"totals: {rows}")
    for row in rows:
        expect(" ".join(" ".join(row).split()) in told, f"explain does not print {row}")
    figures = {name: figure for name, figure, _ in rows}
    expect_shown(figures["peak memory"], plan["memory"]["peak_bytes"], "peak memory")
    expect_shown(figures["bytes moved"], plan["total"]["bytes_moved"], "bytes moved")
    gap = re.search(r"no plan takes less than [^,]+, gap (.*)", rows[0][2]).group(1).replace("\u00a0", " ")
    expect(f"gap {gap}" in page.texts(".plan-line span"), f"the head does not say that the gap is {gap}")
    page.close()
    page = browser.open(inputs.diff_page("mlp", "mlp_other"))
    page.click("[role=tab][data-panel=about]")
    tables = page.evaluate(TOTALS)
    expect_equal([name.split(":")[0] for name in page.texts(".about h2")], ["before", "after"], "names of the plans")
    expect_equal(len(tables), 2, "plans of the page")
    for name, rows in zip(("mlp", "mlp_other"), tables):
        told = lines_of(inputs.run("explain", inputs.plan(name)))
        missing = [row for row in rows if " ".join(" ".join(row).split()) not in told]
        expect(rows and not missing, f"explain of {name} does not print {missing}")
    page.close()


def says_what_is_replicated(browser, inputs):
    """Tensors that no legal candidate splits are a warning in the head, and are listed with their reasons."""
    plan = inputs.read("whole")
    expect(plan["replicated"], "nothing of the plan is replicated")
    page = browser.open(inputs.page("whole"))
    warned = f"{len(plan['replicated'])} tensors are replicated for lack of a legal split"
    expect(warned in page.evaluate("document.querySelector('.plan-line button').title"), "the head does not warn of it")
    page.click(".plan-line button")
    page.settle()
    expect(warned in page.texts(".about .warnings li"), "it is no warning")
    said = page.texts(".about .part li")
    for one in plan["replicated"]:
        expect(f"{one['tensor']}: {one['reason']}" in said, f"{one} is not among {said}")
    page.click(".about .part li button")
    page.settle()
    expect_equal(page.text(".side h2"), plan["replicated"][0]["tensor"], "what its link selects")
    expect_quiet(page)
    page.close()


def says_what_is_pinned(browser, inputs):
    page = browser.open(inputs.page("mlp"))
    page.click("[role=tab][data-panel=about]")
    expect_equal(page.texts(".about .part li"), ["w1=(B, S(1)): 1 tensor: w1"], "pins")
    expect_quiet(page)
    page.close()


def two_plans(browser, inputs):
    """The page of two plans: every op whose layouts differ is listed, and the difference of the totals."""
    page = browser.open(inputs.diff_page("mlp", "mlp_other"))
    page.click("[role=tab][data-panel=diff]")
    before, after = inputs.read("mlp"), inputs.read("mlp_other")
    cells = page.evaluate("[...document.querySelector('[data-total=\"peak memory\"]').cells].map((c) => c.innerText)")
    expect_shown(cells[1], before["memory"]["peak_bytes"], "peak before")
    expect_shown(cells[2], after["memory"]["peak_bytes"], "peak after")
    columns = page.evaluate("[...document.querySelectorAll('.totals-table tr')].map((r) => Math.round(r.cells[1].getBoundingClientRect().right))")
    expect_equal(len(set(columns)), 1, f"right edges of the totals' second column, {columns}")
    expect_equal(page.evaluate("getComputedStyle(document.querySelector('.totals-table')).display"), "table", "totals")
    differing = {name for name in ("up", "act", "down")
                 if inputs.explain("mlp", name)["candidates"] != inputs.explain("mlp_other", name)["candidates"]}
    page.evaluate("""(() => { const s = document.querySelector('.panel.diff select'); s.value = 'layouts';
                  s.dispatchEvent(new Event('change')); })()""")
    page.settle()
    listed = set(page.texts(".changes .change .name bdi"))
    expect(listed and listed <= differing, f"listed {listed}, differing {differing}")
    page.click(".changes .change")
    name = page.text(".side h2")
    expect(name in listed, "a click selects the op")
    expect("In the plan before" in page.text(".side"), "the side panel tells of the other plan")
    page.click(".panel.diff input[type=search]")
    page.type("no such op")
    page.settle()
    expect_equal(page.text(".panel.diff [role=status]"), "No change.", "filtered by what is nowhere")
    expect_quiet(page)
    page.close()


def graphs_that_differ(browser, inputs):
    """Ops that only one of the two plans has."""
    page = browser.open(inputs.diff_page("mlp", "mlp_longer"))
    page.click("[role=tab][data-panel=diff]")
    kinds = page.texts(".changes .change .what")
    expect(any("Op added" in kind for kind in kinds), f"changes: {kinds}")
    page.go("#op=last&plan=1")
    expect_equal(page.text(".side h2"), "last", "selected of the other plan")
    expect("It is not there." in page.text(".side"), "an op that only one plan has")
    expect_quiet(page)
    page.close()


CONTROLS = "button, a[href], input, select, textarea, summary, [tabindex]:not([tabindex='-1'])"
# Of each text the two colours as drawn: what is transparent shows what lies behind.
CONTRAST = """(() => {
  const channels = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (c) => { const v = c / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const behind = (element) => {
    for (let e = element; e !== null; e = e.parentElement) {
      const color = channels(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("#app *")) {
    if (element.closest("svg, [disabled], [aria-hidden=true]") || element.getClientRects().length === 0) continue;
    const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join("");
    if (text === "") continue;
    const style = getComputedStyle(element);
    const [a, b] = [luminance(channels(style.color)), luminance(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
    if (ratio < (large ? 3 : 4.5)) poor.push(`${element.tagName}.${element.className} "${text.slice(0, 30)}" ${ratio.toFixed(2)}`);
  }
  return poor;
})()"""


# Controls that neither stand in the window nor are scrolled into it, or that something else covers.
OUT_OF_REACH = """(() => {
  const lost = [];
  for (const control of document.querySelectorAll("button, a[href], input, select, textarea, summary")) {
    if (!control.checkVisibility() || control.closest("[inert], .offscreen")) continue;
    control.scrollIntoView({block: "nearest", inline: "nearest"});
    const box = control.getBoundingClientRect();
    const [x, y] = [box.x + Math.min(box.width / 2, 20), box.y + box.height / 2];
    const found = x < 0 || y < 0 || x > innerWidth || y > innerHeight ? null : document.elementFromPoint(x, y);
    if (found === null || !(control.contains(found) || found.contains(control) && found.tagName === "LABEL")) {
      lost.push(`${control.outerHTML.slice(0, 90)} at ${Math.round(x)}, ${Math.round(y)}: ${found?.outerHTML.slice(0, 60)}`);
    }
  }
  return lost;
})()"""


# What stands out of the window, and nothing around it can be scrolled to show it.
STANDS_OUT = """[...document.querySelectorAll("body *")].filter((element) => {
  if (!element.checkVisibility() || element.closest(".said, .offscreen, svg, option")) return false;
  const box = element.getBoundingClientRect();
  if (box.width === 0 || box.height === 0 || box.right <= innerWidth + 1 && box.left >= -1) return false;
  for (let up = element.parentElement; up !== null; up = up.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(up).overflowX) && up.scrollWidth > up.clientWidth && up.getBoundingClientRect().right <= innerWidth + 1) return false;
  }
  return true;
}).map((element) => `${element.tagName} ${element.className}: ${element.textContent.slice(0, 40)}`)"""
# At most so high may the head be.
HEADS = {1280: 44, 1024: 44, 800: 90, 390: 130}


def head_is_one_row(browser, inputs):
    """On screens of any width but a telephone's, of a plan with a long name that has a warning; of two plans figures are not cut."""
    page = browser.open(inputs.page("too_large"))
    page.evaluate("document.querySelector('h1').textContent = 'a model of a long name'.repeat(4)")
    for width in (1024, 1599, 1600, 1920, 2560):
        page.resize(width, 900)
        page.settle()
        expect(page.evaluate("document.querySelector('header').offsetHeight") <= 44, f"{width} points wide: a head of two rows")
    page.close()
    page = browser.open(inputs.diff_page("mlp", "mlp_other"), 1600, 900)
    cut = page.evaluate("[...document.querySelectorAll('.plan-line')].map((line) => line.scrollWidth - line.clientWidth)")
    expect(len(cut) == 2 and max(cut) <= 0, f"figures of two plans are cut by {cut}")
    expect_quiet(page)
    page.close()


def small_screens(browser, inputs):
    """All controls are reached, nothing stands out of the window, the head is low, and the legend leaves the graph its room."""
    for width, height in ((1280, 720), (1024, 700), (800, 600), (390, 844)):
        page = browser.open(inputs.page("llama"), width, height)
        page.settle()
        covered = page.evaluate("""(() => {
          const area = (selector) => (({width, height}) => width * height)(document.querySelector(selector).getBoundingClientRect());
          return area(".legend") / area(".graph-view");
        })()""")
        expect(covered < 0.1, f"{width} x {height}: the legend covers {covered:.0%} of the graph")
        head = page.evaluate("document.querySelector('header').getBoundingClientRect().height")
        expect(head <= HEADS[width], f"{width} x {height}: the head is {head} points high")
        told = page.evaluate("[...document.querySelectorAll('.plan-line .alert, .plan-line button')].map((e) => e.getBoundingClientRect().right - e.parentElement.getBoundingClientRect().right)")
        expect(told and max(told) <= 0, f"{width} x {height}: what is wrong with the plan is cut by {told}")
        for address in (None, fragment("op", first_matmul(inputs))):
            if address:
                page.go(address)
            for panel in each_panel(page):
                where = f"{width} x {height}{' with the side panel' if address else ''}, {panel}"
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                expect(wide <= 0, f"{where}: {wide} points too wide")
                out = page.evaluate(STANDS_OUT)
                expect(not out, f"{where}: stands out of the window: {out[:3]}")
                lost = page.evaluate(OUT_OF_REACH)
                expect(not lost, f"{where}: out of reach: {lost[:3]}")
                room = page.evaluate(f"document.querySelector('.panel.{panel}').getBoundingClientRect().height")
                expect(room > 150, f"{where}: {room} points high")
        page.click(".search input")
        page.type("layer")
        page.settle()
        left, right = page.evaluate("(({left, right}) => [left, right])(document.querySelector('.search ul').getBoundingClientRect())")
        expect(left >= 0 and right <= width, f"{width} x {height}: what the search finds stands from {left} to {right}")
        page.press("Escape")
        page.click("[role=tab][data-panel=graph]")
        page.click(".legend summary")
        expect(page.evaluate("document.querySelector('.legend').open"), "a click opens the legend")
        page.resize(width - 20, height)
        page.settle()
        expect(page.evaluate("document.querySelector('.legend').open"), "it stays open when the window changes")
        expect_quiet(page)
        page.close()


def each_panel(page):
    for panel in page.evaluate("[...document.querySelectorAll('[role=tab]')].map((b) => b.dataset.panel)"):
        page.click(f"[role=tab][data-panel={panel}]")
        page.settle()
        yield panel


def is_readable(browser, inputs):
    """Contrast AA of all text, in light and in dark."""
    page = browser.open(inputs.page("llama"), fragment=fragment("op", first_matmul(inputs)))
    for theme in ("light", "dark"):
        if page.evaluate("document.documentElement.dataset.theme") != theme:
            page.click("header button[aria-label^='switch to the']")
        expect_equal(page.evaluate("document.documentElement.dataset.theme"), theme, "theme")
        for panel in each_panel(page):
            poor = page.evaluate(CONTRAST)
            expect(not poor, f"{theme}, {panel}: too little contrast: {poor[:4]}")
    page.close()


def first_matmul(inputs):
    return next(op["name"] for op in inputs.read("llama")["graph"]["ops"] if op["type"] == "MatMul")


def controls_have_names(browser, inputs):
    """What a reader of screens hears of every control."""
    page = browser.open(inputs.page("llama"), fragment=fragment("op", first_matmul(inputs)))
    named = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "tab", "slider", "img", "listbox"}
    for panel in each_panel(page):
        for node in page.accessibility_tree():
            role = node.get("role", {}).get("value")
            if node.get("ignored") or role not in named:
                continue
            expect(node.get("name", {}).get("value", "").strip(), f"{panel}: a {role} without a name")
    page.close()


def keyboard_reaches_all(browser, inputs):
    """Tab comes to every control that is in sight (one of each group of radio buttons and of the tabs)."""
    page = browser.open(inputs.page("mlp"), fragment="#op=up")
    for panel in each_panel(page):
        page.evaluate(f"""(() => {{
          window.controls = [...document.querySelectorAll({json.dumps(CONTROLS)})].filter((e) => e.tabIndex >= 0 && !e.disabled &&
              e.checkVisibility() && e.type !== "radio" && e.getAttribute("role") !== "tab");
          window.reached = new Set();
          document.addEventListener("focusin", (event) => window.reached.add(event.target));
          document.activeElement.blur();
        }})()""")
        number = page.evaluate("window.controls.length")
        for _ in range(number + 24):
            page.press("Tab")
        missed = page.evaluate("window.controls.filter((e) => e.isConnected && !window.reached.has(e)).map((e) => e.outerHTML.slice(0, 120))")
        expect(not missed, f"{panel}: Tab does not come to {missed[:3]}")
        bare = page.evaluate("""[...document.querySelectorAll("#app [onclick]")].length""")
        expect_equal(bare, 0, "handlers written as text")
    page.close()


def tables_tell_where(browser, inputs):
    """A table's rows go by keys, and a reader of screens hears of the current one; tabs name their panels."""
    page = browser.open(inputs.page("llama"))
    for panel in each_panel(page):
        controls = page.evaluate(f"document.querySelector('[data-panel={panel}]').getAttribute('aria-controls')")
        expect_equal(page.evaluate(f"document.getElementById({controls!r})?.className"), f"panel {panel}", f"what the tab {panel} controls")
    page.click("[role=tab][data-panel=tables]")
    page.settle()
    grid = ".tables [role=grid]"
    expect_equal(page.evaluate(f"document.querySelector('{grid}').getAttribute('aria-rowcount')"),
                 str(1 + len(inputs.read("llama")["graph"]["ops"])), "rows of the table")
    page.evaluate(f"document.querySelector('{grid}').focus()")
    for key, index in (("ArrowDown", 2), ("ArrowDown", 3), ("End", 1 + len(inputs.read("llama")["graph"]["ops"]))):
        page.press(key)
        page.settle()
        row = page.evaluate(f"""(() => {{ const row = document.getElementById(document.querySelector('{grid}').getAttribute('aria-activedescendant'));
            return [row.getAttribute('aria-rowindex'), row.getAttribute('aria-selected'), row.hidden]; }})()""")
        expect_equal(row, [str(index), "true", False], f"the current row after {key}")
    page.press("Enter")
    page.settle()
    expect_equal(page.text(".side h2"), page.evaluate("document.querySelector('.tables .row.current > div').title"), "Enter selects")
    page.close()


CASES = [head_is_one_row, tables_tell_where, opens_from_disk, asks_for_nothing, hostile_names, bare_model, bare_tables, any_case_of_a_file,
         traced_steps_have_phases, same_bytes, numbers_are_the_plans, says_what_is_replicated, says_what_is_pinned, two_plans, graphs_that_differ, small_screens,
         is_readable, controls_have_names, keyboard_reaches_all]
