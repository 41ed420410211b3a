#!/usr/bin/env python3
"""Do the checks of scripts/ fail where they should? Plants one violation at a time in a copy of the sources.

tests/checks_test.py [CHECK...]: those of scripts/check-CHECK; it needs what the checks need (scripts/setup --ci).
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONG = "".join(f"    x += {i};\n" for i in range(130))


def line_of(name, text):
    return (ROOT / name).read_text().split(text)[0].count("\n") + 1


# (check, file, text to replace or "" to append, text, what the check says)
PLANTED = [
    ("sizes", "src/base/planted.h", "", "struct Planted {\n  int Method(int x) {\n" + LONG + "    return x;\n  }\n};\n",
     "src/base/planted.h:2: a function of 133 lines (too long)"),
    ("sizes", "src/base/planted.h", "",
     "template <typename T>\nstruct Planted {\n  template <typename U>\n  U operator()(U x) const\n  {\n" + LONG
     + "    return x;\n  }\n};\n", "a function of 134 lines (too long)"),
    ("sizes", "src/kernel/gpu/planted.cu", "", "__global__ void Planted(int x) {\n" + LONG + "}\n",
     "src/kernel/gpu/planted.cu:1: a function of 132 lines (too long)"),
    ("sizes", "tests/unit/base/planted.cc", "", "TEST(A, B) {\n  int x = 0;\n" + LONG + "}\n", "(too long)"),
    ("sizes", "src/base/planted.cc", "", "int Planted(int x) {\n  const auto f = [&] {\n" + LONG + "  };\n}\n",
     "src/base/planted.cc:1: a function of 134 lines (too long)"),
    ("sizes", "src/base/planted.cc", "", "// a line\n" * 801, "src/base/planted.cc: 801 lines (too long)"),
    ("dependencies", "src/base/text.h", "", '#include "plan/plan.h"\n', "base may not include plan/plan.h"),
    ("dependencies", "src/search/core.h", "", '#include "graph/graph.h"\n', "search may not include graph/graph.h"),
    ("dependencies", "src/search/core.h", "", "#include <mpi.h>\n", "mpi.h may be included only in runtime/backends/mpi"),
    ("dependencies", "src/gpu/gpu.h", "", '#include "gpu/cuda/planted.h"\n', "gpu/. may not include gpu/cuda/planted.h"),
    ("dependencies", "src/graph/planted/a.h", "", "int a;\n", "src/graph/planted: no row graph/planted in the table of subfolders"),
    ("dependencies", "src/graph/planted/a.h", "", "int a;\n", "src/graph: no row graph/. in the table of subfolders"),
    ("dependencies", "src/planted/a.h", "", "int a;\n", "folder planted has no row in the dependency table"),
    ("dependencies", "cli/main.cc", "", '#include "gpu/gpu.h"\n', "cli may not include gpu/gpu.h"),
    ("dependencies", "tests/unit/base/dtype_test.cc", "", '#include "io/file.h"\n',
     "tests/unit/base may not include io/file.h"),
    ("dependencies", "tests/unit/planted/a_test.cc", "", "int a;\n", "there is no src/planted of which it could be the test"),
    ("dependencies", "tests/CMakeLists.txt", "  name_table_test.cc\n", "",
     "tests/unit/base/name_table_test.cc: tests/CMakeLists.txt does not name it"),
    ("dependencies", "src/cluster/dump.cc", "", '#include "cluster/planted_b.h"\n', None),  # its own folder
    ("dependencies", "CMakeLists.txt", "sbp_library(cluster LINKS sbp_sbp", "sbp_library(cluster LINKS sbp_sbp sbp_search",
     "sbp_library(cluster) links search, other than the dependency table"),
    ("dependencies", "CMakeLists.txt", "sbp_library(naming LINKS sbp_graph", "sbp_library(naming LINKS sbp_sbp",
     "sbp_library(naming) does not link graph, other than the dependency table"),
    ("dependencies", "src/graph/literal.h", "", '#include "graph/simplified.h"\n',
     "a public header includes graph/simplified.h, which is not public"),
    ("dependencies", "scripts/check-dependencies", '"generate": [', '"generate": ["cluster", ',
     "generate may include cluster and does not"),
    ("dependencies", "scripts/check-dependencies", "CYCLES = [", 'CYCLES = [\n    ("sbp/mesh", "sbp/sbp"),',
     "sbp/mesh, sbp/sbp: this cycle is no longer one: take it off the list"),
    ("dependencies", "src/strategy/optimal/layout_network.h", "#include \"strategy/strategy.h\"\n",
     "#include \"strategy/optimal/layout_network_builder.h\"\n#include \"strategy/strategy.h\"\n",
     "headers that include each other in a cycle"),
    ("includes", "src/base/numbers.cc", "", "int Planted(const std::deque<int>&);\n",
     "uses std::deque and does not include deque"),
    ("includes", "src/cluster/dump.cc", "", "sbp::StrategyOptions* planted;\n", None),  # out of this folder's reach
    ("includes", "src/cluster/dump.cc", "", "sbp::MeshAxis* planted_axis = nullptr; sbp::CheckedMul(1, 2);\n",
     "uses CheckedMul and does not include base/checked_math.h"),
    ("includes", "src/cluster/dump.cc", "", '#include "base/minifloat.h"\n',
     "includes base/minifloat.h and uses nothing of it"),
    ("includes", "src/cluster/dump.cc", "", "#include <deque>\n", "includes <deque> and uses nothing of it"),
    ("includes", "src/cluster/dump.cc", "", "// std::deque, Quote\n", None),  # a comment uses nothing
    ("names", "src/cluster/verify.cc", "", "namespace sbp {\nnamespace {\nint kMeasured = 0;\n}\n}\n",
     "src/cluster/verify.cc: kMeasured stands in an anonymous namespace of src/cluster/preset_nvidia.cc, too"),
    ("names", "src/base/text.cc", "", "namespace sbp {\nnamespace {\nint kMeasured = 0;\n}\n}\n", None),  # another folder
    ("names", "src/cluster/verify.cc", "", "namespace sbp {\nnamespace {\nvoid CopyEngineRate(char) {}\n}\n}\n", None),
    ("names", "scripts/check-names", '"src/onnx": ["Row"]', '"src/onnx": ["Row", "Gone"]',
     "src/onnx: Gone stands in one file now: take it off the list"),
    ("names", "src/page/html/shards.js", "", "function tint(x) {}\n", "src/page/html/shards.js: tint is declared by shards.js, too"),
    ("names", "src/page/html/shards.js", "import {el, svg}", "import {el, svg, gone}", "src/page/html/shards.js: dom.js exports no gone"),
    ("scripts", "src/page/html/shards.js", "", "function planted() {\n  return gone(1);\n}\nplanted();\n",
     "Cannot find name 'gone'"),
    ("scripts", "src/page/html/shards.js", "", "function planted() {}\n", "'planted' is declared but its value is never read"),
    ("scripts", "src/page/html/shards.js", "", "export function planted() {}\n", "shards.js: exports planted, which nothing reads"),
    ("scripts", "src/page/html/shards.js", "", "rankRuns([], 1);\n", "Expected 0-1 arguments, but got 2"),
    ("scripts", "src/page/html/shards.js", "", "const planted = rankRuns([]);\nplanted.gone();\n", "Property 'gone' does not exist"),
    ("scripts", "src/page/html/shards.js", "", "export function planted(x) {\n  return x;\n  x = 1;\n}\nplanted(1);\n",
     "Unreachable code"),
    ("scripts", "src/page/html/chart.js", "this.changed();", "this.chnaged();", "Property 'chnaged' does not exist on type 'ZoomRange'"),
    ("scripts", "tests/page_layout_test.py", "scene.given.clear();", "scene.gone.clear();",
     f"tests/page_layout_test.py:{line_of('tests/page_layout_test.py', 'scene.given.clear();')}:7: TS2339: Property 'gone'"),
    ("scripts", "src/page/html/shards.js", "", "export const planted = (_x) => 1;\nplanted(1);\n", None),
    ("words", "src/base/text.h", "", "// As design" ".md says.\n", "a document outside the project"),
    ("words", "src/base/text.h", "", "// See manual" ".md.\n", "no such document in the project"),
    ("words", "CONTRIBUTING.md", "", "Since issue " "12.\n", "an issue of elsewhere"),
    ("words", "src/base/text.h", "", "// The bug of g++ is GCC bug 105651.\n", None),
]
# A cycle needs two files.
CYCLE = [("src/base/planted_a.h", '#include "base/planted_b.h"\n'), ("src/base/planted_b.h", '#include "base/planted_a.h"\n')]


def run(check, tree):
    done = subprocess.run([tree / "scripts" / f"check-{check}"], cwd=tree, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Tree:
    """A copy of the tracked files, in which one thing is changed and put back."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in listed.splitlines():
            if (ROOT / name).is_file() and not name.startswith("tests/fuzz/corpus"):
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        self.git("init", "-q")

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True)

    def with_changes(self, changes, check):
        before = {}
        for name, replaced, text in changes:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            before[path] = path.read_text() if path.exists() else None
            old = before[path] or ""
            assert not replaced or replaced in old, f"{name} has no {replaced}"
            path.write_text(old.replace(replaced, text, 1) if replaced else old + text)
        self.git("add", "-A")
        answer = run(check, self.root)
        for path, old in before.items():
            if old is None:
                path.unlink()
                while not any(path.parent.iterdir()):
                    path = path.parent
                    path.rmdir()
            else:
                path.write_text(old)
        return answer


# A compiler as from TypeScript 5.1 on: it declares streams that decompress of its own, and says its version.
NEWER = """#!/bin/sh
if [ "$1" = --version ]; then echo Version 5.4.5; exit; fi
echo 'interface DecompressionStream {readable: ReadableStream; writable: WritableStream}
declare var DecompressionStream: {prototype: DecompressionStream; new(format: string): DecompressionStream};' > library.d.ts
exec %s "$@" library.d.ts
"""


def newer_compiler(tree, folder):
    """What check-scripts says with it."""
    compiler = pathlib.Path(folder) / "tsc"
    compiler.write_text(NEWER % shutil.which("tsc"))
    compiler.chmod(0o755)
    done = subprocess.run([tree / "scripts/check-scripts"], cwd=tree, capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    return done.returncode, done.stdout + done.stderr


def main():
    asked = sys.argv[1:] or ["sizes", "dependencies", "includes", "names", "words"]
    failures, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder)
        tree.git("add", "-A")
        for check in asked:
            code, said = run(check, tree.root)
            if code != 0:
                failures.append(f"check-{check} fails where nothing is planted:\n{said}")
        if "scripts" in asked and shutil.which("tsc") is not None:
            with tempfile.TemporaryDirectory() as other:
                code, said = newer_compiler(tree.root, other)
            if code != 0:
                failures.append(f"check-scripts fails with a newer compiler:\n{said}")
        cases = [(check, [(file, replaced, text)], said) for check, file, replaced, text, said in PLANTED]
        for said in ("base/planted_a, base/planted_b: include each other in a cycle",
                     "base/planted_a.h, base/planted_b.h: headers that include each other in a cycle"):
            cases.append(("dependencies", [(name, "", text) for name, text in CYCLE], said))
        for check, changes, expected in cases:
            if check not in asked:
                continue
            count += 1
            code, said = tree.with_changes(changes, check)
            if (code == 0) != (expected is None) or (expected is not None and expected not in said):
                failures.append(f"check-{check}, {changes[0][0]}: expected {expected!r}, got {code}:\n{said[-600:]}")
    print("\n".join(failures) if failures else f"checks: {count} planted changes are judged as they should be")
    sys.exit(1 if failures else 0)


main()
