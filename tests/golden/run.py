#!/usr/bin/env python3
"""Golden tests: a file holds a command, its input files and what it must print.

    # what this shows
    # tolerance: 1e-6                 (relative, for numbers in the output; default 0)
    # memory: 1500 MB                 (of addresses that a command of sbp-plan may take; default: no bound)
    # slow                            (only run with --slow, with --update, or by its own name)
    <<< NAME                          (an input file, up to the next line that is <<<)
    ...
    <<<
    $ sbp-plan infer graph.json --mesh 2
    --- exit 0
    --- stdout
    ...
    --- stderr
    ...

Several `$` lines run in order in one fresh folder; the last one is compared. `{source}` stands for the project's folder;
`sh -c '...'` finds sbp-plan too, scripts find it in SBP_PLAN. A section that is absent is not compared, except exit (then
0). `--update` rewrites the sections that a file has.

A file may hold several cases: each begins with a line `=== what it shows`, has the commands and sections of its own, and
the input files of the head and its own.

    run.py PROGRAM [--update] [--slow] [--minutes M] [--seconds S] [--no-memory-bounds] [FILE or FOLDER ...]

--minutes: no case begins later than that; which ones are left out changes from day to day, and how many is said.
--seconds: a command that takes longer (default: 120) is ended, and its case has failed.
--no-memory-bounds: for a program under AddressSanitizer, which takes terabytes of addresses.
--slow: the files of folders that are marked so, and no others.
"""
import argparse
import concurrent.futures
import datetime
import difflib
import functools
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
SECTION = re.compile(r"^--- (exit|stdout|stderr|file )")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


@functools.cache
def python_with_numpy():
    """The PATH's python3, or the distribution's where that one lacks NumPy (pyenv and conda come first in PATH)."""
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
            return python
    sys.exit("no python3 has NumPy: scripts/setup installs it")


def run_bounded(words, seconds, **where):
    """As subprocess.run; after so many seconds all that it has started is ended, too."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True, **where) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(words, process.returncode, out, err)


class Case:
    """One case: `head` and `body` are the lines that it shares with the file's other cases and its own."""

    def __init__(self, name, head, body):
        self.name, self.body, self.files, self.commands, self.sections = name, body, {}, [], {}
        self.tolerance = self.took = 0.0
        self.megabytes = None
        self.read(head)
        self.read(body)

    def read(self, lines):
        target, i = None, 0
        while i < len(lines):
            line = lines[i]
            if target is None and line.startswith("<<< "):
                name, body = line[4:].strip(), []
                i += 1
                while lines[i] != "<<<":
                    body.append(lines[i])
                    i += 1
                self.files[name] = "\n".join(body) + "\n"
            elif SECTION.match(line):
                words = line[4:].split(maxsplit=1)
                if words[0] == "exit":
                    self.sections["exit"], target = int(words[1]), None
                else:
                    target = line[4:]
                    self.sections[target] = []
            elif target is not None:
                self.sections[target].append(line)
            elif line.startswith("$ "):
                self.commands.append(line[2:])
            elif line.startswith("# tolerance:"):
                self.tolerance = float(line.split(":")[1])
            elif line.startswith("# memory:"):
                self.megabytes = int(re.fullmatch(r"# memory: (\d+) MB", line).group(1))
            i += 1
        self.sections = {name: text if isinstance(text, (int, str)) else "\n".join(text) for name, text in self.sections.items()}

    def run(self, program, bounds):
        path = os.path.dirname(program) + os.pathsep + os.environ["PATH"]
        environment = {**os.environ, "SBP_PLAN": program, "PATH": path}
        with tempfile.TemporaryDirectory() as folder:
            for name, body in self.files.items():
                (pathlib.Path(folder) / name).write_text(body)
            for command in self.commands:
                words = [w.replace("{source}", str(SOURCE)) for w in shlex.split(command)]
                if words[0] == "sbp-plan":
                    bound = [] if self.megabytes is None or not bounds.memory else ["prlimit", f"--as={self.megabytes << 20}"]
                    words[:1] = [*bound, program]
                if words[0] == "python3":
                    words[0] = python_with_numpy()
                done = run_bounded(words, bounds.seconds, cwd=folder, env=environment)
            clean = lambda text: text.replace(str(SOURCE), "{source}").replace(folder, "{tmp}").rstrip("\n")
            found = {"exit": done.returncode, "stdout": clean(done.stdout), "stderr": clean(done.stderr)}
            for section in self.sections:
                if section.startswith("file "):
                    path = pathlib.Path(folder) / section[5:]
                    found[section] = clean(path.read_text()) if path.exists() else "(no such file)"
            return found

    def same(self, expected, found):
        expected, found = expected.rstrip("\n"), found.rstrip("\n")
        if expected == found:
            return True
        if not self.tolerance or NUMBER.sub("#", expected) != NUMBER.sub("#", found):
            return False
        pairs = zip(NUMBER.findall(expected), NUMBER.findall(found))
        return all(abs(float(a) - float(b)) <= self.tolerance * max(abs(float(a)), abs(float(b))) for a, b in pairs)

    def check(self, program, update, bounds):
        """What is wrong."""
        begin = time.monotonic()
        try:
            found = self.run(program, bounds)
            self.took = time.monotonic() - begin
        except (OSError, UnicodeDecodeError, subprocess.TimeoutExpired) as error:
            return [str(error)]
        expected = {"exit": 0, **self.sections}
        wrong = []
        for section, text in expected.items():
            if section == "exit":
                if text != found["exit"]:
                    wrong.append(f"exit: expected {text}, found {found['exit']}\n{found['stderr']}")
            elif not self.same(text, found[section]):
                wrong.append("\n".join(difflib.unified_diff(text.rstrip("\n").split("\n"), found[section].split("\n"),
                                                            f"{section}, expected", f"{section}, found", lineterm="")))
        if wrong and update:
            self.update(found)
            return []
        return wrong

    def update(self, found):
        before = next((i for i, line in enumerate(self.body) if SECTION.match(line)), len(self.body))
        out = self.body[:before]
        while out and not out[-1]:
            out.pop()
        out.append(f"--- exit {found['exit']}")
        for section in self.sections:
            if section != "exit":
                out += [f"--- {section}", *found[section].split("\n")]
        self.body = out + [""]


class File:
    def __init__(self, path):
        self.path = path
        lines = path.read_text().split("\n")
        starts = [i for i, line in enumerate(lines) if line.startswith("=== ")]
        self.head = lines[: starts[0]] if starts else []
        if any(line.startswith(("$ ", "--- ")) for line in self.head):
            sys.exit(f"{path}: a command or section before the first line with ===, which would not be compared")
        ends = starts[1:] + [len(lines)]
        bodies = [lines[start:end] for start, end in zip(starts, ends)] or [lines]
        self.slow = any(line.startswith("# slow") for line in lines)
        place = path.relative_to(SOURCE) if path.is_relative_to(SOURCE) else path
        self.cases = [Case(f"{place}{': ' + body[0][4:] if starts else ''}", self.head, body) for body in bodies]

    def rewrite(self):
        text = "\n".join("\n".join(part) for part in [self.head, *(case.body for case in self.cases)] if part)
        self.path.write_text(text.rstrip("\n") + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("places", nargs="*", type=pathlib.Path, default=[SOURCE / "tests/golden", SOURCE / "examples"])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--no-memory-bounds", dest="memory", action="store_false")
    given = parser.parse_intermixed_args()
    files = []
    for place in given.places:
        if place.is_dir():
            found = [File(path.resolve()) for path in sorted(place.rglob("*.golden"))]
            files += [file for file in found if given.update or file.slow == given.slow]
        else:
            files.append(File(place.resolve()))
    cases = [case for file in files for case in file.cases]
    if given.minutes < float("inf") and cases:
        first = datetime.date.today().toordinal() * 97 % len(cases)
        cases = cases[first:] + cases[:first]
    deadline = time.monotonic() + 60 * given.minutes
    failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        check = lambda case: (case.check(given.program, given.update, given) if time.monotonic() < deadline
                              else None)
        for case, wrong in zip(cases, pool.map(check, cases)):
            skipped += wrong is None
            if wrong:
                failed += 1
                print(f"FAILED {case.name}")
                print("\n".join(wrong))
    if given.update:
        for file in files:
            file.rewrite()
    if cases:
        slowest = max(cases, key=lambda case: case.took)
        print(f"slowest: {slowest.name}, {slowest.took:.0f} s")
    print(f"{len(cases) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or skipped == len(cases) else 0)


main()
