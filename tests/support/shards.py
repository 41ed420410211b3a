"""Runs the tests of a program in N processes side by side, for those that wait more than they compute.

    shards.py N PROGRAM
"""
import concurrent.futures
import os
import subprocess
import sys


def run(shard, count, program):
    environment = {**os.environ, "GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(shard)}
    return subprocess.run([program], env=environment, capture_output=True, text=True)


def main():
    count, program = int(sys.argv[1]), sys.argv[2]
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        shards = list(pool.map(run, range(count), [count] * count, [program] * count))
    for shard in shards:
        print(shard.stdout + shard.stderr)
    sys.exit(1 if any(shard.returncode for shard in shards) else 0)


main()
