"""Builds the loops in C beside their sources: `python hatch_build.py`, or as a hook of hatchling
for `pip install`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any
from zlib import crc32

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand
    BuildHookInterface = object

FOLDER = Path(__file__).parent / "ldpopt" / "native"
FLAGS = ["-std=c11", "-O3", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden"]


def compiler() -> list[str]:
    """The machine's compiler, or else the one of the package ziglang, for any processor of this
    kind.
    """
    own = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    return (
        shlex.split(own) if own else [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline", "-s"]
    )


def build(library: Path = FOLDER / "loops.bin", *flags: str) -> Path:
    """Build the library from all C files; it knows their checksum, which is compared when it is
    loaded.
    """
    sources = sorted(FOLDER.glob("*.[ch]"))
    checksum = crc32(b"".join(path.read_bytes() for path in sources)) & 0x7FFFFFFF
    files = [str(path) for path in sources if path.suffix == ".c"]
    part = library.with_suffix(f".{os.getpid()}")  # replaced at once: another process may load it
    subprocess.run(
        [*compiler(), *FLAGS, *flags, f"-DSOURCES={checksum}", "-o", part, *files, "-lm"],
        check=True,
    )
    part.replace(library)
    return library


class CustomBuildHook(BuildHookInterface):
    """Builds the library for a wheel or an editable install."""

    def dependencies(self) -> list[str]:
        """The compiler, where the machine has none."""
        return ["ziglang"] if "ziglang" in compiler() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, add the library to the wheel, and name the platform: any version of Python loads
        it.
        """
        build()
        build_data["artifacts"].append("ldpopt/native/loops.bin")
        build_data["pure_python"] = False
        build_data["tag"] = (
            f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        )


if __name__ == "__main__":
    print(build())
