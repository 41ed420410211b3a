#!/usr/bin/env python3
"""Whatever happens while a command writes, the earlier file stays whole.

For every command that writes a file: a full disk (a limit on the size of files, and a small tmpfs where one may be
mounted), a folder that takes no files, a pipe that nobody reads, SIGINT, SIGTERM and SIGKILL at seeded moments. Then the
earlier file is unchanged or the new one is whole, no temporary is left, and the exit code is none of a defect of ours.

    writes_test.py PROGRAM [--seed N]
"""
import argparse
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

OLD = b"the earlier file\n" * 3
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
MOMENTS = 2  # of each signal, for each command

# Name, command, the file that it writes. The inputs are made by prepare().
COMMANDS = [
    ("infer", "infer big.json --mesh 2,2 --strategy greedy -o OUT", "plan.json"),
    ("infer devices", "infer small.json --devices 2 -o OUT", "plan.json"),
    ("infer binary", "infer big.json --mesh 2,2 --strategy greedy -o OUT", "plan.pb"),
    ("infer log", "infer small.json --mesh 2 --effort 0 --log OUT", "log.csv"),
    ("render", "render plan-in.json -o OUT", "plan.svg"),
    ("render table", "render big.json -o OUT", "graph.md"),
    ("page", "render plan-in.json -o OUT", "plan.html"),
    ("view", "view plan-in.json --no-open -o OUT", "plan.html"),
    ("convert", "convert big.json OUT", "graph.prototxt"),
    ("export", "export small.json --mesh 2 -o OUT", "problem.json"),
    ("solve", "solve problem-in.json --effort 0.1 -o OUT", "solution.json"),
    ("solve log", "solve problem-in.json --effort 0.1 --log OUT", "log.csv"),
    ("generate", "generate mlp --ops 3000 -o OUT", "graph.json"),
    ("run outputs", "run plan-in.json --outputs OUT", "outputs.npz"),
    ("run parts", "run plan-in.json --parts OUT", "parts.npz"),
    ("run trace", "run plan-in.json --trace OUT", "trace.json"),
    ("run unsharded", "run small.json --unsharded --outputs OUT", "outputs.npz"),
]
SLOW = [("calibrate", "calibrate small.json --only-model --quick --rounds 1 --repeat 1 -o OUT", "cluster.json")]
# To stdout: nobody reads it, or it is full.
PRINTING = ["infer small.json --mesh 2", "infer small.json --mesh 2 -o -", "compare small.json --mesh 2",
            "explain plan-in.json fc1", "diff plan-in.json plan-in.json", "check plan-in.json", "rules list",
            "rules show MatMul", "rules coverage small.json", "rules candidates Relu --input x=f32[4] --mesh 2",
            "cluster show 8xH100", "convert big.json - --to json", "render plan-in.json -o -", "export small.json --mesh 2 -o -",
            "generate mlp --ops 300 -o -", "solve problem-in.json --effort 0.1 -o -", "run plan-in.json",
            "run plan-in.json --outputs -", "help", "--help"]
SMALL = """{"kind": "sbp_plan.graph.v1", "name": "mlp", "inputs": [{"name": "x", "type": "f32[8,16]"}],
 "parameters": [{"name": "w1", "type": "f32[16,32]"}, {"name": "w2", "type": "f32[32,16]"}],
 "ops": [{"name": "fc1", "type": "MatMul", "inputs": ["x", "w1"], "outputs": ["h"]},
  {"name": "act", "type": "Relu", "inputs": ["h"], "outputs": ["a"]},
  {"name": "fc2", "type": "MatMul", "inputs": ["a", "w2"], "outputs": ["y"]}], "outputs": ["y"]}
"""


class Failure(Exception):
    pass


class Test:
    def __init__(self, program, seed):
        self.program, self.random = program, random.Random(seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="writes-"))
        self.passed, self.skipped, self.failures = 0, 0, []

    def words(self, command, out=None):
        return [self.program] + [str(out) if word == "OUT" else word for word in command.split()]

    def prepare(self):
        (self.folder / "small.json").write_text(SMALL)
        for command in ("generate mlp --ops 2000 -o big.json", "infer small.json --mesh 2 -o plan-in.json",
                        "export small.json --mesh 2 -o problem-in.json"):
            subprocess.run(self.words(command), cwd=self.folder, check=True, capture_output=True)

    def run(self, words, limit=None, **more):
        def before():
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120,
                              preexec_fn=before, **more)

    def expect(self, good, what):
        if not good:
            raise Failure(what)

    def case(self, name, function):
        try:
            function()
            self.passed += 1
        except Failure as failure:
            self.failures.append(f"{name}: {failure}")

    def fresh(self, name):
        place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (place / name).write_bytes(OLD)
        return place / name

    def unchanged(self, path, done, codes=(3,)):
        message = done.stderr.decode(errors="replace")
        self.expect(done.returncode in codes, f"exit {done.returncode}: {message}")
        self.expect(path.read_bytes() == OLD, "the earlier file has changed")
        self.expect([p.name for p in path.parent.iterdir()] == [path.name], f"left behind: {list(path.parent.iterdir())}")
        self.expect("error: cannot write" in message and "defect" not in message, f"says: {message}")

    def full_disk(self, command, name):
        path = self.fresh(name)
        self.unchanged(path, self.run(self.words(command, path), limit=8, stdout=subprocess.DEVNULL))

    def no_folder(self, command, name):
        """A file stands where the folder should be: so no rights help, not even those of root."""
        (self.folder / "no-folder").write_bytes(OLD)
        path = self.folder / "no-folder" / name
        done = self.run(self.words(command, path), stdout=subprocess.DEVNULL)
        message = done.stderr.decode(errors="replace")
        self.expect(done.returncode == 3 and "error: cannot write" in message, f"exit {done.returncode}: {message}")
        self.expect((self.folder / "no-folder").read_bytes() == OLD, "the earlier file has changed")

    def read_only(self, command, name):
        path = self.fresh(name)
        path.parent.chmod(0o555)
        try:
            self.unchanged(path, self.run(self.words(command, path), stdout=subprocess.DEVNULL))
        finally:
            path.parent.chmod(0o755)

    def killed(self, command, name, number):
        """The signal comes at any moment of the command's usual time."""
        path = self.fresh(name)
        words = self.words(command, path)
        process = subprocess.Popen(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        try:
            process.wait(self.random.random() * self.usual)
        except subprocess.TimeoutExpired:
            pass
        process.send_signal(number)
        message = process.communicate(timeout=120)[1].decode(errors="replace")
        self.expect(process.returncode in (0, 5, -number), f"{number.name}: exit {process.returncode}: {message}")
        self.expect("defect" not in message, f"says: {message}")
        content = path.read_bytes()
        # Whole: as long as it is; traces, logs and clusters hold times, of which some have more digits. What is found
        # until the signal is a plan too, and as good as any other for `check`.
        varies = any(word in name for word in ("trace", "log", "cluster"))
        whole = content[-1:] in (b"\n", b"}", b"]") if varies else len(content) == self.whole
        if not whole and content != OLD and name.startswith("plan."):
            whole = self.run(self.words("check OUT", path), stdout=subprocess.DEVNULL).returncode == 0
        self.expect(content == OLD or whole, f"{number.name}: {len(content)} bytes are left")
        left = [p.name for p in path.parent.iterdir() if p != path]
        self.expect(not left, f"{number.name}: left behind: {left}")
        again = self.run(words, stdout=subprocess.DEVNULL)
        self.expect(again.returncode == 0, f"the next run: exit {again.returncode}: {again.stderr.decode()}")

    def time(self, command, name):
        """How long the command takes, and how much it writes."""
        path = self.fresh(name)
        begin = time.monotonic()
        done = self.run(self.words(command, path), stdout=subprocess.DEVNULL)
        self.usual, self.whole = time.monotonic() - begin, path.stat().st_size
        self.expect(done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode()}")
        self.expect(path.read_bytes() != OLD, "nothing was written")

    def closed_pipe(self, command):
        read, write = os.pipe()
        os.close(read)
        done = self.run(self.words(command), stdout=write)
        os.close(write)
        message = done.stderr.decode(errors="replace")
        self.expect(done.returncode in (-signal.SIGPIPE, 3), f"exit {done.returncode}: {message}")
        self.expect("defect" not in message, f"says: {message}")
        # Where the caller ignores SIGPIPE, a message instead.
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(["sh", "-c", 'trap "" PIPE; exec "$@"', "sh", *self.words(command)], cwd=self.folder,
                              stdout=write, stderr=subprocess.PIPE, timeout=120)
        os.close(write)
        message = done.stderr.decode(errors="replace")
        self.expect(done.returncode == 3 and "stdout" in message, f"SIGPIPE ignored: exit {done.returncode}: {message}")

    def full_stdout(self, command):
        with open("/dev/full", "wb") as full:
            done = self.run(self.words(command), stdout=full)
        message = done.stderr.decode(errors="replace")
        self.expect(done.returncode == 3 and "No space left" in message, f"exit {done.returncode}: {message}")

    def tmpfs(self):
        """A disk that is really full, where we may mount one."""
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True)
        if mounted.returncode:
            self.skipped += 2
            return
        try:
            path = disk / "plan.json"
            path.write_bytes(OLD)
            words = self.words("infer big.json --mesh 2,2 --strategy greedy -o OUT", path)
            self.case("a full disk", lambda: self.unchanged(path, self.run(words, stdout=subprocess.DEVNULL)))
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            self.case("a disk to read only", lambda: self.unchanged(path, self.run(words, stdout=subprocess.DEVNULL)))
        finally:
            subprocess.run(["umount", disk], check=True)

    def dump_dir(self):
        done = self.run(self.words("infer small.json --mesh 2 --dump-dir small.json"), stdout=subprocess.DEVNULL)
        self.expect(done.returncode == 3 and b"--dump-dir" in done.stderr, done.stderr.decode())
        dumps = self.folder / "dumps"
        dumps.mkdir()
        (dumps / "01-graph.txt").write_bytes(OLD)
        done = self.run(self.words("infer small.json --mesh 2 --dump-dir dumps"), limit=len(OLD), stdout=subprocess.DEVNULL)
        self.expect(done.returncode == 0 and b"warning: --dump-dir" in done.stderr, done.stderr.decode())
        self.expect((dumps / "01-graph.txt").read_bytes() == OLD, "the earlier dump has changed")
        self.expect(not list(dumps.glob("*.tmp.*")), "left behind")

    def link(self):
        target = self.fresh("plan.json")
        path = self.folder / "link.json"
        path.symlink_to(target)
        self.run(self.words("infer small.json --mesh 2 -o link.json"), stdout=subprocess.DEVNULL)
        self.expect(path.is_symlink() and target.read_bytes() != OLD, "the link was replaced, not its file")

    def all(self, commands):
        self.prepare()
        for name, command, out in commands:
            self.case(f"{name}: a full disk", lambda: self.full_disk(command, out))
            self.case(f"{name}: no folder", lambda: self.no_folder(command, out))
            if os.geteuid() != 0:  # root writes anyway
                self.case(f"{name}: a folder to read only", lambda: self.read_only(command, out))
            else:
                self.skipped += 1
            self.case(f"{name}: as it should be", lambda: self.time(command, out))
            for number in SIGNALS:
                for _ in range(MOMENTS):
                    self.case(f"{name}: {number.name}", lambda: self.killed(command, out, number))
        for command in PRINTING:
            self.case(f"{command}: a closed pipe", lambda: self.closed_pipe(command))
            self.case(f"{command}: a full stdout", lambda: self.full_stdout(command))
        self.case("--dump-dir", self.dump_dir)
        self.case("a link", self.link)
        self.tmpfs()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow", action="store_true", help="calibrate too")
    args = parser.parse_args()
    test = Test(args.program, args.seed)
    try:
        test.all(COMMANDS + (SLOW if args.slow else []))
    finally:
        shutil.rmtree(test.folder, ignore_errors=True)
    for failure in test.failures:
        print(f"FAILED {failure}")
    print(f"{test.passed} passed, {len(test.failures)} failed, {test.skipped} skipped")
    sys.exit(1 if test.failures else 0)


main()
