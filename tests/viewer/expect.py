"""What checks of the viewer say, and how numbers on a page are read back."""
import os
import re

FACTORS = {"": 1, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
SLACK = float(os.environ.get("SBP_VIEWER_SLACK", 4))  # what a loaded machine may take, times the goal


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def expect_equal(seen, wanted, what):
    if seen != wanted:
        raise Failure(f"{what}: {str(seen)[:300]!r}, expected {str(wanted)[:300]!r}")


def number_of(text):
    """'70.7 us' -> 7.07e-05."""
    match = re.match(r"\s*([+−-]?)([\d.]+)\s*([A-Za-z]*)", text or "")
    if not match or match.group(3) not in FACTORS:
        raise Failure(f"no number: {text!r}")
    return (-1 if match.group(1) in ("−", "-") else 1) * float(match.group(2)) * FACTORS[match.group(3)]


def expect_shown(text, value, what):
    """Three digits are shown."""
    seen = number_of(text)
    if abs(seen - value) > 0.006 * abs(value) + 1e-15:
        raise Failure(f"{what}: shown {text!r}, the plan says {value}")


def expect_quiet(page):
    """Nothing on the console, nothing asked for but the file."""
    page.settle()
    expect(not page.errors, f"the page complains: {page.errors[:3]}")
    others = [address for address in page.requests[1:] if not address.startswith(("data:", "blob:"))]
    expect(not others, f"the page asks for {others[:3]}")
    expect(page.requests[0].startswith("file:///"), f"opened from {page.requests[0]}")
