"""What a page says of a whole plan: what it is called, whether it fits, its warnings and its physical plan; and that what
is called alike, or drawn from afar, can be told apart."""
import json

from charts_cases import document, open_panel
from expect import expect, expect_equal, expect_quiet, expect_shown
from page_cases import CONTRAST, OUT_OF_REACH

# Texts drawn from now on: {canvas (which graph), text, left, right, y, size (pixels)}.
KEEP_TEXTS = """(() => {
  window.texts = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const {a, e, f} = this.getTransform();
    const left = a * (x - (this.textAlign === "right" ? this.measureText(text).width : 0)) + e;
    window.texts.push({canvas: [...document.querySelectorAll(".graph-canvas")].indexOf(this.canvas), text, left,
      right: left + a * this.measureText(text).width, y: a * y + f, size: a * Number(/([\\d.]+)px/.exec(this.font)[1])});
    return draw.apply(this, arguments);
  };
})()"""


def texts_of_graphs(page, width, height):
    """What is drawn when the window gets that size."""
    page.evaluate(KEEP_TEXTS)
    page.resize(width, height)
    page.settle()
    page.evaluate("window.texts = []; document.querySelectorAll('.graph-buttons [aria-label^=\"show all\"]').forEach((b) => b.click())")
    page.settle()
    drawn = {(text["canvas"], text["text"], round(text["left"]), round(text["y"])): text for text in page.evaluate("window.texts")}
    return [text for text in drawn.values() if text["canvas"] >= 0]


def says_that_it_does_not_fit(browser, inputs):
    """In the head of the page, About, Memory and Changes; with every warning of the plan."""
    plan = inputs.read("too_large")
    expect(plan["warnings"], "the plan warns of nothing")
    page, shown = open_panel(browser, inputs, "too_large", "about")
    page.resize(2200, 1000)  # where all of it is spelled
    page.settle()
    expect_shown(page.text(".plan-line .alert").split("peak ")[1], plan["memory"]["peak_bytes"], "peak in the head")
    expect_equal(page.texts(".about .warnings li"), plan["warnings"], "warnings")
    expect(f"{len(plan['warnings'])} warning" in page.text(".plan-line button"), "the head counts warnings")
    for panel in ("about", "memory"):
        page.click(f"[role=tab][data-panel={panel}]")
        page.settle()
        expect("does not fit" in page.text(f".panel.{panel} .alert"), f"{panel} does not say that it does not fit")
        expect_equal(page.evaluate(CONTRAST), [], f"contrast in {panel}")
    # The device's line is on paper of its own, so that it is seen on every area.
    lined = page.evaluate("""(() => {
      const canvas = document.querySelector(".memory .surface canvas");
      const {data, width, height} = canvas.getContext("2d").getImageData(300, 40, 40, canvas.height - 90);
      const is = (x, y, color) => color.every((c, i) => Math.abs(data[4 * (y * width + x) + i] - c) < 8);
      for (let y = 3; y + 3 < height; ++y) for (let x = 0; x < width; ++x) {
        if (is(x, y, [0xa8, 0x48, 0x0a]) && is(x, y + 1, [255, 255, 255]) && is(x, y - 2, [255, 255, 255])) return true;
      }
      return false;
    })()""")
    expect(lined, "the device's line has no paper of its own")
    expect_equal(shown["head"]["warnings"], plan["warnings"], "warnings of the document")
    page.close()
    page = browser.open(inputs.page("mlp"))
    expect_equal(page.count(".plan-line .alert"), 0, "complaints of a plan that fits")
    page.close()
    page = browser.open(inputs.diff_page("mlp", "too_large"))
    page.click("[role=tab][data-panel=diff]")
    expect("after: this plan does not fit" in page.text(".complaints"), "Changes does not say that the plan does not fit")
    expect_quiet(page)
    page.close()


def plans_have_names(browser, inputs):
    """A page says of which plan it is; one of two plans what tells them apart."""
    page = browser.open(inputs.page("mlp"))
    expect(page.evaluate("document.title").startswith("mlp.graph.json (mlp) · mesh data=2,model=4 · einsum"), "title of the tab")
    expect_equal(page.text("h1"), "mlp.graph.json (mlp)", "name of the model")
    step = document(inputs.page("mlp"))["schedule"]["summary"]["step"]
    figures = page.texts(".plan-line span")
    expect_shown(figures[0].removeprefix("step "), step, "step in the head")
    expect_shown(figures[-2].removeprefix("peak "), inputs.read("mlp")["memory"]["peak_bytes"], "peak in the head")
    expect_equal(figures[-1], "data=2, model=4", "mesh in the head")
    page.close()
    page = browser.open(inputs.diff_page("mlp", "mlp_other"))
    expect_equal(page.evaluate("document.title"), "mlp.graph.json (mlp): mlp.json → mlp_other.json", "title of two plans")
    names = ["before: mlp.json, einsum, mlp.graph.json (mlp)", "after: mlp_other.json, replicate, mlp_other.graph.json (mlp)"]
    expect_equal(page.texts(".plan-line b"), names, "names in the head")
    expect_equal([text.split("\n")[0].replace(" only changes", "").strip() for text in page.texts(".graph-name")], names, "names over the graphs")
    expect_quiet(page)
    page.close()


def tells_of_the_physical_plan(browser, inputs):
    """Its arena, and that several micro-batches run: one run is drawn of memory, all in the schedule."""
    plan = inputs.read("physical")["physical"]
    page, shown = open_panel(browser, inputs, "physical", "about")
    seen = dict(page.evaluate("[...document.querySelectorAll('.about dt')].map((t) => [t.innerText, t.nextElementSibling.innerText])"))
    expect_shown(seen["physical plan"].removeprefix("arena of "), shown["memory"]["physical"]["arena_bytes"], "arena")
    expect_equal(shown["memory"]["physical"]["micro_batches"], 4, "micro-batches of the document")
    expect_equal(shown["memory"]["physical"]["tasks"], len(plan["tasks"]), "tasks")
    for panel in ("memory", "schedule"):
        page.click(f"[role=tab][data-panel={panel}]")
        page.settle()
        told = page.text(f".panel.{panel} .physical")
        expect(("One run of the ops is drawn" in told) == (panel == "memory") and "each of 4 micro-batches" in told, f"{panel}: {told}")
    expect_quiet(page)
    page.close()


def a_far_trace_is_seen_beside_the_plan(browser, inputs):
    """A plan of microseconds is stretched beside a run of seconds."""
    events = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "device 0, measured"}}]
    events += [{"ph": "X", "pid": 0, "tid": 0, "ts": 1e6 * i, "dur": 9e5, "name": f'{op["type"]} "{op["name"]}"'}
               for i, op in enumerate(inputs.read("mlp")["graph"]["ops"])]
    (inputs.folder / "far.trace.json").write_text(json.dumps({"traceEvents": events}))
    page = browser.open(inputs._paged("far.html", "render", inputs.plan("mlp"), "--trace", "far.trace.json"))
    page.click("[role=tab][data-panel=schedule]")
    page.settle()
    expect(page.evaluate("document.querySelector('.schedule .controls label:last-child input, .schedule .controls input[type=checkbox]:checked')?.checked"),
           "the plan is not drawn as long as the trace")
    expect_quiet(page)
    page.close()


def steps_have_room(browser, inputs):
    """The words of a step beside times of several runs."""
    runs = document(inputs.page("accumulated"))["transitions"]["runs"]
    page = browser.open(inputs.page("accumulated"), 1400, 880)
    page.go(f"#transition={runs.index(4)}")
    width = page.evaluate("document.querySelector('.side table.steps td').getBoundingClientRect().width")
    expect(width > 55, f"the first column is {width} wide")
    expect("(4 × " in page.text(".side table.steps"), "times of four runs")
    wide = page.evaluate("(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.querySelector('.side .body'))")
    expect(wide <= 0, f"the panel is {wide} too narrow")
    page.close()


def two_graphs_can_be_read(browser, inputs):
    """At first sight every box has words, none over others, all below the graph's name; on narrow screens one above the other."""
    page = browser.open(inputs.diff_page("accumulated", "accumulated_other"), 1390, 880)
    texts = texts_of_graphs(page, 1400, 880)
    bottom = page.evaluate("(() => { const [n, c] = ['.graph-name', '.graph-canvas'].map((s) => document.querySelector(s).getBoundingClientRect()); return n.bottom - c.top; })()")
    for graph in (0, 1):
        mine = [text for text in texts if text["canvas"] == graph]
        expect(len(mine) > 10, f"graph {graph} has {len(mine)} words")
        expect(min(text["y"] - text["size"] for text in mine) > bottom - 2, f"graph {graph}: words under its name")
        small = [text for text in mine if text["size"] < 4.8]
        expect(not small, f"graph {graph}: too small: {small[:2]}")
    page.resize(390, 844)
    page.settle()
    first, second = page.evaluate("[...document.querySelectorAll('.graph-view')].map((v) => v.getBoundingClientRect()).map(({left, top, bottom}) => [left, top, bottom])")
    expect(first[0] == second[0] and first[2] <= second[1], f"graphs at {first} and {second}")
    expect_equal(page.evaluate(OUT_OF_REACH), [], "out of reach")
    titles = [text for text in texts_of_graphs(page, 380, 844) if text["text"].startswith("▾")]
    for i, a in enumerate(titles):
        for b in titles[i + 1:]:
            expect(a["canvas"] != b["canvas"] or abs(a["y"] - b["y"]) > 7 or a["right"] <= b["left"] or b["right"] <= a["left"], f"{a} over {b}")
    expect_quiet(page)
    page.close()


def cut_names_differ(browser, inputs):
    """Long names are cut where neighbours are alike; all of them is in their tips."""
    page = browser.open(inputs.diff_page("long_names", "long_names_other"), 1100, 900)
    for panel, selector in (("tables", ".tables .data-table .row:not([hidden]) > div:first-child"), ("diff", ".changes .name bdi")):
        page.click(f"[role=tab][data-panel={panel}]")
        page.settle()
        rows = page.evaluate(f"[...document.querySelectorAll('{selector}')].map((e) => [e.textContent, e.title || e.textContent])")
        shown, whole = {text for text, _ in rows}, {title for _, title in rows}
        expect(any(text != title for text, title in rows), f"{panel}: no name is cut")
        expect_equal(len(shown), len(whole), f"{panel}: names apart, of {sorted(shown)[:12]}")
        over = page.evaluate(f"[...document.querySelectorAll('{selector}')].filter((e) => e.parentElement.scrollWidth > e.parentElement.clientWidth + 1).length")
        expect(panel == "tables" or over == 0, f"{panel}: {over} names are wider than their column")
    expect_equal(page.evaluate("[...document.querySelectorAll('.changes .name .why')].filter((e) => e.title !== e.textContent).length"), 0, "tips of what changed")
    page.close()


def positions_are_whole(browser, inputs):
    """However few ops there are, no two marks of the axis of positions read alike."""
    page, _ = open_panel(browser, inputs, "whole", "memory")
    page.evaluate(KEEP_TEXTS)
    page.resize(1500, 900)
    page.settle()
    marks = sorted({(text["left"], text["text"]) for text in page.evaluate("window.texts") if text["text"].isdigit()})
    expect_equal([text for _, text in marks], [str(i) for i in range(len(marks))], "marks of the axis")
    expect(len(marks) > 1, f"{len(marks)} marks")
    expect_quiet(page)
    page.close()


def types_go_without_domains(browser, inputs):
    """Where a box has no room for both; the name of the op stands below."""
    page = browser.open(inputs.page("without_rule"))
    texts = [text["text"] for text in texts_of_graphs(page, 1500, 900)]
    expect("○ TokenDispatch" in texts, f"drawn: {texts}")
    expect_quiet(page)
    page.close()


def one_is_no_plural(browser, inputs):
    """A plan of one kind of collectives; a table of one row, and the same filtered."""
    page, shown = open_panel(browser, inputs, "off_node", "traffic")
    expect_equal(len(shown["removals"]), 1, "kinds of collectives")
    expect(page.text(".traffic .removals").startswith("1 kind of collectives:"), page.text(".traffic .removals"))
    expect_equal(page.text(".traffic .totals b"), "1 row", "rows")
    expect_quiet(page)
    page.close()


def modules_called_again(browser, inputs):
    """Results only go on: no box feeds what it follows, and what is no box is none that search finds."""
    page = browser.open(inputs.page("called_again"))
    shown = document(inputs.page("called_again"))
    labels = shown["outline"]["label"]
    block = labels.index("block")
    expect_equal([labels[-1 - item] if item < 0 else item for item in shown["outline"]["items"][block]],
                 ["fc1", 1, "fc2", 3, "fc3"], "what stands in the block")
    at = shown["layout"]["open"].index(block)
    expect_equal([pair[:2] for pair in shown["layout"]["edges"][at]], [[i, i + 1] for i in range(4)], "edges in the block")
    page.press("/")
    page.type("relu")
    page.settle()
    rows = page.texts(".search li")
    expect(rows and not any(row.startswith("group") for row in rows), f"search finds {rows}")
    expect_quiet(page)
    page.close()


def keys_reach_collectives(browser, inputs):
    """Arrow keys come to the marks of collectives, and on from there."""
    page = browser.open(inputs.page("llama"))
    page.evaluate("document.querySelector('.graph-canvas').focus()")
    kinds = []
    for _ in range(30):
        page.press("ArrowDown")
        page.settle()
        kinds.append(page.text(".side .kind"))
        if kinds[-1] == "Collective" and "Collective" not in kinds[:-1]:
            expect(" over " in page.text(".graph-view .said"), "what is said of a mark")
    expect("Collective" in kinds, f"no collective among {kinds}")
    expect(kinds[kinds.index("Collective") + 1:].count("Op") + kinds[kinds.index("Collective") + 1:].count("Scope") > 0,
           f"keys stay at the collective: {kinds}")
    expect_quiet(page)
    page.close()


CASES = [one_is_no_plural, types_go_without_domains, positions_are_whole, modules_called_again, says_that_it_does_not_fit, plans_have_names, tells_of_the_physical_plan, a_far_trace_is_seen_beside_the_plan,
         steps_have_room, two_graphs_can_be_read, cut_names_differ, keys_reach_collectives]
