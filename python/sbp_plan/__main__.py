"""The program, as `sbp-plan` or `python -m sbp_plan`."""
from __future__ import annotations

import os
import sys
from typing import NoReturn

from ._program import program


def main() -> NoReturn:
    try:
        found = program()
        if os.path.realpath(found) == os.path.realpath(sys.argv[0]):  # on PATH there is this script alone
            raise FileNotFoundError("the program sbp-plan is not in this package; SBP_PLAN_PROGRAM can name it")
        os.execv(found, [found, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
