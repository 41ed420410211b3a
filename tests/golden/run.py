#!/usr/bin/env python3
"""Golden tests: a file holds a command, its input files and what it must print.

    # what this shows
    # tolerance: 1e-6                 (relative, for numbers in the output; default 0)
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
scripts find the program in SBP_PLAN.
A section that is absent is not compared, except exit (then 0). `--update` rewrites the sections that a file has.

    run.py PROGRAM [--update] [FILE or FOLDER ...]
"""
import concurrent.futures
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


class Case:
    def __init__(self, path):
        self.path, self.files, self.commands, self.sections, self.header = path, {}, [], {}, []
        self.tolerance = 0.0
        lines = path.read_text().split("\n")
        target, buffer = None, []

        def close():
            if target is not None:
                self.sections[target] = "\n".join(buffer)

        i = 0
        while i < len(lines):
            line = lines[i]
            if target is None and line.startswith("<<< "):
                name, body = line[4:].strip(), []
                i += 1
                while lines[i] != "<<<":
                    body.append(lines[i])
                    i += 1
                self.files[name] = "\n".join(body) + "\n"
            elif re.match(r"^--- (exit|stdout|stderr|file )", line):
                close()
                words = line[4:].split(maxsplit=1)
                if words[0] == "exit":
                    self.sections["exit"], target = int(words[1]), None
                else:
                    target, buffer = line[4:], []
            elif target is not None:
                buffer.append(line)
            elif line.startswith("$ "):
                self.commands.append(line[2:])
            elif line.startswith("# tolerance:"):
                self.tolerance = float(line.split(":")[1])
            i += 1
        close()

    def run(self, program):
        with tempfile.TemporaryDirectory() as folder:
            for name, body in self.files.items():
                (pathlib.Path(folder) / name).write_text(body)
            for command in self.commands:
                words = [w.replace("{source}", str(SOURCE)) for w in shlex.split(command)]
                if words[0] == "sbp-plan":
                    words[0] = program
                done = subprocess.run(words, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                      timeout=120, env={**os.environ, "SBP_PLAN": program})
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

    def check(self, program, update):
        found = self.run(program)
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
            self.rewrite(found)
            return []
        return wrong

    def rewrite(self, found):
        text = self.path.read_text()
        head = re.split(r"^--- ", text, maxsplit=1, flags=re.M)[0]
        out = [head.rstrip("\n"), f"--- exit {found['exit']}"]
        for section in self.sections:
            if section != "exit":
                out += [f"--- {section}", found[section]]
        self.path.write_text("\n".join(out) + "\n")


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    update = "--update" in sys.argv
    program, places = os.path.abspath(arguments[0]), arguments[1:] or [str(SOURCE / "tests/golden"), str(SOURCE / "examples")]
    paths = []
    for place in map(pathlib.Path, places):
        paths += sorted(place.rglob("*.golden")) if place.is_dir() else [place]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda path: Case(path).check(program, update), paths)
        for path, wrong in zip(paths, results):
            if wrong:
                failed += 1
                print(f"FAILED {path.relative_to(SOURCE) if path.is_relative_to(SOURCE) else path}")
                print("\n".join(wrong))
    print(f"{len(paths) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed or not paths else 0)


main()
