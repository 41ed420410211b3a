"""Puts the program into the wheel, and libsbp_plan.so: those that CMake builds of this folder, or the program that
SBP_PLAN_BUILT names and, where it is there, the library beside it.

The wheel is of one platform and every Python: nothing in it is linked against Python."""
import os
import pathlib
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent


def built_program(folder: pathlib.Path) -> pathlib.Path:
    """The path of a program that is built; builds it and the library in `folder` where none is given."""
    given = os.environ.get("SBP_PLAN_BUILT")
    if given:
        return pathlib.Path(given)
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSBP_TESTS=OFF"],
                   check=True)
    parallel = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
    subprocess.run(["cmake", "--build", folder, "--target", "sbp-plan", "sbp_plan_c", "-j", parallel], check=True)
    return folder / "sbp-plan"


class BuildWithProgram(build_py):
    def run(self) -> None:
        super().run()
        package = pathlib.Path(self.build_lib) / "sbp_plan"
        program = built_program(pathlib.Path(self.build_lib).resolve().parent / "program")
        for built, name in [(program, "bin/sbp-plan"), (program.with_name("libsbp_plan.so"), "lib/libsbp_plan.so")]:
            if built == program or built.exists():
                (package / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(built, package / name)


class PlatformWheel(bdist_wheel):
    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> "tuple[str, str, str]":
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": BuildWithProgram, "bdist_wheel": PlatformWheel})
