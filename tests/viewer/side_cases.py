"""The side panel: ops, tensors with their shards, collectives, scopes; links, the way back, addresses."""
import html
import json

from browser import fragment
from charts_cases import document
from expect import expect, expect_equal, expect_quiet, expect_shown, number_of


def facts(page):
    """The terms and values of all lists of the panel."""
    return dict(page.evaluate("[...document.querySelectorAll('.side dt')].map((t) => [t.innerText, t.nextElementSibling.innerText])"))


def shows_op(browser, inputs):
    """All that `explain` says of an op: reason, candidates with prices, collectives, time as in the plan."""
    plan = inputs.read("mlp")
    page = browser.open(inputs.page("mlp"), fragment=fragment("op", "down"))
    explained = inputs.explain("mlp", "down")
    seen = facts(page)
    expect_equal(page.text(".side h2"), "down", "name")
    expect_equal(seen["type"], "MatMul", "type")
    expect_equal(seen["because"], f"{explained['strategy']}: {explained['reason']}", "reason")
    chosen = next(c for c in explained["candidates"] if c["chosen"])
    expect_equal(page.text(".candidates tr.chosen .signature"), chosen["signature"], "chosen candidate")
    expect_shown(page.text(".side [data-value=seconds]"), chosen["compute_seconds"], "time")
    page.click(".candidates + .more")
    rows = page.texts(".candidates tbody tr:not(.why)")
    expect_equal(len(rows), min(24, len(explained["candidates"])), "number of candidates")
    by_signature = {c["signature"]: c for c in explained["candidates"]}
    for line in page.evaluate("[...document.querySelectorAll('.candidates tbody tr:not(.why)')].map((r) => [...r.cells].map((c) => c.innerText))"):
        candidate = by_signature[line[1]]
        expect_shown(line[3], candidate["compute_seconds"], f"op seconds of {line[1]}")
        if not candidate["chosen"] and candidate["allowed"]:
            expect_shown(line[2], candidate["extra_seconds"], f"extra seconds of {line[1]}")
    text = page.text(".side")
    for collective in explained["collectives"]:
        expect(collective["reason"] in text, f"the reason {collective['reason']!r} is not shown")
        expect(", then ".join(collective["steps"]) in text, f"{collective['steps']} is not shown")
    expect(any(t["reason"] for t in plan["transitions"]) if plan.get("transitions") else True, "reasons in the plan")
    expect_quiet(page)
    page.close()


def rules_are_begun(browser, inputs):
    """An op that has no rule says so, and how to write one: what the page offers is read, and a letter in it splits the op."""
    plan = inputs.read("without_rule")
    page = browser.open(inputs.page("without_rule"), fragment=fragment("op", "own"))
    reason = next(row["reason"] for row in plan["replicated"] if row["tensor"] == "d")
    expect_equal(facts(page)["not split"], reason, "why the op is not split")
    begun = page.text(".rule-begun")
    page.go(fragment("tensor", "d"))
    expect_equal(facts(page)["not split"], reason, "why the tensor is not split")
    page.go(fragment("op", "in"))
    expect_equal(page.count(".rule-begun"), 0, "rules offered for an op that has one")
    for name, rule, is_split in (("begun", begun, False), ("written", begun.replace("_ _", "t _"), True)):
        path = inputs.folder / f"{name}.rules"
        path.write_text(rule)
        again = inputs.folder / f"{name}.json"
        inputs.run("infer", inputs.folder / "without_rule.graph.json", "--mesh", "2", "--rules", path, "-o", again, "-q")
        found = json.loads(again.read_text())
        expect_equal([warning for warning in found.get("warnings", []) if "no rule" in warning], [], f"warnings of the rule as {name}")
        expect_equal(not any(row["tensor"] == "d" for row in found.get("replicated", [])), is_split, f"the op is split, {name}")
    expect_quiet(page)
    page.close()


def interval(text):
    """What the last column of candidates says, as [at least, at most]; None: nothing, or no plan."""
    if text in ("", "no plan"):
        return None
    if text.startswith("≥"):
        return [number_of(text[2:]), float("inf")]
    if text.startswith("≤"):
        return [float("-inf"), number_of(text[2:])]
    ends = [number_of(part) for part in text.split(" – ")]
    return [ends[0], ends[-1]]


def says_what_explain_says(browser, inputs):
    """Five kinds of op: neighbours with layouts, candidates, and what forcing one costs, as `explain` has them."""
    plan = document(inputs.page("one_axis"))
    ops, types, entries = plan["graph"]["ops"], plan["graph"]["op_types"], plan["explain"]["entries"]
    page = browser.open(inputs.page("one_axis"))
    searched = 0
    for kind in ("MatMul", "Attention", "RMSNormalization", "Gather", "sbp::AdamW"):
        first = next(entry["first"] for entry in entries if types[ops["type"][entry["first"]]] == kind)
        name = ops["name"][first]
        page.evaluate(f"location.hash = {fragment('op', name)!r}")
        page.wait(f"document.querySelector('.side h2')?.innerText === {json.dumps(name)}")
        explained = inputs.explain("one_axis", name)
        while page.count(".side li .more, .side .part:not(:has(.candidates)) .more"):
            page.click(".side li .more, .side .part:not(:has(.candidates)) .more")
        told = page.evaluate("[...document.querySelectorAll('.side .neighbour')].map((n) => n.innerText)")
        text = page.text(".side").replace("\n", " ")
        for neighbour in explained["neighbours"]:
            slot, other = neighbour["slot"].split(" ", 1)[1], neighbour["other"]
            expect(neighbour["tensor"] in text and slot in text, f"{name}: {neighbour['slot']} is not told")
            reader = other.split('"')[1] if '"' in other else {"output of the graph": "the end of the graph"}.get(other, other)
            expect(any(reader[:60] in line for line in told), f"{name}: neighbour {other} is not told: {told}")
        if page.count(".candidates + .more"):  # more than are shown at first
            page.click(".candidates + .more")
        by_signature = {c["signature"]: c for c in explained["candidates"]}
        for cells in page.evaluate("[...document.querySelectorAll('.candidates tbody tr:not(.why)')].map((r) => [...r.cells].map((c) => c.innerText))"):
            candidate, forced = by_signature[cells[1]], interval(cells[5] if len(cells) > 5 else "")
            if forced is None:
                continue
            searched += 1
            theirs = [float("inf") if end is None else end for end in (candidate["forced"]["at_least"], candidate["forced"]["at_most"])]
            near = lambda end: 0 if abs(end) == float("inf") else 0.006 * abs(end) + 1e-12  # noqa: E731
            expect(forced[0] <= theirs[1] + near(theirs[1]) and theirs[0] <= forced[1] + near(forced[1]),
                   f"{name}, {cells[1]}: forced {cells[5]}, explain says {theirs}")
        whys = page.texts(".candidates tr.why")
        expect(any("copy-cost" in why and "bytes" in why for why in whys), f"{name}: prices by other criteria: {whys[:1]}")
    expect(searched >= 8, f"only {searched} candidates are forced")
    expect_quiet(page)
    page.close()


def says_what_explain_says_of_tensors(browser, inputs):
    """How parameters are spread, pins, and readers with the layouts that they want."""
    page = browser.open(inputs.page("accumulated"))
    plan = inputs.read("accumulated")
    spread = 0
    for name in [p["name"] for p in plan["graph"]["parameters"]][:3]:
        page.evaluate(f"location.hash = {fragment('tensor', name)!r}")
        page.wait(f"document.querySelector('.side h2')?.innerText === {json.dumps(name)}")
        explained = inputs.explain("accumulated", name)
        seen = facts(page)
        spread += len(explained["patterns"])
        expect_equal(seen.get("spread", "").split("\n") if explained["patterns"] else [], explained["patterns"], f"{name}: spread")
        while page.count(".side li + .more, .side ul + .more"):
            page.click(".side li + .more, .side ul + .more")
        text = page.text(".side")
        for reader in explained["readers"]:
            expect(reader["other"].split('"')[1][:60] in text, f"{name}: reader {reader['other']} is not told")
            expect(reader["used"] == reader["written"] or reader["used"] in page.evaluate(
                "[...document.querySelectorAll('.side .chips')].map((c) => c.getAttribute('aria-label'))"), f"{name}: {reader}")
    expect(spread > 0, "no parameter is spread")
    page.close()
    page = browser.open(inputs.page("mlp"), fragment=fragment("tensor", "w1"))
    expect_equal(facts(page)["pinned"], "w1=(B, S(1))", "pin of w1")
    expect_quiet(page)
    page.close()


def copies_are_chosen(browser, inputs):
    """Which copy of a repeated layer is shown can be said, and a hit of the search in another one is shown."""
    plan = document(inputs.page("llama"))
    outline, ops = plan["outline"], plan["graph"]["ops"]
    repeat = next(node for node, kind in enumerate(outline["kind"]) if kind == 2 and outline["items"][node][0] < 0)
    copies = [-1 - item for item in outline["items"][repeat]]
    page = browser.open(inputs.page("llama"), fragment=fragment("scope", outline["path"][copies[0]]))
    select = ".side select[aria-label='which copy']"
    expect_equal(page.count(f"{select} option"), len(copies), "copies to choose from")
    expect("Copies are equal" in page.text(".side"), "whether copies differ is not told")
    page.evaluate(f"""(() => {{ const select = document.querySelector({json.dumps(select)}); select.value = {len(copies) - 1};
                  select.dispatchEvent(new Event("change")); }})()""")
    page.settle()
    expect_equal(page.text(".side h2"), outline["path"][copies[-1]], "the copy that was chosen")
    said = page.text(".graph-view .said")
    expect(f"{outline['label'][copies[-1]]}, {len(copies)} of {len(copies)}" in said, f"the graph shows {said}")
    inside = -1 - copies[1]
    while inside < 0:  # an op in it
        inside = outline["items"][-1 - inside][0]
    page.click("input[type=search]")
    page.type(ops["name"][inside])
    page.settle()
    page.press("Enter")
    page.settle()
    expect_equal(page.text(".side h2"), ops["name"][inside], "the hit")
    expect(ops["name"][inside] in page.text(".graph-view .said"), "the graph does not show the hit in another copy")
    expect("In copies of the layer" in page.text(".side"), "the same op in other copies")
    expect_quiet(page)
    page.close()


def shows_pins(browser, inputs):
    page = browser.open(inputs.page("mlp"), fragment=fragment("op", "up"))
    expect("w1=(B, S(1))" in page.text(".side"), "the pin of w1 is not shown at the op that reads it")
    page.close()


def shards_are_exact(browser, inputs):
    """The picture's slices are those of `explain`, of sizes that nothing divides, layout by layout."""
    page = browser.open(inputs.page("uneven"), fragment="")
    for tensor in ("x", "r", "u", "w", "y"):
        explained = inputs.explain("uneven", tensor)
        page.go(fragment("tensor", tensor))
        expect_equal(page.text(".side h2"), tensor, "what the panel tells of")
        layouts = {}
        for layout in explained["layouts"]:
            layouts.setdefault(layout["layout"], layout)
        radios = page.count(".side input[type=radio]")
        expect_equal(radios, len(layouts), f"layouts of {tensor}")
        for i, layout in enumerate(layouts.values()):
            page.evaluate(f"document.querySelectorAll('.side input[type=radio]')[{i}].click()")
            seen = page.evaluate("[...document.querySelectorAll('.slices tbody tr')].map((r) => [Number(r.cells[0].textContent), r.cells[3].textContent])")
            wanted = [[s["rank"], "[" + ", ".join(f"{b}:{e}" for b, e in s["ranges"]) + "]"] for s in layout["slices"]]
            expect_equal(seen, wanted, f"slices of {tensor} as {layout['layout']}")
            hatched = page.count(".shards pattern") > 0 and page.count(".shards rect[fill^=url]") > 0
            expect_equal(hatched, "P" in layout["layout"], f"hatching of {tensor} as {layout['layout']}")
            distinct = len({text for _, text in wanted})
            expect(page.text(".shards p").startswith(f"{distinct} distinct"), f"{tensor}: {page.text('.shards p')}")
    page.hover(".shards g[data-shard='1']")
    page.settle()
    expect("[" in page.text(".shards .told"), "hovering a shard tells its ranges")
    expect_quiet(page)
    page.close()


def many_devices_are_drawn(browser, inputs):
    """All of 2,048 devices, in few elements; the pointer tells of each, and the table is made when it is opened."""
    page = browser.open(inputs.page("devices2048"), fragment="#tensor=x")
    expect(page.text(".shards p").startswith("64 distinct slices, 32 copies"), page.text(".shards p"))
    expect(page.count(".shards *") < 500, f"{page.count('.shards *')} elements")
    x, y = page.evaluate("(({x, y}) => [x, y])(document.querySelector('.shards svg').getBoundingClientRect())")
    told = []
    for across, down in ((60, 22), (60 + 304 / 32, 22), (60, 22 + 304 / 32)):  # the first, the next of its row and column
        page.move(x + across, y + down)
        told.append(page.text(".shards .told"))
    expect_equal([text.split(":")[0] for text in told],
                 ["device 0 (data 0, model 0)", "device 1 (data 0, model 1)", "device 32 (data 1, model 0)"], "told of devices")
    expect("[0:1, 0:256], shard 0, one of 32 copies" in told[0], told[0])
    expect_equal(page.count(".slices tbody tr"), 0, "rows before the table is opened")
    page.click(".shards summary")
    page.wait("document.querySelectorAll('.slices tbody tr').length === 256")
    expect_quiet(page)
    page.close()


def links_and_way_back(browser, inputs):
    page = browser.open(inputs.page("mlp"), fragment=fragment("op", "act"))
    page.click(".side button.tensor")
    expect_equal(page.text(".side .kind"), "Tensor", "kind after a link")
    expect_equal(page.evaluate("location.hash"), "#tensor=h", "address")
    page.press("ArrowLeft", ["alt"])
    expect_equal(page.text(".side h2"), "act", "after Alt+Left")
    expect_equal(page.evaluate("location.hash"), "#op=act", "address after Alt+Left")
    page.press("ArrowRight", ["alt"])
    expect_equal(page.text(".side h2"), "h", "after Alt+Right")
    page.click(".side button[aria-label=Back]")
    expect_equal(page.text(".side h2"), "act", "after the button Back")
    page.click(".side button[aria-label=Close]")
    expect(page.evaluate("document.querySelector('.side').hidden"), "closed")
    page.close()


def focus_follows(browser, inputs):
    """By keys alone: a link's target has the focus, Escape and Close give it back to who opened the panel."""
    page = browser.open(inputs.page("mlp"))
    focused = lambda: page.evaluate("document.activeElement.className || document.activeElement.tagName")  # noqa: E731
    for leave in ("Escape", "Close"):
        page.evaluate("document.querySelector('.graph-canvas').focus()")
        page.go("#op=act" if leave == "Escape" else "#op=up")
        page.evaluate("document.querySelector('.side button.tensor').focus()")
        page.press("Enter")
        page.settle()
        expect_equal(page.text(".side .kind"), "Tensor", "what a link shows")
        expect_equal(focused(), "H2", "focus after a link")
        if leave == "Escape":
            page.press("Escape")
        else:
            page.evaluate("document.querySelector('.side button[aria-label=Close]').focus()")
            page.press("Enter")
        page.settle()
        expect(page.evaluate("document.querySelector('.side').hidden"), f"{leave} closes")
        expect_equal(focused(), "graph-canvas", f"focus after {leave}")
    expect_quiet(page)
    page.close()


def shows_collective(browser, inputs):
    """A transition: steps, cause, and pins that are pins of the program."""
    plan = inputs.read("llama")
    page = browser.open(inputs.page("llama"), fragment="#transition=0")
    transition = plan["transitions"][0]
    seen = facts(page)
    expect_equal(seen["because"], transition["reason"], "reason")
    expect_shown(seen["time"], transition["seconds"], "time")
    expect_shown(seen["bytes moved"], transition["wire_bytes"], "bytes")
    pins = page.evaluate("[...document.querySelectorAll('.side code')].map((c) => c.title)")
    expect(len(pins) >= 2 and all(pin.startswith("--pin ") for pin in pins), f"pins: {pins}")
    expect_quiet(page)
    page.close()


def shows_scope(browser, inputs):
    plan = inputs.read("mlp")
    page = browser.open(inputs.page("mlp"), fragment="#scope=mlp")
    seen = facts(page)
    expect_equal(seen["ops"], str(len(plan["graph"]["ops"])), "ops")
    expect("MatMul" in page.text(".side table"), "types of the scope")
    expect_quiet(page)
    page.close()


# In the page: does what the page around it asks for, and tells of errors.
PROBE = """<script>
const tell = (answer) => parent.postMessage(answer, "*");
const watch = setInterval(() => {
  if (document.querySelector("[data-panel=tables]") === null) return;
  clearInterval(watch);
  tell({ready: true});
}, 10);
addEventListener("error", (event) => tell({error: event.message}));
addEventListener("message", ({data: {click, text}}) => {
  if (click) document.querySelector(click).click();
  requestAnimationFrame(() => requestAnimationFrame(() => tell({text: document.querySelector(text)?.textContent ?? null})));
});
</script>"""
AROUND = """<!DOCTYPE html><title>around</title><iframe sandbox="allow-scripts allow-downloads" width="1400" height="900" srcdoc="%s"></iframe>
<script>
window.complaints = [];
window.ask = (question) => new Promise((done) => {
  window.answered = done;
  document.querySelector("iframe").contentWindow.postMessage(question, "*");
});
addEventListener("message", ({data}) => {
  if (data.error) complaints.push(data.error);
  else if (data.ready) window.ready = true;
  else answered(data.text);
});
</script>"""


def works_in_a_sandbox(browser, inputs):
    """As notebooks embed it: a page of no origin, which may not change its address. The graph hears of selections."""
    around = inputs.folder / "around.html"
    around.write_text(AROUND % html.escape(inputs.page("mlp").read_text().replace("</body>", f"{PROBE}</body>")))
    page = browser.open(around, wait=False)
    ask = lambda text, click=None: page.evaluate(f"ask({json.dumps({'click': click, 'text': text})})")  # noqa: E731
    page.wait("window.ready")
    expect_equal(ask(".side h2", "[data-panel=tables]"), None, "selected at first")
    first = ask(".data-table .row > div")
    expect_equal(ask(".side h2", ".data-table .row"), first, "the panel tells of what is selected")
    expect_equal(ask(".data-table .row.current > div"), first, "the table marks it")
    expect(first in ask(".graph-view .said"), "the graph does not hear of a selection")
    expect_equal(page.evaluate("complaints"), [], "errors within")
    page.close()


def odd_addresses(browser, inputs):
    """What an address names that is not there selects nothing."""
    for odd in ("#transition=1.5", "#transition=-1", "#transition=", "#transition=1e9", "#op=%", "#plan=7", "#op=up&plan=x"):
        page = browser.open(inputs.page("mlp"), fragment=odd)
        expect(page.evaluate("document.querySelector('.side').hidden"), f"{odd} selects {page.text('.side h2')}")
        expect_quiet(page)
        page.close()


def times_of_a_step(browser, inputs):
    """Of what runs in each of four micro-batches: the time of a step, then that of one run; scopes add up."""
    page = browser.open(inputs.page("accumulated"), fragment="#scope=")
    plan = document(inputs.page("accumulated"))
    transitions, runs = plan["transitions"], plan["schedule"]["runs"]
    op = max(range(len(runs)), key=lambda i: plan["decisions"]["seconds"][i] * (runs[i] > 1))
    transition = max(range(len(transitions["runs"])), key=lambda i: transitions["seconds"][i] * (transitions["runs"][i] > 1))
    expect(runs[op] == 4 and transitions["runs"][transition] == 4, "nothing runs four times")
    for address, once, what in ((fragment("op", plan["graph"]["ops"]["name"][op]), plan["decisions"]["seconds"][op], "op"),
                                (f"#transition={transition}", transitions["seconds"][transition], "transition")):
        page.go(address)
        shown = page.text(".side [data-value=seconds]")
        expect_shown(shown, once * 4, f"time of the {what} in a step")
        expect_shown(shown.split("×")[1], once, f"time of one run of the {what}")
    expect_shown(facts(page)["bytes moved"], transitions["wire_bytes"][transition] * 4, "bytes in a step")
    scope = plan["outline"]["path"][plan["outline"]["parent"].index(0)]
    page.go(fragment("scope", scope))
    within = {i for i, path in enumerate(outline_of_ops(plan)) if path == scope or path.startswith(scope + "/")}
    reader = lambda t: transitions["consumers"][t][0][0] if transitions["consumers"][t] else -1  # noqa: E731
    moved = sum(transitions["wire_bytes"][t] * transitions["runs"][t] for t in range(len(transitions["runs"])) if reader(t) in within)
    expect_shown(facts(page)["bytes moved"], moved, f"bytes moved for {scope}")
    expect_quiet(page)
    page.close()


def says_every_run(browser, inputs):
    """When an op runs: in the first and the last of its micro-batches, and again for the backward pass."""
    page, plan = browser.open(inputs.page("accumulated")), document(inputs.page("accumulated"))
    played, runs = plan["schedule"]["micro_batches"], plan["schedule"]["runs"]
    op = max(range(len(runs)), key=lambda i: plan["decisions"]["seconds"][i] * (runs[i] > 1))
    starts = [played["start"][i] for i, of in enumerate(played["op"]) if of == op]
    page.go(fragment("op", plan["graph"]["ops"]["name"][op]))
    first, last = facts(page)["when"].split(" in the first micro-batch, ")
    expect_shown(first, starts[0], "the first run")
    expect_shown(last, starts[-1], "the last run")
    expect(last.endswith(" in the last of 4"), f"when: {last}")
    expect_quiet(page)
    page.close()
    page, plan = browser.open(inputs.page("recomputed")), document(inputs.page("recomputed"))
    names = plan["graph"]["ops"]["name"]
    copy = next(name for name in names if name.startswith("again/") and name.removeprefix("again/") in names)
    page.go(fragment("op", copy.removeprefix("again/")))
    expect(facts(page)["again"].startswith(f"runs again for the backward pass, as {copy}: "), f"again: {facts(page)['again']}")
    page.go(fragment("op", copy))
    expect_equal(facts(page)["again"], f"computes {copy.removeprefix('again/')} again for the backward pass", "what a copy says")
    expect_quiet(page)
    page.close()


def outline_of_ops(plan):
    """Per op the path of the node of the outline that holds it."""
    paths = [""] * len(plan["graph"]["ops"]["name"])
    for node, items in enumerate(plan["outline"]["items"]):
        for item in items:
            if item >= 0:
                paths[item] = plan["outline"]["path"][node]
    return paths


CASES = [rules_are_begun, says_what_explain_says, says_what_explain_says_of_tensors, copies_are_chosen, focus_follows, times_of_a_step, says_every_run,
         works_in_a_sandbox, odd_addresses, shows_op, shows_pins, shards_are_exact, many_devices_are_drawn, links_and_way_back,
         shows_collective, shows_scope]
