#!/usr/bin/env python3
"""What a user sees on a terminal: progress of what takes long, colours, and what turns them off.

    terminal_test.py PROGRAM
"""
import os
import pty
import subprocess
import sys
import tempfile

PROGRESS, RED = "\r\033[K", "\033[1;31m"


def shown(program, words, **environment):
    """Everything that reaches a terminal as stderr, and the exit code."""
    ours, theirs = pty.openpty()
    unset = [name for name, value in environment.items() if value is None]
    inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", *unset)}
    given = {k: v for k, v in environment.items() if v is not None}
    process = subprocess.Popen([program, *words], stderr=theirs, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                               env={"TERM": "xterm", **inherited, **given})
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    return text.decode(errors="replace"), process.wait()


def main():
    program, failures = os.path.abspath(sys.argv[1]), []

    def expect(what, good, text):
        if not good:
            failures.append(f"{what}: {text[-300:]!r}")

    with tempfile.TemporaryDirectory() as folder:
        problem = os.path.join(folder, "p.json")
        # Of the hard kind: its gap stays open for as long as it is given.
        subprocess.run([program, "generate", "iopddl-like", "--ops", "2000", "-o", problem], check=True)
        slow = ["solve", problem, "--gap", "0", "--time", "2"]
        many = ["rules", "verify"]
        checks = 0
        for what, words in (("solve", slow), ("verify", many)):
            if what == "verify":
                text = shown_for(program, words, 2.0)
            else:
                text, _ = shown(program, words)
            expect(f"{what}: progress", PROGRESS in text and f"{what}" in text and " s" in text, text)
            checks += 1
        text, _ = shown(program, [*slow, "--quiet"])
        expect("--quiet: no progress", text == "", text)
        text, _ = shown(program, slow, TERM="dumb")
        expect("a dumb terminal: no progress", PROGRESS not in text, text)
        text, code = shown(program, ["explain", "nofile", "x"])
        expect("errors are red", RED + "error:" in text and code == 3, text)
        text, _ = shown(program, ["explain", "nofile", "x"], NO_COLOR="1")
        expect("NO_COLOR", text.startswith("error:"), text)
        text, _ = shown(program, ["explain", "nofile", "x"], NO_COLOR="")
        expect("an empty NO_COLOR counts as none", RED in text, text)
        piped = subprocess.run([program, "explain", "nofile", "x"], capture_output=True, text=True)
        expect("no colour but on a terminal", "\033" not in piped.stderr, piped.stderr)
        checks += 6
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{checks - len(failures)} passed, {len(failures)} failed, 0 skipped")
    sys.exit(1 if failures else 0)


def shown_for(program, words, seconds):
    """The same of a command that is ended after so many seconds."""
    return shown("timeout", [str(seconds), program, *words])[0]


main()
