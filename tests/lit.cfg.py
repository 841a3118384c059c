"""Text IR tests: each file's RUN lines are run, FileCheck compares."""

import os

import lit.formats

config.name = "tokamak"  # noqa: F821  (lit defines config)
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".tok"]  # noqa: F821
config.test_source_root = os.path.dirname(__file__)  # noqa: F821
config.excludes = ["python", "unit", "fuzz"]  # noqa: F821

# `tokamak` and `FileCheck` in RUN lines are the ones of this build.
config.environment["PATH"] = os.pathsep.join(  # noqa: F821
    [config.tokamak_bin, config.llvm_tools, os.environ["PATH"]]  # noqa: F821
)
config.environment["TOKAMAK_CACHE_SIZE"] = "0"  # noqa: F821  (what the user has kept is not for tests)
for name in [name for name in os.environ if name.startswith("TOKAMAK_")]:
    config.environment[name] = os.environ[name]  # noqa: F821


def has_avx512() -> bool:
    """Whether this machine can be asked for x86-64-v4."""
    with open("/proc/cpuinfo") as text:
        flags = next((line.split() for line in text if line.startswith("flags")), [])
    return {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= set(flags)


if has_avx512():
    config.available_features.add("avx512")  # noqa: F821
