"""Text beside text: all that `sbp-plan explain` prints of an op or a tensor stands in the side panel."""
import json
import re

from browser import fragment
from charts_cases import document
from expect import expect, expect_equal, expect_quiet

FIGURE = r"[+-]?\d[\d.]* (?:s|ms|us|ns|B|kB|MB|GB|TB)\b"
LAYOUT = r"\((?:B|S\(\d+\)|P\(\w+\))(?:, (?:B|S\(\d+\)|P\(\w+\)))*\)"
# Texts of the panel by the titles of its parts ("": above the first); chips as the layouts that they are, all that is
# folded away opened.
PARTS = """(() => {
  for (const more of document.querySelectorAll(".side .more")) more.click();
  const texts = {};
  const add = (title, node) => {
    if (node.nodeType === Node.TEXT_NODE) texts[title] = (texts[title] ?? "") + " " + node.data;
    else if (node.matches(".chips")) texts[title] = (texts[title] ?? "") + " " + node.getAttribute("aria-label");
    else for (const child of node.childNodes) add(title, child);
  };
  for (const part of document.querySelector(".side .body").children) {
    add(part.matches("details") ? part.querySelector("summary").textContent.replace(/ \\(.*/, "") : "", part);
  }
  const plain = (text) => text.replaceAll("−", "-").replace(/\\s+/g, " ").replace(/ (?=[:,;])/g, "");
  return Object.fromEntries(Object.entries(texts).map(([title, text]) => [title, plain(text)]));
})()"""
CANDIDATES = """[...document.querySelectorAll(".candidates tbody tr:not(.why)")].map((row) => [
  row.querySelector(".signature").textContent, `${row.textContent} ${[...row.cells].map((c) => c.textContent).join(" ")} ${
  row.nextElementSibling.textContent}`.replaceAll("−", "-").replace(/\\s+/g, " ")])"""


class Panel:
    """What the panel says of one thing, and what `explain` prints of it."""

    def __init__(self, page, inputs, plan, kind, name):
        self.what = f"{plan}, {kind} {name}"
        page.evaluate(f"location.hash = {fragment(kind, name)!r}")
        page.wait(f"document.querySelector('.side h2')?.innerText === {json.dumps(name)}")
        self.lines = inputs.run("explain", inputs.plan(plan), name).splitlines()
        self.parts = page.evaluate(PARTS)
        self.candidates = dict(page.evaluate(CANDIDATES))
        self.seen = 0

    def has(self, title, *pieces):
        text = self.parts.get(title, "")
        for piece in pieces:
            piece = re.sub(r"\s+", " ", piece.strip())
            expect(piece.lower() in text.lower(), f"{self.what}: {title!r} does not say {piece!r}: {text[:1500]}")
            self.seen += 1

    def has_facts(self, title, line):
        """Names, scopes beside them, figures and layouts of a line."""
        bare = re.sub(r'"(?:[^"]*)"', " ", line)
        beside = re.findall(r"(?<=  )\((?!boxed)([^()]+)\)", re.sub(r" +\(", "  (", re.sub(LAYOUT, " ", bare)))
        self.has(title, *re.findall(r'"([^"]*)"', line), *re.findall(FIGURE, bare), *re.findall(LAYOUT, line),
                 *(text for text in beside if not text.startswith("exposed")))

    def sections(self):
        """The blocks of `explain` by their first word, the answer as ""."""
        blocks, at = {"": []}, ""
        for last, line in zip(["", *self.lines], self.lines):
            if last == "" and line and line is not self.lines[0] and not line.startswith(" "):
                at = line.split()[0]
                blocks[at] = []
            elif line:
                blocks[at].append(line)
        return blocks

    def answer(self):
        """[term, text] of the lines of the answer; a line without a term goes on."""
        rows = []
        for line in self.sections()[""][1:]:
            term, text = line[:11].strip(), line[11:].rstrip()
            rows.append([term or rows[-1][0], text])
        return rows


def causes(panel, title, text):
    """A collective, or why it is there."""
    if text.startswith("  because "):
        panel.has(title, *re.split(", (?=[0-9.]+ [a-z]+ more$)| more$", text.removeprefix("  because ")))
    elif re.match(r"and \d+ more", text) is None:
        panel.has(title, re.search(r": (.*?) of \"", text).group(1))
        panel.has_facts(title, text)


def says_of_op(panel, is_searched):
    """`is_searched`: `explain` looks for what forcing costs; the page searches less, and its figures are other ones."""
    panel.has("", panel.lines[0].split('": ')[1].split(" on ")[0])
    for term, text in panel.answer():
        if term in ("chosen", "because", "pinned"):
            panel.has("Candidates by price" if term == "chosen" and " -> " in text else "Chosen", re.sub(r" and \d+ more$", "", text))
        elif term == "kernel" and ", with " in text:
            panel.has("Chosen", text.split(", with ")[0])
            panel.has_facts("Chosen", text)
        elif term in ("kernel", "again"):
            panel.has("Chosen", text.replace('"', " ") if term == "kernel" else "again for the backward pass")
        elif term == "next best" and not is_searched:
            panel.has("Chosen", text)
        elif term == "causes" and text != "no collective":
            causes(panel, "Collectives that it causes", text)
    for line in panel.sections()["neighbours"]:
        if not line.startswith("  and "):
            side, slot = line.split()[:2]
            panel.has("Operands" if side == "operand" else "Results", slot)
            panel.has_facts("Operands" if side == "operand" else "Results", line.split(slot, 1)[1])
    signature = None
    for line in panel.sections()["candidates"]:
        if not line.startswith("      "):
            signature = line[2:].removesuffix("  (excluded by pins)")
            expect(signature in panel.candidates, f"{panel.what}: no candidate {signature}")
            continue
        text = panel.candidates[signature]
        said = re.findall(FIGURE, line.split("; ", 1)[-1] if is_searched else line) or [line.strip()]
        for piece in said:
            expect(piece in text, f"{panel.what}: candidate {signature} does not say {piece!r}: {text}")
            panel.seen += 1


def says_of_tensor(panel):
    role = re.split(r", (?=activation|parameter|input)", panel.lines[0].split('": ')[1])[1].split(", on ")[0]
    panel.has("", panel.lines[0].split('": ')[1].split(", ")[0], *role.split())
    for term, text in panel.answer():
        if term == "lies":
            panel.has_facts("Which device holds which slice", text)
            panel.has("Which device holds which slice", *text.split(' "')[0].split(", after" if ", after" in text else ", as", 1)[:1],
                      re.search(r"(?:as|after) [^\"]*", text).group())
        elif term in ("spread", "pinned"):
            panel.has("", text)
        elif term == "boxed":
            causes(panel, "Boxed", text) if text != "nowhere" else panel.has("Boxed", text)
    for line in panel.sections().get("readers", []):
        if not line.startswith("  and "):
            panel.has_facts("Readers", re.sub(r"^  tensor \"[^\"]*\"(?: \([^()]*\))?,", "", line).split(": written")[0])


def each_op_of_a_type(plan, limit):
    """The dearest ops, of every type one, that the page holds candidates of."""
    ops, types, entries = plan["graph"]["ops"], plan["graph"]["op_types"], plan["explain"]["entries"]
    first = {}
    for entry in entries:
        first.setdefault(types[ops["type"][entry["first"]]], ops["name"][entry["first"]])
    return list(first.values())[:limit]


def panels_say_what_explain_prints(browser, inputs):
    seen = 0
    for name, limit, is_searched in (("mlp", 9, False), ("llama", 7, False), ("recomputed", 4, False), ("accumulated", 2, True)):
        plan = document(inputs.page(name))
        page = browser.open(inputs.page(name))
        ops = each_op_of_a_type(plan, limit)
        again = [op for op in plan["graph"]["ops"]["name"] if op.startswith("again/")][:1]
        for op in [*ops, *again]:
            panel = Panel(page, inputs, name, "op", op)
            says_of_op(panel, is_searched)
            seen += panel.seen
        tensors = plan["graph"]["tensors"]["name"]
        parameters = [t for t, role in enumerate(plan["graph"]["tensors"]["role"]) if role == 2]
        asked = [t for t in dict.fromkeys([*plan["transitions"]["tensor"][:4], *parameters]) if tensors[t] not in plan["graph"]["ops"]["name"]]
        for tensor in asked[:3]:
            panel = Panel(page, inputs, name, "tensor", tensors[tensor])
            says_of_tensor(panel)
            seen += panel.seen
        expect_quiet(page)
        page.close()
    expect(seen > 500, f"only {seen} pieces of text are compared")


def holders_are_those_of_the_moment(browser, inputs):
    """What the panel of an op says is held while it runs: the sums of lifetimes, the largest ones, the peak at its op."""
    plan = document(inputs.page("accumulated"))
    memory, names = plan["memory"], plan["graph"]["tensors"]["name"]
    lives = memory["lifetimes"]
    held = lambda at: [i for i, size in enumerate(lives["bytes"]) if size > 0 and lives["first"][i] <= at <= lives["last"][i]]  # noqa: E731
    total = lambda at: sum(lives["bytes"][i] for i in held(at)) + memory["workspace_bytes"]  # noqa: E731
    positions = {}
    for at, op in enumerate(memory["op_at"]):
        if op >= 0:
            positions.setdefault(op, []).append(at)
    peak = next(op for op, ats in positions.items() if max(map(total, ats)) == memory["peak_bytes"])
    page = browser.open(inputs.page("accumulated"))
    for op in (peak, 0, max(positions)):
        at = max(positions[op], key=total)
        page.go(fragment("op", plan["graph"]["ops"]["name"][op]))
        shown = page.text(".side [data-value=held]")
        wanted = page.evaluate(f"""(() => {{ let [size, unit] = [{total(at)}, 0];
            while (size >= 999.5) [size, unit] = [size / 1000, unit + 1];
            return `${{size.toPrecision(3)}} ${{["B", "kB", "MB", "GB"][unit]}}`; }})()""")
        expect_equal(shown, wanted, f"held while op {op} runs")
        expect(("the peak of the step" in page.text(".side")) == (op == peak), f"whether op {op} is at the peak")
        tensors = page.evaluate("[...document.querySelectorAll('.side .holders button.tensor')].map((b) => b.title)")
        sizes = sorted((lives["bytes"][i] for i in held(at)), reverse=True)[:8]
        of = {name: [lives["bytes"][i] for i in held(at) if names[lives["tensor"][i]] == name] for name in tensors}
        expect_equal(len(tensors), len(sizes), "holders that are listed")
        expect(all(size in of[name] for size, name in zip(sizes, tensors)), f"op {op}: {tensors}, sizes {sizes}")
    page.click(".side .holders button.tensor")
    page.settle()
    expect_equal(page.text(".side .kind"), "Tensor", "what a holder leads to")
    expect_quiet(page)
    page.close()


CASES = [panels_say_what_explain_prints, holders_are_those_of_the_moment]
