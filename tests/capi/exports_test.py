#!/usr/bin/env python3
"""Does the library export the functions of its header and nothing else, and does it leave CUDA and MPI out?
exports_test.py LIBRARY HEADER."""
import re
import subprocess
import sys


def main():
    library, header = sys.argv[1:]
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in symbols.splitlines()}
    declared = set(re.findall(r"^SBP_EXPORT [^;]*?(\w+)\(", open(header).read(), re.MULTILINE))
    assert len(declared) > 5 and exported == declared, f"exported {exported - declared}, missing {declared - exported}"
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-d", library], capture_output=True, text=True,
                                                              check=True).stdout)
    assert any(name.startswith("libc.so") for name in needed), needed
    brought = [name for name in needed if re.match(r"lib(cud|nccl|cublas|mpi|open-)", name)]
    assert not brought, f"brings {', '.join(brought)} into every process"
    print(f"{len(exported)} functions; needs {', '.join(needed)}")


if __name__ == "__main__":
    main()
