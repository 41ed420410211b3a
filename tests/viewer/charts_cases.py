"""Where time and memory go, tables, memory over the step, schedule and communication: that what they show adds up to
the plan's summary (what `infer --format json` prints, which the page holds), and that one can click it."""
import base64
import collections
import csv
import io
import json
import re
import zlib

from browser import SETTLED
from expect import SLACK, Failure, expect, expect_equal, expect_quiet, expect_shown


def document(path):
    text = re.search(r'id="document">([^<]*)<', path.read_text()).group(1)
    return json.loads(zlib.decompress(base64.b64decode(text)))["plans"][0]


def expect_near(seen, wanted, what):
    if seen is None or abs(seen - wanted) > 1e-9 * abs(wanted) + 1e-15:
        raise Failure(f"{what}: {seen}, the plan says {wanted}")


def total(page, panel, name):
    return page.evaluate(f"Number(document.querySelector('.panel.{panel} [data-total={json.dumps(name)}]')?.dataset.value)")


def choose(page, selector, value):
    page.evaluate(f"""(() => {{ const select = document.querySelector({json.dumps(selector)}); select.value = {json.dumps(value)};
                  select.dispatchEvent(new Event("change")); }})()""")
    page.settle()


def open_panel(browser, inputs, name, panel):
    page = browser.open(inputs.page(name))
    page.click(f"[role=tab][data-panel={panel}]")
    page.settle()
    return page, document(inputs.page(name))


def middle(page, selector, across=0.5, down=0.5):
    box = page.evaluate(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})()")
    return box[0] + box[2] * across, box[1] + box[3] * down


def where_adds_up(browser, inputs):
    """Every measure, folded and not, as treemap and as icicle."""
    for name in ("llama", "mlp"):
        page, plan = open_panel(browser, inputs, name, "where")
        summary, schedule = plan["head"]["summary"], plan["schedule"]["summary"]
        wanted = {"step": schedule["compute"] + schedule["exposed"], "exposed": schedule["exposed"],
                  "sum": summary["compute_seconds"] + summary["collective_seconds"], "moved": summary["bytes_moved"],
                  "peak": summary["peak_bytes"]}
        for measure, value in wanted.items():
            choose(page, ".where select[aria-label=size]", measure)
            expect_near(total(page, "where", measure), value, f"{name}, {measure}")
            page.click(".where input[type=checkbox]")
            expect_near(total(page, "where", measure), value, f"{name}, {measure}, unfolded")
        expect_quiet(page)
        page.close()


def where_tells_of_kernels(browser, inputs):
    """Of a chain that is one kernel: its time stands at its ends, what has no tile is counted, each tile says the whole."""
    page, plan = open_panel(browser, inputs, "relus", "where")
    took = plan["decisions"]["seconds"]
    inside = sum(time == 0 for time in took)
    expect(inside >= 5 and set(plan["decisions"]["kernels"]["of_op"]) == {0}, f"times {took} of one kernel")
    expect(f"{inside} ops inside fused kernels have no tile" in page.text(".where .totals"), page.text(".where .totals"))
    told = set()
    for across, down in ((0.1, 0.6), (0.5, 0.6), (0.95, 0.6), (0.5, 0.2), (0.5, 0.97)):
        page.move(*middle(page, ".where .surface canvas", across, down))
        page.settle()
        tip = page.text(".where .tip")
        told.add(tip.split("\n")[0])
        expect(f"light, of {len(took)} ops" in tip, f"the tip says {tip}")
        expect_shown(re.search(r"ops, (.*) in all", tip).group(1), sum(took), "the kernel's time")
    expect_equal(told, {name for name, time in zip(plan["graph"]["ops"]["name"], took) if time > 0}, "ops that have tiles")
    choose(page, ".where select[aria-label=size]", "peak")
    expect("no tile" not in page.text(".where .totals"), "kernels are told of memory")
    expect_quiet(page)
    page.close()


def where_is_gone_into(browser, inputs):
    """A click goes into a scope, a button of the trail out of it; so do keys."""
    page, _ = open_panel(browser, inputs, "llama", "where")
    expect_equal(page.count(".trail button"), 1, "steps at first")
    for shape in ("treemap", "icicle"):
        choose(page, ".where select[aria-label=shape]", shape)
        x, y = middle(page, ".where .surface canvas", 0.2, 0.02 if shape == "treemap" else 0.2)
        page.move(x, y)
        page.settle()
        told = page.text(".where .tip b")
        page.click_at(x, y)
        page.settle()
        expect(page.count(".trail button") > 1 and told, f"a click goes nowhere: {told}")
        page.click(".trail button")
        expect_equal(page.count(".trail button"), 1, "steps after going out")
    page.evaluate("document.querySelector('.where .surface canvas').focus()")
    page.press("ArrowRight")
    page.press("Enter")
    page.settle()
    expect(page.count(".trail button") > 1, "Enter goes into a tile")
    page.press("Backspace")
    page.settle()
    expect_equal(page.count(".trail button"), 1, "steps after Backspace")
    expect_quiet(page)
    page.close()


def where_keys_need_no_frame(browser, inputs):
    """Keys that come before what they follow is drawn mean the tiles that stand then, not those of before."""
    page, _ = open_panel(browser, inputs, "llama", "where")
    for shape in ("treemap", "icicle"):
        choose(page, ".where select[aria-label=shape]", shape)
        steps = page.evaluate("""(() => {
          const canvas = document.querySelector(".where .surface canvas");
          const press = (key) => {
            canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
            return document.querySelectorAll(".where .trail button").length;
          };
          return [..."ABCD"].flatMap(() => ["ArrowRight", "Enter", "ArrowRight", "Enter", "Backspace", "Backspace"].map(press));
        })()""")
        expect_equal(steps, [1, 2, 2, 3, 2, 1] * 4, f"steps of the trail as {shape}")
    expect_quiet(page)
    page.close()


def memory_keys_need_no_frame(browser, inputs):
    """Keys that come before a panel is first drawn mean what they mean afterwards."""
    keys = """async (before) => {
      document.querySelector("[role=tab][data-panel=memory]").click();
      const canvas = document.querySelector(".memory .surface canvas");
      const width = canvas.width;
      while (!before && canvas.width === width) await new Promise((done) => plainFrame(done));
      for (const key of ["+", "+", "ArrowLeft", "ArrowLeft", "ArrowLeft"]) {
        canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      }
    }"""
    moments = []
    for before in ("true", "false"):
        page = browser.open(inputs.page("llama"))
        page.evaluate(f"({keys})({before})")
        page.settle()
        moments.append(page.text(".moment p"))
        expect_quiet(page)
        page.close()
    expect_equal(moments[0], moments[1], "the moment after keys before the first frame")


def tables_add_up(browser, inputs):
    page, plan = open_panel(browser, inputs, "llama", "tables")
    summary = plan["head"]["summary"]
    wire = sum(row["seconds"] for row in summary["collectives"])
    expect_near(total(page, "tables", "compute"), summary["compute_seconds"], "compute of ops")
    expect_near(total(page, "tables", "exposed"), plan["schedule"]["summary"]["exposed"], "exposed of ops")
    expect_near(total(page, "tables", "wire"), wire, "collectives of ops")
    page.click("[data-table=collectives]")
    expect_near(total(page, "tables", "seconds"), wire, "time of collectives")
    expect_near(total(page, "tables", "bytes"), summary["bytes_moved"], "bytes of collectives")
    page.click("[data-table=peak]")
    expect_near(total(page, "tables", "bytes") + plan["memory"]["workspace_bytes"], summary["peak_bytes"], "tensors at the peak")
    page.click("[data-table=decisions]")
    expect_near(total(page, "tables", "seconds"), summary["compute_seconds"], "compute of all decisions")
    expect_near(total(page, "tables", "ops"), len(plan["graph"]["ops"]["name"]), "ops of all decisions")
    expect_quiet(page)
    page.close()


def late_changes_have_a_column(browser, inputs):
    """A column of what only the last op has is there."""
    page = browser.open(inputs.diff_page("late", "late_other"))
    page.click("[role=tab][data-panel=tables]")
    page.settle()
    expect(total(page, "tables", "change") != 0 and page.count(".tables [data-total=change]") == 1, "no column of changes")
    expect_quiet(page)
    page.close()


def tables_filter_and_sort(browser, inputs):
    """By text, by column, by a click on a head; a click on a row selects; few rows are elements."""
    page, plan = open_panel(browser, inputs, "llama", "tables")
    ops = plan["graph"]["ops"]
    rows = lambda: int(page.text(".tables .totals b").split()[0])
    expect_equal(rows(), len(ops["name"]), "rows")
    expect(page.count(".tables .row") < 100, "rows out of sight are no elements")
    page.click(".tables input[type=search]")
    page.type("LAYERS.3 mlp")
    page.settle()
    columns = [[name, plan["graph"]["op_types"][ops["type"][i]], plan["graph"]["texts"][ops["scope"][i]]] for i, name in enumerate(ops["name"])]
    least = [i for i, texts in enumerate(columns) if all(word in "\n".join(texts).lower() for word in ("layers.3", "mlp"))]
    expect(len(least) <= rows() < len(ops["name"]), f"filtered to {rows()}, named so {len(least)}")
    page.evaluate("(() => { const b = document.querySelector('.tables input[type=search]'); b.value = ''; b.dispatchEvent(new Event('input')); })()")
    choose(page, ".tables .data-table label:nth-of-type(1) select", "0")
    kind = page.evaluate("document.querySelector('.tables .data-table select').selectedOptions[0].textContent").split(" (")[0]
    expect_equal(rows(), sum(plan["graph"]["op_types"][t] == kind for t in ops["type"]), f"ops of type {kind}")
    page.click(".tables [role=columnheader]:nth-child(1) button")
    first = page.text(".tables .row [role=gridcell]")
    expect_equal(first, min(name for i, name in enumerate(ops["name"]) if columns[i][1] == kind), "first by name")
    page.click(".tables .row")
    page.wait(f"document.querySelector('.side h2')?.textContent === {json.dumps(first)}")
    expect_quiet(page)
    page.close()


def tables_are_saved(browser, inputs):
    """What is saved is read back by a reader of CSV, whatever names hold; none of them is a formula."""
    page, plan = open_panel(browser, inputs, "hostile", "tables")
    page.evaluate("URL.createObjectURL = (blob) => { window.saved = blob; return 'data:,'; }")
    page.evaluate("document.addEventListener('click', (e) => { if (e.target.download) { window.named = e.target.download; e.preventDefault(); } }, true)")
    page.click(".tables .data-table button")
    text = page.evaluate("window.saved.text()")
    expect_equal(page.evaluate("window.named"), "ops.csv", "name of the file")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    expect_equal(len(rows), 1 + len(plan["graph"]["ops"]["name"]), "rows saved")
    expect(all(len(row) == len(rows[0]) for row in rows), "rows of different lengths")
    seen = {row[0].removeprefix("'") for row in rows[1:]}
    expect_equal(seen, set(plan["graph"]["ops"]["name"]), "names saved")
    for row in rows[1:]:
        for cell in row:
            number = re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", cell)
            expect(number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), f"a formula: {cell[:50]!r}")
    expect_quiet(page)
    page.close()


def memory_adds_up(browser, inputs):
    """What is held at the peak, part by part, and the holders of a moment."""
    for name in ("llama", "mlp"):
        page, plan = open_panel(browser, inputs, name, "memory")
        seen = dict(page.evaluate("[...document.querySelectorAll('.memory [data-part]')].map((e) => [e.dataset.part, Number(e.dataset.value)])"))
        memory = plan["memory"]
        expect_equal(seen["all"], memory["peak_bytes"], "all at the peak")
        for part, size in parts_of(plan["head"]["summary"]).items():
            expect_equal(seen[part], size, f"{part} at the peak")
        before = page.text(".moment p")
        page.move(*middle(page, ".memory .surface canvas", 0.3, 0.5))
        page.settle()
        expect(page.text(".moment p") != before, "the moment follows the pointer")
        page.click(".moment ol button")
        page.wait("document.querySelector('.side h2') !== null")
        page.evaluate("document.querySelector('.memory .surface canvas').focus()")
        page.press("p")
        page.settle()
        expect_equal(page.text(".moment p"), before, "P goes to the peak")
        choose(page, ".memory select[aria-label=across]", "time")
        expect_quiet(page)
        page.close()


PARTS = {"parameter_bytes": "parameters", "gradient_bytes": "gradients", "optimizer_state_bytes": "optimizer states",
         "kept_activation_bytes": "kept activations", "other_activation_bytes": "other activations",
         "activation_bytes": "activations", "boxing_bytes": "boxing buffers"}


def parts_of(summary):
    """What the summary says the peak is made of: by name, bytes."""
    memory = summary["memory"]
    return {PARTS[key]: size for key, size in memory.get("training", memory).items() if key in PARTS}


def traffic_adds_up(browser, inputs):
    page, plan = open_panel(browser, inputs, "llama", "traffic")
    summary, traffic = plan["head"]["summary"], plan["traffic"]
    expect_near(total(page, "traffic", "moved"), summary["bytes_moved"], "bytes of all kinds")
    expect_near(sum(size for flow in traffic["flows"] for _, _, size in flow["matrix"]), summary["bytes_moved"], "bytes of the matrix")
    expect_near(traffic["intra_node"]["bytes"] + traffic["inter_node"]["bytes"], summary["bytes_moved"], "bytes of the links")
    expect_near(total(page, "traffic", "bytes"), summary["bytes_moved"], "bytes of the groups")
    expect_near(total(page, "traffic", "exposed"), plan["schedule"]["summary"]["exposed"], "exposed of the groups")
    x, y = middle(page, ".traffic .surface canvas", 0.3, 0.3)
    page.move(x, y)
    page.settle()
    expect("device" in (page.text(".traffic .tip b") or ""), "the pointer tells of a cell")
    page.click(".flows input")
    page.settle()
    page.click(".traffic .row")
    page.wait("document.querySelector('.side h2') !== null")
    expect_quiet(page)
    page.close()


def times_of_collectives_agree(browser, inputs):
    """What collectives take is one number on each panel, where slices stand between them, too."""
    local = 0
    for name in ("accumulated", "sliced"):
        page, plan = open_panel(browser, inputs, name, "traffic")
        wire = sum(row["seconds"] for row in plan["head"]["summary"]["collectives"])
        local += total(page, "traffic", "local") or 0
        expect_near(total(page, "traffic", "seconds"), wire, "time of the groups")
        expect_near(total(page, "traffic", "wire"), wire, "time of the kinds")
        page.click("[role=tab][data-panel=schedule]")
        expect_near(total(page, "schedule", "collectives"), wire, "collectives of the schedule")
        page.click("[role=tab][data-panel=tables]")
        expect_near(total(page, "tables", "wire"), wire, "collectives of ops")
        expect_quiet(page)
        page.close()
    expect(local > 0, "no slices stand between collectives")


def matrix_parts_nodes(browser, inputs):
    """Lines stand where the node changes, by rank, also where the mesh begins inside of a node."""
    page, plan = open_panel(browser, inputs, "off_node", "traffic")
    traffic, ranks = plan["traffic"], plan["head"]["mesh"]["ranks"]
    expect_equal((traffic["per_block"], traffic["devices_per_node"], ranks), (1, 8, list(range(4, 12))), "devices")
    expect("lines part the nodes" in page.text(".traffic"), "the lines are not told of")
    dark = page.evaluate("""(() => {
      const canvas = document.querySelector(".traffic canvas"), scale = devicePixelRatio;
      const side = Math.min(canvas.clientWidth - 46 - 8, canvas.clientHeight - 24 - 8) / 8;
      const ink = (at, row) => {  // cells with bytes are dark, too: a line goes through all rows
        const {data} = canvas.getContext("2d").getImageData((46 + Math.round(at * side) - 2) * scale, (24 + (row + 0.3) * side) * scale, 5 * scale, 1);
        return Math.min(...Array.from({length: data.length / 4}, (_, i) => data[4 * i] + data[4 * i + 1] + data[4 * i + 2]));
      };
      return Array.from({length: 7}, (_, i) => Math.max(...Array.from({length: 8}, (_, row) => ink(i + 1, row))));
    })()""")
    expect(all(dark[3] + 60 < value for i, value in enumerate(dark) if i != 3), f"how dark at each border: {dark}")
    expect_quiet(page)
    page.close()


def collectives_of(plan, tensor):
    """How often each kind of collective moves a tensor."""
    transitions = plan["transitions"]
    kinds = [kind["name"] for kind in transitions["kinds"]]
    number = plan["graph"]["tensors"]["name"].index(tensor)
    return [kinds[step[0]] for t, name in enumerate(transitions["tensor"]) if name == number for step in transitions["steps"][t]]


def pins_remove_collectives(browser, inputs):
    """A plan that gathers for no good reason: the page names the pin after which nothing is gathered."""
    inputs.plan("mlp")
    flags = ["mlp.graph.json", "--mesh", "data=2,model=4", "-q"]
    inputs.run("infer", *flags, "--strategy", "einsum", "--pin", "w1=(B, S(1))", "--pin", "act.0=(B, B)", "-o", "gathers.json")
    inputs.run("infer", *flags, "--strategy", "fixed", "--assignment", "gathers.json", "-o", "fixed.json")
    inputs.run("render", "fixed.json", "-o", "fixed.html")
    plan = document(inputs.folder / "fixed.html")
    expect("all-gather" in collectives_of(plan, "h"), "the plan gathers h")
    tensors = [plan["graph"]["tensors"]["name"][plan["transitions"]["tensor"][row["transition"]]] for row in plan["removals"]]
    expect("h" in tensors, f"no pin is named: {plan['removals']}")
    pin = plan["removals"][tensors.index("h")]["pin"]
    page = browser.open(inputs.folder / "fixed.html")
    page.click("[role=tab][data-panel=traffic]")
    page.settle()
    expect(any(pin in text for text in page.texts(".traffic .row")), f"the table does not say {pin}")
    page.close()
    inputs.run("infer", *flags, "--strategy", "einsum", "--pin", "w1=(B, S(1))", "--pin", pin, "-o", "pinned.json")
    inputs.run("render", "pinned.json", "-o", "pinned.html")
    expect_equal(collectives_of(document(inputs.folder / "pinned.html"), "h"), [], f"collectives of h after {pin}")


def old_views_are_let_go(browser, inputs):
    """Of two plans one is chosen again and again: nothing holds the views of before, and they hear of nothing."""
    page = browser.open(inputs.diff_page("mlp", "mlp_longer"))
    for panel in ("where", "memory", "schedule", "traffic"):
        page.click(f"[role=tab][data-panel={panel}]")
        choose_often = f"""(async (times) => {{
          const select = document.querySelector(".panel.{panel} select[aria-label='which plan']");
          for (let i = 0; i < times; ++i) {{
            select.value = String(1 - Number(select.value));
            select.dispatchEvent(new Event("change"));
            await {SETTLED};  // else the next choice replaces a view before it is drawn
          }}
        }})"""
        page.evaluate(f"{choose_often}(4)")  # samples of fills are kept once they are made, by what is drawn
        before = page.living("HTMLCanvasElement")
        page.evaluate(f"{choose_often}(10)")
        after = page.living("HTMLCanvasElement")
        view = page.count(f".panel.{panel} canvas")  # the last one before may not be let go yet, with all that it drew on
        expect(after <= before + view, f"{panel}: {before} canvases are held before ten choices, {after} after them, a view has {view}")
        expect(view < 10, f"{panel}: a view of {view} canvases hides that one is kept of each choice")
        page.click("header button[aria-label^='switch to the']")
        page.settle()
    expect_quiet(page)
    page.close()


def removals_are_told(browser, inputs):
    """Of every kind of collectives whether a pin was looked for, and at each of a kind the pin of the first."""
    page, plan = open_panel(browser, inputs, "llama", "traffic")
    kinds = int(re.match(r"(\d+) kinds of collectives", page.text(".traffic .removals")).group(1))
    expect_equal(len(plan["removals"]), kinds, "kinds that were looked at")
    heads = page.texts(".traffic [role=columnheader]")
    expect_equal(heads[heads.index("Its price") + 1], "and memory", "column beside the price")
    cells = page.evaluate("[...document.querySelectorAll('.traffic .data-table .row:not([hidden])')].map((row) => [...row.children].map((cell) => cell.innerText))")
    pins = {row["pin"]: row for row in plan["removals"] if row["pin"]}
    priced = 0
    for pin, *prices in ([row[heads.index("Pin that removes it here"):][:3] for row in cells]):
        if pin in pins and (pins[pin]["extra_seconds"] is None or pins[pin]["extra_bytes"]):
            expect_shown(prices[1].removeprefix("+"), pins[pin]["extra_bytes"], f"bytes that {pin} holds more")
            priced += 1
    expect(priced > 0, "no pin has a price in memory")
    transitions = plan["transitions"]
    row = next(row for row in plan["removals"] if row["pin"])
    first = row["transition"]
    key = lambda t: [transitions[name][t] for name in ("from", "to", "seconds")] + [step[:2] for step in transitions["steps"][t]] + [  # noqa: E731
        plan["graph"]["tensors"]["type"][transitions["tensor"][t]]]
    other = next(t for t in range(len(transitions["tensor"])) if t != first and key(t) == key(first))
    page.evaluate(f"location.hash = '#transition={other}'")
    page.wait("document.querySelector('.side .kind')?.innerText === 'Collective'")
    page.settle()
    expect("the first that is alike" in page.text(".side"), "whose pin it is, is not told")
    codes = page.evaluate("[...document.querySelectorAll('.side code')].map((c) => c.title)")
    expect(any(row["pin"] in code for code in codes), f"{row['pin']} is not among {codes}")
    expect_quiet(page)
    page.close()


def large_plans_stay_quick(browser, inputs):
    """Panels of 50,000 ops open within seconds (size_cases.py says what a loaded machine may take), and no panel makes an element per op."""
    page = browser.open(inputs.page("ops50000"))
    for panel in ("where", "tables", "memory", "schedule", "traffic"):
        took = page.timed(f"document.querySelector('[role=tab][data-panel={panel}]').click()")
        expect(took < 3 * SLACK, f"{panel} opens in {took:.2f} s")
    expect(page.evaluate("document.querySelectorAll('*').length") < 6000, "too many elements")
    expect_quiet(page)
    page.close()


CASES = [late_changes_have_a_column, where_tells_of_kernels, old_views_are_let_go, matrix_parts_nodes, where_adds_up,
         where_is_gone_into, where_keys_need_no_frame, memory_keys_need_no_frame, tables_add_up, tables_filter_and_sort,
         tables_are_saved, memory_adds_up, times_of_collectives_agree,
         traffic_adds_up, pins_remove_collectives, removals_are_told]
SLOW_CASES = [large_plans_stay_quick]
