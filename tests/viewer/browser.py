#!/usr/bin/env python3
"""A headless Chromium, driven by its DevTools protocol over a pipe: Python's own modules only.

    with Browser() as browser:
        page = browser.open("plan.html")          # waits until the plan is shown
        page.click("button[data-panel=about]")    # real mouse and key events
        page.text(".about h2")

What a page must never do is kept: `page.errors` (exceptions, console errors, breaches of its Content-Security-Policy)
and `page.requests` (each address asked for, the file itself first). Run as a program, it shows a page:
`browser.py plan.html --screenshot plan.png --dark --script 'document.title'`.
"""
import argparse
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
# A tab that asks for anything but its file is refused even names; no first-run pages, no updates.
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--enable-precise-memory-info",
         "--js-flags=--expose-gc", "--force-color-profile=srgb", "--remote-debugging-pipe", "about:blank")
MODIFIERS = {"alt": 1, "ctrl": 2, "meta": 4, "shift": 8}
# key: (code, key code, text)
KEYS = {"Enter": ("Enter", 13, "\r"), "Tab": ("Tab", 9, ""), "Escape": ("Escape", 27, ""), " ": ("Space", 32, " "),
        "Backspace": ("Backspace", 8, ""), "ArrowLeft": ("ArrowLeft", 37, ""), "ArrowUp": ("ArrowUp", 38, ""),
        "ArrowRight": ("ArrowRight", 39, ""), "ArrowDown": ("ArrowDown", 40, ""), "Home": ("Home", 36, ""),
        "End": ("End", 35, ""), "PageUp": ("PageUp", 33, ""), "PageDown": ("PageDown", 34, "")}


# How many frames the page waits for: so that one can wait until it has drawn all that it asked for.
COUNT_FRAMES = """(() => {
  const ask = requestAnimationFrame.bind(window);
  window.framesAsked = 0;
  window.plainFrame = ask;
  window.requestAnimationFrame = (draw) => {
    ++window.framesAsked;
    return ask((time) => {
      --window.framesAsked;
      draw(time);
    });
  };
})()"""
# Two frames, the first of which tells observers of sizes; then until nothing more is asked for.
SETTLED = """new Promise((done) => {
  let frames = 0;
  const next = () => (++frames < 2 || window.framesAsked > 0 && frames < 60 ? plainFrame(next) : setTimeout(done));
  plainFrame(next);
})"""


class BrowserError(Exception):
    pass


def fragment(kind, name):
    """Of the address that selects something by its name."""
    return f"#{kind}={urllib.parse.quote(name, safe='')}"


def find_program():
    """The path of a Chromium that runs here, or None. Ubuntu's is a snap, which headless machines cannot start."""
    for name in PROGRAMS:
        path = shutil.which(name)
        if path is None:
            continue
        try:
            ran = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if ran.returncode == 0:
            return path
    return None


class Browser:
    def __init__(self, program=None, throttle=1):
        """`throttle`: its pages compute as if the processor were that many times slower."""
        program = program or find_program()
        if program is None:
            raise BrowserError(f"no browser: none of {', '.join(PROGRAMS)} is there")
        self._profile = tempfile.TemporaryDirectory(prefix="sbp-viewer-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # The browser reads descriptor 3 and writes 4; above those first, so that neither overwrites the other.
        shell = f"exec 3<&{to_browser} 4>&{from_browser}; exec \"$@\""
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", program, f"--user-data-dir={self._profile.name}", *FLAGS],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._next = 0
        self._answers = {}
        self._pages = {}
        self.throttle = throttle

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.call("Browser.close", timeout=10)
        except (BrowserError, OSError):
            pass
        os.close(self._out)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        self._log.close()
        try:
            self._profile.cleanup()
        except OSError:
            pass  # a helper process of the browser may still write there

    def call(self, method, params=None, session=None, timeout=120):
        self._next += 1
        number = self._next
        message = {"id": number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        end = time.monotonic() + timeout
        while number not in self._answers:
            if not self.pump(end - time.monotonic()):
                raise BrowserError(f"{method}: no answer in {timeout} s")
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def pump(self, seconds):
        """Takes in what the browser says, for at most that long; False where it says nothing."""
        ready, _, _ = select.select([self._in], [], [], max(0, seconds))
        if not ready:
            return False
        data = os.read(self._in, 1 << 20)
        if not data:
            self._log.seek(0)
            raise BrowserError("the browser ended: " + self._log.read()[-2000:].decode(errors="replace"))
        *messages, self._buffer = (self._buffer + data).split(b"\0")
        for message in messages:
            message = json.loads(message)
            if "id" in message:
                self._answers[message["id"]] = message
            elif message.get("sessionId") in self._pages:
                self._pages[message["sessionId"]].on_event(message["method"], message["params"])
        return True

    def tab_bytes(self):
        """What the processes that show pages hold in memory."""
        renderers = [row["id"] for row in self.call("SystemInfo.getProcessInfo")["processInfo"] if row["type"] == "renderer"]
        if not renderers:
            raise BrowserError("no process shows a page")
        pages = [int(pathlib.Path(f"/proc/{number}/statm").read_text().split()[1]) for number in renderers]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE")

    def forget(self, session):
        self._pages.pop(session, None)

    def close_pages(self):
        for page in list(self._pages.values()):
            page.close()

    def picture(self, path):
        """Of the page that was opened last, if there is one: to see what failed."""
        if self._pages:
            try:
                list(self._pages.values())[-1].screenshot(path)
            except BrowserError:
                pass

    def open(self, path, width=1600, height=1000, fragment="", wait=True, timeout=120, dark=False):
        """A new tab with that file; `wait`: until the plan is shown."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(self, session, target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.call("Page.addScriptToEvaluateOnNewDocument", {"source": COUNT_FRAMES})
        if self.throttle != 1:
            page.call("Emulation.setCPUThrottlingRate", {"rate": self.throttle})
        page.resize(width, height)
        page.call("Emulation.setEmulatedMedia",
                  {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        page.opened = time.monotonic()
        page.call("Page.navigate", {"url": pathlib.Path(path).resolve().as_uri() + fragment}, timeout=timeout)
        if wait:
            page.wait("document.getElementById('app') && !document.getElementById('app').hasAttribute('aria-busy')"
                      " || document.querySelector('[role=alert]') !== null", timeout)
            page.seconds_to_open = time.monotonic() - page.opened
        return page


class Page:
    def __init__(self, browser, session, target):
        self._browser, self._session, self._target = browser, session, target
        self.errors, self.requests = [], []
        self.opened = self.seconds_to_open = 0

    def on_event(self, method, params):
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, params=None, timeout=120):
        return self._browser.call(method, params, self._session, timeout)

    def close(self):
        self._browser.forget(self._session)
        self._browser.call("Target.closeTarget", {"targetId": self._target})

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def evaluate(self, expression, timeout=120):
        """The value of an expression of JavaScript (a promise is awaited)."""
        result = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True,
                                                "userGesture": True}, timeout)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(f"{expression}: {details.get('exception', {}).get('description') or details['text']}")
        return result["result"].get("value")

    def wait(self, expression, timeout=120):
        end = time.monotonic() + timeout
        while not self.evaluate(f"Boolean({expression})", timeout):
            if self.errors:
                raise BrowserError(f"while waiting for {expression}: {self.errors[0]}")
            if time.monotonic() > end:
                raise BrowserError(f"not so in {timeout} s: {expression}")
            time.sleep(0.005)

    def settle(self, timeout=120):
        """Until all that was asked for is drawn."""
        self.evaluate(SETTLED, timeout)

    def go(self, fragment):
        """To another fragment of the address, until the page has heard of it and drawn what it shows then."""
        self.evaluate(f"""new Promise((done) => {{
          const before = location.href;
          addEventListener("hashchange", () => done(), {{once: true}});
          location.hash = {json.dumps(fragment)};
          if (location.href === before) done();
        }})""")
        self.settle()

    def timed(self, expression):
        """Seconds from before an expression of JavaScript until the frame is drawn that shows what it did."""
        return self.evaluate(f"""(async () => {{
          const started = performance.now();
          await ({expression});
          let frames = 0;
          await new Promise((done) => {{
            const next = () => (++frames < 60 && framesAsked > 0 ? plainFrame(next) : setTimeout(done));
            plainFrame(next);
          }});
          return (performance.now() - started) / 1000;
        }})()""")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def text(self, selector):
        """What the first such element shows; None where there is none."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.innerText)")

    def place(self, selector):
        """The middle of the first such element, scrolled into view."""
        spot = self.evaluate(f"""(() => {{
          const element = document.querySelector({json.dumps(selector)});
          if (element === null) return null;
          element.scrollIntoView({{block: "nearest", inline: "nearest"}});
          const box = element.getBoundingClientRect();
          return box.width === 0 ? null : [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        if spot is None:
            raise BrowserError(f"nothing to be seen of {selector}")
        return spot

    def click(self, selector, **how):
        self.click_at(*self.place(selector), **how)

    def click_at(self, x, y, clicks=1, button="left", modifiers=()):
        flags = sum(MODIFIERS[name] for name in modifiers)
        self.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y, "modifiers": flags})
        for number in range(1, clicks + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": button,
                                                       "clickCount": number, "modifiers": flags})

    def hover(self, selector):
        x, y = self.place(selector)
        self.move(x, y)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})

    def drag(self, x, y, to_x, to_y, steps=4):
        self.move(x, y)
        self.call("Input.dispatchMouseEvent", {"type": "mousePressed", "x": x, "y": y, "button": "left", "clickCount": 1})
        for step in range(1, steps + 1):
            self.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x + (to_x - x) * step / steps,
                                                   "y": y + (to_y - y) * step / steps, "button": "left", "buttons": 1})
        self.call("Input.dispatchMouseEvent",
                  {"type": "mouseReleased", "x": to_x, "y": to_y, "button": "left", "clickCount": 1})

    def wheel(self, x, y, delta):
        self.call("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": delta})

    def press(self, key, modifiers=()):
        """A key by its name in the DOM: "Enter", "ArrowLeft", "a"."""
        flags = sum(MODIFIERS[name] for name in modifiers)
        code, number, text = KEYS.get(key, (f"Key{key.upper()}" if key.isalpha() else key, ord(key[0].upper()), key))
        event = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": flags}
        if text and not flags & ~MODIFIERS["shift"]:
            event["text"] = text
        self.call("Input.dispatchKeyEvent", {"type": "keyDown" if "text" in event else "rawKeyDown", **event})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    def type(self, text):
        self.call("Input.insertText", {"text": text})

    def heap_bytes(self):
        """What JavaScript holds, garbage collected first."""
        self.call("HeapProfiler.enable")
        self.call("HeapProfiler.collectGarbage")
        return self.call("Runtime.getHeapUsage")["usedSize"]

    def living(self, kind):
        """How many objects of a kind are still reachable, in the document or not."""
        self.call("HeapProfiler.enable")
        self.call("HeapProfiler.collectGarbage")
        prototype = self.call("Runtime.evaluate", {"expression": f"{kind}.prototype"})["result"]["objectId"]
        objects = self.call("Runtime.queryObjects", {"prototypeObjectId": prototype})["objects"]["objectId"]
        number = self.call("Runtime.callFunctionOn", {"objectId": objects, "functionDeclaration": "function () { return this.length; }"})
        self.call("Runtime.releaseObject", {"objectId": objects})
        return number["result"]["value"]

    def accessibility_tree(self):
        self.call("Accessibility.enable")
        return self.call("Accessibility.getFullAXTree")["nodes"]

    def screenshot(self, path):
        picture = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(picture))


def main():
    parser = argparse.ArgumentParser(description="Opens a page in a headless browser.")
    parser.add_argument("page")
    parser.add_argument("--fragment", default="", help="of the address: '#op=NAME'")
    parser.add_argument("--size", default="1600x1000")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--click", action="append", default=[], metavar="SELECTOR")
    parser.add_argument("--script", action="append", default=[], help="of JavaScript; its value is printed")
    parser.add_argument("--screenshot", metavar="FILE.png")
    flags = parser.parse_args()
    width, height = map(int, flags.size.split("x"))
    with Browser() as browser:
        page = browser.open(flags.page, width, height, flags.fragment, dark=flags.dark)
        for selector in flags.click:
            page.click(selector)
        page.settle()
        for script in flags.script:
            print(json.dumps(page.evaluate(script), indent=1, ensure_ascii=False))
        page.settle()
        if flags.screenshot:
            page.screenshot(flags.screenshot)
        print(f"opened in {page.seconds_to_open:.2f} s, heap {page.heap_bytes() / 1e6:.1f} MB, "
              f"requests {len(page.requests)}", file=sys.stderr)
        for error in page.errors:
            print(f"error: {error}", file=sys.stderr)
    return 1 if page.errors else 0


if __name__ == "__main__":
    sys.exit(main())
