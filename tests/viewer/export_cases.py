"""Pictures that are saved: SVG that is well-formed and says what the graph says, PNG that is one."""
import base64
import xml.etree.ElementTree

from expect import expect, expect_quiet

# What the page hands to the browser to save, caught.
CATCH = """(() => {
  window.saved = [];
  HTMLAnchorElement.prototype.click = function () {
    window.saved.push([this.download, this.href]);
  };
  const create = URL.createObjectURL;
  window.blobs = new Map();
  URL.createObjectURL = (blob) => { const address = create(blob); window.blobs.set(address, blob); return address; };
})()"""
READ = """new Promise((done) => { const [name, address] = window.saved.at(-1); const reader = new FileReader();
  reader.onload = () => done([name, reader.result]); reader.readAsDataURL(window.blobs.get(address)); })"""


def saved(page, label):
    page.click(f"button[aria-label='save what is shown as {label}']")
    page.wait("window.saved.length > 0")
    name, data = page.evaluate(READ)
    page.evaluate("window.saved.length = 0")
    return name, base64.b64decode(data.split(",", 1)[1])


def saves_svg_and_png(browser, inputs):
    page = browser.open(inputs.page("llama"))
    page.evaluate(CATCH)
    name, svg = saved(page, "SVG")
    expect(name.endswith(".svg"), f"name {name}")
    root = xml.etree.ElementTree.fromstring(svg)
    texts = ["".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")]
    expect(any("layers" in text for text in texts), f"texts of the picture: {texts[:10]}")
    expect(all(e.get("textLength") for e in root.iter("{http://www.w3.org/2000/svg}text")), "a text without its width")
    expect(len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 10, "few paths")
    name, png = saved(page, "PNG")
    expect(name.endswith(".png") and png.startswith(b"\x89PNG\r\n"), f"{name} is no PNG")
    expect(len(png) > 5000, "an empty picture")
    expect_quiet(page)
    page.close()


def hostile_svg(browser, inputs):
    """Names in a saved picture are text."""
    page = browser.open(inputs.page("hostile"))
    page.evaluate(CATCH)
    _, svg = saved(page, "SVG")
    root = xml.etree.ElementTree.fromstring(svg)
    tags = {e.tag.split("}")[1] for e in root.iter()}
    expect(tags <= {"svg", "g", "path", "rect", "text", "clipPath"}, f"elements: {tags}")
    page.close()


CASES = [saves_svg_and_png, hostile_svg]
