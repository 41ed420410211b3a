"""The graph: pointer and keyboard, search, overlays, themes. A canvas is read back by what is said of it and by whether
its pixels change."""
import json
import re

from browser import fragment
from charts_cases import choose, document
from expect import expect, expect_equal, expect_quiet, expect_shown

CANVAS = ".graph-canvas"
SAID = ".graph-view .said"


def pixels(page):
    """A number that stands for what the canvas shows."""
    page.settle()
    return page.evaluate(f"""(() => {{
      const canvas = document.querySelector('{CANVAS}');
      const {{data}} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Int32Array(data.buffer).reduce((hash, pixel) => (Math.imul(hash, 31) + pixel) | 0, 7);
    }})()""")


def said(page):
    page.settle()
    return page.evaluate(f"document.querySelector('{SAID}').textContent")


def keyboard_reaches_all(browser, inputs):
    """From the canvas alone: into a group, along its items, open, close, out again."""
    page = browser.open(inputs.page("llama"))
    page.evaluate(f"document.querySelector('{CANVAS}').focus()")
    page.press("ArrowDown")
    first = said(page)
    expect("group of" in first or "compute" in first, f"nothing is said of the first box: {first!r}")
    seen = {first}
    for _ in range(12):
        page.press("ArrowDown")
        seen.add(said(page))
    expect(len(seen) > 4, f"arrows reach {len(seen)} boxes")
    page.press("Escape")
    expect("group of" in said(page), "Escape goes to the group around")
    before = pixels(page)
    page.press("Enter")
    expect("is closed" in said(page), f"Enter closes: {said(page)!r}")
    expect(pixels(page) != before, "a closed group looks as it did open")
    page.press("Enter")
    expect("is open" in said(page), "Enter opens again")
    expect_quiet(page)
    page.close()


def zooms(browser, inputs):
    page = browser.open(inputs.page("mlp"))
    page.evaluate(f"document.querySelector('{CANVAS}').focus()")
    page.press("0")
    whole = pixels(page)
    page.press("+")
    near = pixels(page)
    page.wheel(600, 500, -300)
    nearer = pixels(page)
    page.drag(600, 500, 700, 560)
    moved = pixels(page)
    expect(len({whole, near, nearer, moved}) == 4, "plus, wheel and drag each change the view")
    page.press("0")
    expect_equal(pixels(page), whole, "all again")
    expect_quiet(page)
    page.close()


def search_finds_kinds(browser, inputs):
    """A name, a type, a layout, a kind of collective: completed, chosen by keys, shown by the graph."""
    page = browser.open(inputs.page("llama"))
    plan = inputs.read("llama")
    op = plan["graph"]["ops"][-1]
    for query, kind, word in ((op["name"], "op", op["name"]), (op["type"], "type", op["type"]), ("S(0)", "layout", "S(0)")):
        page.press("/")
        page.evaluate("document.querySelector('.search input').select()")
        page.type(query)
        page.settle()
        rows = page.texts(".search li")
        hits = [i for i, row in enumerate(rows) if row.startswith(kind) and word in row]
        expect(hits, f"{query}: no {kind} among {rows[:5]}")
        for _ in range(hits[0]):
            page.press("ArrowDown")
        page.press("Enter")
        expect(said(page) != "", f"{query}: nothing is said of the hit")
        expect(page.evaluate("document.querySelector('.search ul').hidden"), "the list stays open")
        page.evaluate(f"document.querySelector('{CANVAS}').focus()")
    page.press("/")
    page.evaluate("document.querySelector('.search input').select()")
    page.type("no such thing <b>")
    page.settle()
    expect(any("nothing has this" in row for row in page.texts(".search li")), "nothing found is not said")
    expect_quiet(page)
    page.close()


def search_stays_open(browser, inputs):
    """Who leaves the search and comes back at once finds its list open, also when what leaving began is done."""
    page = browser.open(inputs.page("mlp"))
    page.press("/")
    page.type("up")
    shown = page.evaluate("""(async () => {
      const input = document.querySelector(".search input");
      input.blur();
      input.focus();
      await new Promise((done) => setTimeout(done, 300));
      return !document.querySelector(".search ul").hidden;
    })()""")
    expect(shown, "the list is closed")
    page.evaluate("document.querySelector('.search input').blur()")
    page.wait("document.querySelector('.search ul').hidden")
    expect_quiet(page)
    page.close()


def overlays_and_themes(browser, inputs):
    page = browser.open(inputs.page("llama"))
    looks, legends = set(), set()
    for overlay in page.evaluate("[...document.querySelectorAll('.tools select option')].map((o) => o.value)"):
        page.evaluate(f"""(() => {{
          const select = document.querySelector('.tools select');
          select.value = {json.dumps(overlay)};
          select.dispatchEvent(new Event('change'));
        }})()""")
        looks.add(pixels(page))
        legends.add(page.text(".legend-content"))
    expect(len(looks) >= 7, f"{len(looks)} looks of the overlays")
    expect(len(legends) >= 7, f"{len(legends)} legends")
    light = pixels(page)
    theme = page.evaluate("document.documentElement.dataset.theme")
    page.evaluate("[...document.querySelectorAll('.tools button')].find((b) => /dark|light/.test(b.textContent)).click()")
    expect(page.evaluate("document.documentElement.dataset.theme") != theme, "the theme stays")
    expect(pixels(page) != light, "the canvas keeps its colours in the other theme")
    expect_quiet(page)
    page.close()


def double_click_opens(browser, inputs):
    """The first box of a graph of equal layers is the repeat of them all: closed, it is in the middle of the view."""
    page = browser.open(inputs.page("ops10000"))
    page.evaluate(f"document.querySelector('{CANVAS}').focus()")
    page.press("ArrowDown")
    expect("group of" in said(page), f"the first box is no group: {said(page)!r}")
    page.press("Enter")
    expect("is closed" in said(page), "closed by key")
    page.press("0")
    closed = pixels(page)
    page.click_at(*page.place(CANVAS), clicks=2)
    expect("is open" in said(page), f"not opened by a double click: {said(page)!r}")
    expect(pixels(page) != closed, "drawn as before")
    first = said(page)
    page.press("]")
    expect(said(page) != first and "2 of" in said(page), f"the next copy: {said(page)!r}")
    expect_quiet(page)
    page.close()


# Pixels of the frame around what is selected, in the canvas of one of two plans.
ACCENTS = """(() => {
  const canvas = document.querySelectorAll(".graph-canvas")[%d];
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4) found += data[i] === 0x1f && data[i + 1] === 0x5f && data[i + 2] === 0xbf;
  return found;
})()"""


def only_changes(browser, inputs):
    """Of two plans, what did not change is folded and faint in the graph, and stands again afterwards; what did stays."""
    for other, all_changed in (("mlp", False), ("mlp_other", True)):
        page = browser.open(inputs.diff_page("mlp", other))
        picture = lambda: page.evaluate("document.querySelector('.graph-canvas').toDataURL()")  # noqa: E731, B023
        page.settle()
        before = picture()
        page.click(".only-changes input")
        page.settle()
        expect_equal(picture() == before, all_changed, f"{other}: does the graph stay as it is")
        page.click(".only-changes input")
        page.settle()
        expect(picture() == before, f"{other}: it does not stand again as before")
        expect_quiet(page)
        page.close()


def readers_name_inputs(browser, inputs):
    """Inputs have no boxes, and so no edges across the graph; the op that reads one says so."""
    page = browser.open(inputs.page("mlp"), fragment="#op=up")
    page.settle()
    expect("← input x f32[64,256]" in page.text(".graph-view .said"), f"up says {page.text('.graph-view .said')}")
    page.evaluate("location.hash = '#op=act'")
    page.settle()
    expect("← input" not in page.text(".graph-view .said"), "act reads no input")
    expect_quiet(page)
    page.close()


def marks_in_both_plans(browser, inputs):
    """What is selected in one of two plans is marked in the other one, too."""
    page = browser.open(inputs.diff_page("mlp", "mlp_longer"))
    for address, marked in (("#op=act", (True, True)), ("#op=last&plan=1", (False, True)), ("#op=up&plan=1", (True, True))):
        page.go(address)
        seen = tuple(page.evaluate(ACCENTS % view) > 200 for view in (0, 1))
        expect_equal(seen, marked, f"marked before and after, {address}")
    page.click("[aria-label=Close]")
    page.settle()
    expect_equal([page.evaluate(ACCENTS % view) > 200 for view in (0, 1)], [False, False], "marked when nothing is selected")
    expect_quiet(page)
    page.close()


def marks_changes(browser, inputs):
    """What differs between two plans has a sign and words of it, in both; a plan beside itself has none."""
    orange = ACCENTS.replace("0x1f", "0xa8").replace("0x5f", "0x48").replace("0xbf", "0x0a")
    reddish = re.sub("data.i. === .*;", "data[i] - data[i + 2] > 80 && data[i + 1] < 0.75 * data[i];", ACCENTS)  # thin lines are paler
    for after, differs in (("mlp_other", True), ("mlp", False)):
        page = browser.open(inputs.diff_page("mlp", after))
        page.go("#op=up")
        for view in (0, 1):
            expect_equal(page.evaluate(orange % view) > 50, differs, f"signs in view {view} beside {after}")
        expect_equal("≠" in said(page), differs, f"what is said of an op beside {after}: {said(page)}")
        page.evaluate("""for (let i = 0; i < 9; ++i) {
          document.querySelector(".graph-canvas").dispatchEvent(new KeyboardEvent("keydown", {key: "-"}));
        }""")
        page.settle()
        for view in (0, 1):  # boxes of a few pixels
            expect_equal(page.evaluate(reddish % view) > 20, differs, f"frames in view {view} beside {after}")
        expect_quiet(page)
        page.close()


# Words of marks and runs of edges as they are drawn, in the coordinates of the graph, once a drawing is asked for.
NOTE_MARKS = """(() => {
  const context = CanvasRenderingContext2D.prototype;
  window.words = [];
  window.lines = [];
  let path = [];
  const before = (name, act) => {
    const own = context[name];
    context[name] = function (...all) {
      if (this.canvas.className === "graph-canvas") act.apply(this, all);
      return own.apply(this, all);
    };
  };
  before("beginPath", () => { path = []; });
  for (const name of ["moveTo", "lineTo", "arcTo"]) before(name, (x, y) => path.push([x, y]));
  before("stroke", function () {
    if (this.strokeStyle === "#8694aa" && this.getLineDash().length === 0) {
      for (let i = 1; i < path.length; ++i) window.lines.push([...path[i - 1], ...path[i]]);
    }
  });
  before("fillText", function (text, x, y) {
    const {width} = this.measureText(text);
    if (/^(AG|AR|RS|A2A|SR) /.test(text)) window.words.push([text, x - (this.textAlign === "right" ? width : 0), y - 8, width, 8]);
  });
})()"""


def words_stand_beside_lines(browser, inputs):
    """The words of a collective lie on no edge, where groups are open."""
    page = browser.open(inputs.page("llama"))
    page.evaluate(NOTE_MARKS)
    for address in ("#op=model/layers.2/self_attn/q_proj", "#scope=", "#op=backward/model/layers.3/mlp/up_proj/d.a"):
        page.evaluate("window.words = []; window.lines = []")
        page.go(address)
        words, lines = page.evaluate("window.words"), page.evaluate("window.lines")
        expect(len(words) > 3 and len(lines) > 10, f"{address}: {len(words)} words and {len(lines)} lines are drawn")
        for text, x, y, width, height in words:
            over = [line for line in lines if min(line[0], line[2]) < x + width and max(line[0], line[2]) > x and
                    min(line[1], line[3]) < y + height and max(line[1], line[3]) > y]
            expect(not over, f"{address}: {text!r} lies on {over[:1]}")
    expect_quiet(page)
    page.close()


NOTE_SIZES = """(() => {
  window.sizes = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
    window.sizes.push([text, parseFloat(this.font.replace("bold ", "")) * this.getTransform().a / devicePixelRatio]);
    return write.call(this, text, ...at);
  };
})()"""


def names_are_readable_from_afar(browser, inputs):
    """A training step in a small window: groups and ops have names of nine pixels, not empty boxes."""
    page = browser.open(inputs.page("recomputed"), 1000, 700)
    page.evaluate(NOTE_SIZES)
    page.click("[aria-label^='show all']")
    page.settle()
    sizes = page.evaluate("window.sizes")
    names = [size for text, size in sizes if text[:1] in ("▸", "▾", "●", "◐", "○")]
    expect(len(names) > 15, f"{len(names)} names")
    expect(min(names) > 8.5 and min(size for _, size in sizes) >= 7, f"small letters: {sorted(sizes, key=lambda one: one[1])[:3]}")
    expect_quiet(page)
    page.close()


def small_windows_open_less(browser, inputs):
    """On a phone groups stay closed until the boxes of a training step have room for their names; a link opens them."""
    open_at = {}
    for width, height in ((1440, 900), (390, 844)):
        page = browser.open(inputs.page("llama"), width, height)
        page.evaluate(NOTE_SIZES)
        page.click("[aria-label^='show all']")
        page.settle()
        names = [(size, text) for text, size in page.evaluate("window.sizes") if text[:1] in ("▸", "▾", "●", "◐", "○")]
        expect(len(names) >= 6, f"{width} x {height}: {names}")
        expect(min(names)[0] > 7, f"{width} x {height}: small letters: {min(names)}")
        open_at[width] = sum(text.startswith("▾") for _, text in names)
        page.close()
    expect(0 < open_at[390] < open_at[1440], f"groups that are open, by width: {open_at}")
    op = next(op["name"] for op in inputs.read("llama")["graph"]["ops"] if op["type"] == "MatMul")
    page = browser.open(inputs.page("llama"), 390, 844, fragment=fragment("op", op))
    page.settle()
    expect("MatMul" in page.evaluate("document.querySelector('.graph-view .said').textContent"), "the op of the address is not shown")
    expect_quiet(page)
    page.close()


def cut_names_keep_their_ends(browser, inputs):
    """What is too long for a box of the graph or of the charts is cut in its middle: ends tell layers apart."""
    for name, panel in (("dotted_names", "graph"), ("recomputed", "where"), ("recomputed", "schedule")):
        page = browser.open(inputs.page(name), 1000, 700)
        page.evaluate(NOTE_SIZES)
        page.click(f"[role=tab][data-panel={panel}]")
        if panel == "graph":
            page.evaluate(f"document.querySelector('{CANVAS}').focus()")
            for _ in range(4):
                page.press("+")
        page.settle()
        cut = {text for text, _ in page.evaluate("window.sizes") if "…" in text}
        expect(cut or panel != "graph", "no name is cut")  # the others' boxes are as wide as ops are long
        expect(not [text for text in cut if text.endswith("…")], f"{panel}: names without their ends: {sorted(cut)[:4]}")
        expect_quiet(page)
        page.close()


# The middles of spots of 5 by 5 pixels of a colour "#rrggbb".
SPOTS = """((color) => {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const canvas = document.querySelector(".graph-canvas");
  const {data, width, height} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const is = (x, y) => [red, green, blue].every((value, i) => data[4 * (y * width + x) + i] === value);
  const box = canvas.getBoundingClientRect();
  const spots = [];
  for (let y = 2; y < height - 2; ++y) {
    for (let x = 2; x < width - 2; ++x) {
      if (spots.some((spot) => Math.hypot(spot[0] - box.x - x, spot[1] - box.y - y) < 20)) continue;
      if ([-2, -1, 0, 1, 2].every((dy) => [-2, -1, 0, 1, 2].every((dx) => is(x + dx, y + dy)))) spots.push([box.x + x, box.y + y]);
    }
  }
  return spots;
})(%s)"""


def spot_of_mark(page, color):
    """Where a mark is of its own: those within closed groups say what the groups hold."""
    for spot in page.evaluate(SPOTS % json.dumps(color)):
        page.move(*spot)
        if "group of" not in (page.text(".graph-tooltip") or ""):
            return spot
    return None


def marks_are_clicked(browser, inputs):
    """On a mark the pointer tells of its collective, and a click selects one of that kind."""
    page = browser.open(inputs.page("llama"), 1800, 1200)
    page.settle()
    plan = document(inputs.page("llama"))
    transitions, clicked = plan["transitions"], 0
    for kind, row in enumerate(transitions["kinds"]):
        spot = None if row["is_local"] else spot_of_mark(page, row["color"])
        if spot is None:
            continue
        expect(row["name"] in (page.text(".graph-tooltip") or ""), f"the pointer tells of {page.text('.graph-tooltip')!r} on {row['name']}")
        page.click_at(*spot)
        page.settle()
        chosen = re.fullmatch(r"#transition=(\d+)", page.evaluate("location.hash"))
        expect(chosen, f"a click on {row['name']} selects {page.evaluate('location.hash')!r}")
        expect(any(step[0] == kind for step in transitions["steps"][int(chosen.group(1))]), f"selected by {row['name']}: {chosen.group()}")
        clicked += 1
        page.press("Escape")
        page.click("[aria-label^='show all']")
        page.settle()
    expect(clicked >= 2, f"{clicked} kinds of marks are seen")
    expect_quiet(page)
    page.close()


def changes_by_pairs(browser, inputs):
    """Colours of both views go by after less before, on one scale; all prices of ops and collectives add up to it."""
    page = browser.open(inputs.diff_page("accumulated", "accumulated_other"))
    costs = [document(inputs.page(name)) for name in ("accumulated", "accumulated_other")]
    totals = [plan["head"]["summary"]["compute_seconds"] + plan["head"]["summary"]["collective_seconds"] for plan in costs]
    choose(page, "[aria-label='colour by']", "change")
    page.click("[role=tab][data-panel=tables]")
    page.settle()
    change = page.evaluate("Number(document.querySelector('.tables [data-total=change]').dataset.value)")
    expect(abs(change - (totals[1] - totals[0])) < 1e-6 * sum(totals), f"changes of ops {change}, of plans {totals[1] - totals[0]}")
    choose(page, ".tables [aria-label='which plan']", "1")
    other = page.evaluate("Number(document.querySelector('.tables [data-total=change]').dataset.value)")
    expect(abs(change - other) < 1e-9 * sum(totals), f"change by ops before {change}, after {other}")
    expect_quiet(page)
    page.close()


def prices_of(plan, op):
    """Compute with what cuts cost, and collectives without slices and copies, of an op in a step."""
    transitions, compute, wire = plan["transitions"], plan["decisions"]["seconds"][op] * plan["schedule"]["runs"][op], 0
    local = {i for i, kind in enumerate(transitions["kinds"]) if kind["is_local"]}
    for t, readers in enumerate(transitions["consumers"]):
        if readers and readers[0][0] == op:
            compute += transitions["cut"][t] * transitions["runs"][t]
            wire += sum(step[2] for step in transitions["steps"][t] if step[0] not in local) * transitions["runs"][t]
    return compute, wire


def says_prices(browser, inputs):
    """Of ops before which layouts cut a kernel, and of ops for which data is sliced: what the plan's sums hold; of groups, how
    they are added up."""
    page = browser.open(inputs.page("accumulated"))
    plan = document(inputs.page("accumulated"))
    transitions = plan["transitions"]
    local = {i for i, kind in enumerate(transitions["kinds"]) if kind["is_local"]}
    reader = lambda t: transitions["consumers"][t][0][0] if transitions["consumers"][t] else None  # noqa: E731
    numbers = range(len(transitions["consumers"]))
    cut = [reader(t) for t in numbers if transitions["cut"][t] > 0]
    sliced = [reader(t) for t in numbers if any(step[0] in local and step[2] > 0 for step in transitions["steps"][t])]
    asked = [op for ops in (cut, sliced) for op in ops if op is not None][:1] + [op for op in sliced if op is not None][:2]
    expect(asked, "no op with a cut or a slice")
    choose(page, "[aria-label='colour by']", "time")
    for op in asked:
        page.go(fragment("op", plan["graph"]["ops"]["name"][op]))
        text = said(page)
        compute, wire = prices_of(plan, op)
        expect_shown(re.search(r"([\d.]+ \w+) of compute", text).group(1), compute, f"compute of op {op}")
        expect_shown(re.search(r"([\d.]+ \w+) of communication", text).group(1), wire, f"communication of op {op}")
        expect_shown(re.search(r"Time: ([\d.]+ \w+)", text).group(1), compute, f"time of op {op}")
    page.go(fragment("scope", plan["outline"]["path"][plan["outline"]["parent"].index(0)]))
    expect("nothing overlapped" in said(page), f"said of a group: {said(page)}")
    expect_quiet(page)
    page.close()


def without_idle_callbacks(browser, inputs):
    """Safari has none."""
    path = inputs.folder / "safari.html"
    path.write_text(inputs.page("mlp").read_text().replace("<head>", "<head><script>delete window.requestIdleCallback</script>", 1))
    page = browser.open(path)
    expect_equal(page.evaluate("typeof requestIdleCallback"), "undefined", "requestIdleCallback")
    page.press("/")
    page.type("down")
    page.settle()
    expect("down" in page.text("#hits li"), "search finds")
    expect_quiet(page)
    page.close()


def first_view_is_opened(browser, inputs):
    """A model in one scope that is higher than a screen does not open as one closed box."""
    page = browser.open(inputs.page("one_scope"))
    plan = document(inputs.page("one_scope"))
    labels = [plan["outline"]["label"][node] for node in plan["layout"]["open"]]
    expect("m" in labels, f"open at first: {labels}")
    expect(plan["layout"]["size"][0][1] > 1500, f"the model is {plan['layout']['size'][0]} large, which fits a screen")
    expect_quiet(page)
    page.close()


CASES = [first_view_is_opened, small_windows_open_less, names_are_readable_from_afar, cut_names_keep_their_ends, words_stand_beside_lines, only_changes, says_prices, marks_changes, changes_by_pairs, marks_in_both_plans, without_idle_callbacks,
         keyboard_reaches_all, zooms, search_finds_kinds, search_stays_open, overlays_and_themes, double_click_opens,
         marks_are_clicked, readers_name_inputs]
