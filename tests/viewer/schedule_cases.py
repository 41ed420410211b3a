"""The schedule of a step: micro-batch by micro-batch, beside a trace, by pointer and by keys."""
import collections
import json
import re

from charts_cases import document, expect_near, middle, open_panel, total
from expect import expect, expect_equal, expect_quiet, expect_shown


def schedule_adds_up(browser, inputs):
    """The intervals that are drawn as exposed are the plan's; keys magnify; a click selects."""
    page, plan = open_panel(browser, inputs, "llama", "schedule")
    schedule, summary = plan["schedule"]["summary"], plan["head"]["summary"]
    told = sum(total(page, "schedule", name) or 0 for name in ("compute", "local", "slowed", "exposed", "idle"))
    expect(abs(told - schedule["step"]) <= 1e-6 * schedule["step"], f"the parts of the step add up to {told}")
    expect_near(total(page, "schedule", "compute"), summary["compute_seconds"], "compute")
    for name in ("step", "slowed", "idle", "exposed", "collectives"):
        seen = total(page, "schedule", name)
        expect(abs(seen - schedule[name]) <= 1e-6 * schedule["step"], f"{name}: {seen}, the plan says {schedule[name]}")
    page.evaluate("document.querySelector('.schedule .surface canvas').focus()")
    page.press("n")
    page.wait("document.querySelector('.side h2') !== null")
    first = page.text(".side h2")
    page.press("n")
    page.wait(f"document.querySelector('.side h2').innerText !== {json.dumps(first)}")
    page.press("f")
    page.settle()
    x, y = middle(page, ".schedule .surface canvas", 0.55, 0.12)
    page.move(x, y)
    page.settle()
    expect(page.count(".schedule .tip:not([hidden])") == 1, "the pointer tells what runs")
    page.wheel(x, y, -400)
    page.settle()
    expect_quiet(page)
    page.close()


def trace_beside_plan(browser, inputs):
    """A run's trace has rows of its own, and a ratio for each op."""
    inputs.run("run", inputs.plan("llama"), "--backend", "fake", "--trace", "trace.json", "-q")
    inputs.run("render", inputs.plan("llama"), "--trace", "trace.json", "-o", "traced.html")
    page = browser.open(inputs.folder / "traced.html")
    plan = document(inputs.folder / "traced.html")
    page.click("[role=tab][data-panel=schedule]")
    page.settle()
    expect_shown(re.search(r"\(trace.json\), predicted: ([\d.]+ \w+)", page.text(".schedule .totals")).group(1), plan["trace"]["seconds"], "end of the trace")
    exposed = total(page, "schedule", "exposed")
    page.click(".schedule input[type=checkbox]")
    page.settle()
    expect_near(total(page, "schedule", "exposed"), exposed, "exposed of the stretched plan")
    page.click("[role=tab][data-panel=tables]")
    page.settle()
    expect_near(total(page, "tables", "measured"), sum(plan["trace"]["op_seconds"]), "measured seconds of ops")
    expect(any("Measured / predicted" in text for text in page.texts(".tables [role=columnheader]")), "a column of ratios")
    expect_quiet(page)
    page.close()


def trace_of_micro_batches(browser, inputs):
    """Predicted beside measured: once for each micro-batch that was traced, and once for what runs once a step."""
    for batches in (1, 4):
        name = f"traced{batches}"
        inputs.run("run", inputs.plan("accumulated"), "--backend", "fake", "--micro-batches", batches, "--trace", f"{name}.json", "-q")
        page_file = inputs._paged(f"{name}.html", "render", inputs.plan("accumulated"), "--trace", f"{name}.json")
        plan = document(page_file)
        expect_equal(plan["trace"]["micro_batches"], batches, "micro-batches of the trace")
        page = browser.open(page_file)
        page.click("[role=tab][data-panel=schedule]")
        page.settle()
        told = page.text(".schedule .totals")
        expect(("× predicted" if batches == 4 else "a run of 1 micro-batch; the plan's step has 4") in told, f"told: {told}")
        page.click("[role=tab][data-panel=tables]")
        page.settle()
        ratios = [float(text.split()[0]) for text in page.evaluate("""(() => {
          const at = [...document.querySelectorAll(".tables [role=columnheader]")].findIndex((h) => h.innerText.startsWith("Measured /"));
          return [...document.querySelectorAll(".data-table .row")].map((r) => r.children[at].innerText).filter((t) => t !== "");
        })()""")]
        expect(len(ratios) > 5 and all(0.8 < ratio < 1.5 for ratio in ratios), f"{batches} traced: measured / predicted {ratios}")
        expect_quiet(page)
        page.close()


def micro_batches_stand_apart(browser, inputs):
    """Each micro-batch has its own intervals, and stands where a run of them has it; together they are the plan's step."""
    inputs.run("run", inputs.plan("accumulated"), "--backend", "fake", "--micro-batches", 4, "--trace", "apart.json", "-q")
    page_file = inputs._paged("apart.html", "render", inputs.plan("accumulated"), "--trace", "apart.json")
    plan = document(page_file)
    played, trace = plan["schedule"]["micro_batches"], plan["trace"]
    expect_equal(played["counts"], [1, 1, 1, 1], "micro-batches")
    runs = plan["schedule"]["runs"]
    repeated = [op for op, times in enumerate(runs) if times == 4 and plan["decisions"]["seconds"][op] > 0]
    seen = collections.Counter(op for op in played["op"] if op >= 0)
    expect(all(seen[op] == 4 for op in repeated), "an op of micro-batches that is not drawn four times")
    expect(abs(played["seconds"] / trace["seconds"] - 1) < 0.2, f"{played['seconds']} s, a run takes {trace['seconds']} s")
    page = browser.open(page_file)
    page.click("[role=tab][data-panel=schedule]")
    page.settle()
    expect_equal(page.text(".schedule .batches").split(":")[0], "4 micro-batches, one after the other", "what is drawn")
    apart = total(page, "schedule", "exposed")
    page.click(".schedule .together input")
    page.settle()
    expect("drawn as one task each" in page.text(".schedule .batches"), "together")
    expect_near(total(page, "schedule", "exposed"), plan["schedule"]["summary"]["exposed"], "exposed, together")
    expect(abs(apart / plan["schedule"]["summary"]["exposed"] - 1) < 0.2, f"exposed apart: {apart}")
    page.click(".schedule .together input")
    page.settle()
    x, y = middle(page, ".schedule .surface canvas", 0.5, 0.2)
    told = ""
    for step in range(40):
        page.move(x + 3 * step, y)
        page.settle()
        told = page.text(".schedule .tip") or ""
        if "micro-batch " in told:
            break
    expect("micro-batch 2 of 4" in told or "micro-batch 3 of 4" in told, f"the pointer tells {told}")
    expect_quiet(page)
    page.close()


def physical_micro_batches_are_drawn(browser, inputs):
    """Every task of the physical plan in each of its micro-batches, when the fake backend runs it; and one alone."""
    inputs.run("run", inputs.plan("physical"), "--backend", "fake", "--trace", "streamed.json", "-q")
    page_file = inputs._paged("streamed.html", "render", inputs.plan("physical"), "--trace", "streamed.json")
    plan = document(page_file)
    played, trace = plan["schedule"]["micro_batches"], plan["trace"]
    expect_equal([played["physical"], played["counts"]], [True, [1, 1, 1, 1]], "micro-batches")
    # Traces are of whole nanoseconds.
    expect(abs(played["seconds"] - trace["seconds"]) <= 1e-9, f"all take {played['seconds']} s, in the fake backend {trace['seconds']} s")
    events = trace["events"]
    ran = sorted((events["micro_batch"][i], round(start * 1e12)) for i, start in enumerate(events["start"])
                 if events["device"][i] == 0 and events["op"][i] >= 0 and events["end"][i] > start)
    drawn = sorted((part, round(start * 1e12)) for part, op, start in zip(played["part"], played["op"], played["start"]) if op >= 0)
    expect_equal([batch for batch, _ in drawn], [batch for batch, _ in ran], "micro-batches of ops")
    expect(all(abs(a - b) <= 1000 for (_, a), (_, b) in zip(drawn, ran)), f"ops start at {drawn}, in the run at {ran}")
    page = browser.open(page_file)
    page.click("[role=tab][data-panel=schedule]")
    page.settle()
    told = page.text(".schedule .batches")
    expect(told.startswith("4 micro-batches through the arena take"), f"what is drawn: {told}")
    expect_shown(told.split("take ")[1], played["seconds"], "seconds of all")
    expect("1.00 × predicted" in page.text(".schedule .totals"), f"beside the trace: {page.text('.schedule .totals')}")
    x, y = middle(page, ".schedule .surface canvas", 0.9, 0.16)
    said = ""
    for step in range(60):
        page.move(x - 8 * step, y)
        page.settle()
        said = page.text(".schedule .tip") or ""
        if "micro-batch 4 of 4" in said:
            break
    expect("micro-batch 4 of 4" in said, f"the pointer tells {said}")
    page.click(".schedule .together input")
    page.settle()
    expect(page.text(".schedule .batches").startswith("one micro-batch alone"), "alone")
    expect_near(total(page, "schedule", "exposed"), plan["schedule"]["summary"]["exposed"], "exposed, alone")
    page.go("#op=up")
    page.wait("document.querySelector('.side h2')?.innerText === 'up'")
    expect("in the first micro-batch" in page.text(".side") and "in the last of 4" in page.text(".side"), "when an op runs")
    expect_quiet(page)
    page.close()


NOTE_TEXTS = """(() => {
  window.texts = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const {width} = this.measureText(text);
    window.texts.push([text, x - {left: 0, center: width / 2, right: width}[this.textAlign], y, width]);
    return write.apply(this, arguments);
  };
})()"""


def many_micro_batches_are_readable(browser, inputs):
    """Of 256: what is folded says so, no label stands over another or is cut, and none lacks the last one."""
    page, plan = open_panel(browser, inputs, "accumulated256", "schedule")
    counts = plan["schedule"]["micro_batches"]["counts"]
    expect(sum(counts) == 256 and sorted(counts)[-2] == 1 < max(counts) and counts[-1] == 1, f"micro-batches {counts}")
    page.evaluate(NOTE_TEXTS)
    width = page.evaluate("document.querySelector('.schedule .surface').clientWidth")
    for key in ("0", "+", "+", "+", "+", "+", "+", "ArrowRight", "ArrowLeft"):
        page.evaluate("window.texts = []")
        page.evaluate(f"document.querySelector('.schedule .surface canvas').dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}}}))")
        page.settle()
        texts = page.evaluate("window.texts")
        labels = sorted((x, x + wide) for text, x, _, wide in texts if re.match("µ[0-9]", text))
        expect(all(end <= width for _, end in labels), f"{key}: a label is cut: {labels}")
        expect(all(left[1] + 5 < right[0] for left, right in zip(labels, labels[1:])), f"{key}: labels too close: {labels}")
        if key == "0":
            said = [text for text, *_ in texts]
            expect({"µ1", "µ256", f"µ{counts.index(max(counts)) + 1}–255", f"{max(counts)} micro-batches drawn as one, {max(counts)} times as long"} <= set(said), f"labels {said}")
    expect_quiet(page)
    page.close()


def keys_walk_through_a_step(browser, inputs):
    """B goes from the optimizer back into the last micro-batch, N the same way there; the line tells the plan's exposure."""
    page, plan = open_panel(browser, inputs, "accumulated", "schedule")
    ops = plan["graph"]["ops"]
    expect_near(total(page, "schedule", "exposed"), plan["schedule"]["summary"]["exposed"], "exposed")
    presses = ops["phase"].count(2) + 20
    walk = lambda key: page.evaluate(f"""(() => {{
      const canvas = document.querySelector(".schedule .surface canvas");
      return Array.from({{length: {presses}}}, () => {{
        canvas.dispatchEvent(new KeyboardEvent("keydown", {{key: "{key}", bubbles: true}}));
        return document.querySelector(".side h2").innerText;
      }});
    }})()""")
    back = walk("b")
    expect_equal(ops["phase"][ops["name"].index(back[0])], 2, f"phase of the last op, {back[0]}")
    expect_equal(walk("n"), [*back[-2::-1], back[0]], "ops on the way there again")
    expect_quiet(page)
    page.close()


CASES = [keys_walk_through_a_step, many_micro_batches_are_readable, micro_batches_stand_apart, physical_micro_batches_are_drawn, schedule_adds_up,
         trace_beside_plan, trace_of_micro_batches]
