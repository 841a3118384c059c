"""tokamak doctor: the machine as Tokamak sees it, and what is slow about it."""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from .. import _native
from .._format import bytes_text, plural, rate_text, time_text
from .._jit import jit
from .._progress import Progress
from . import output

NAME = "doctor"
SUMMARY = "describe this machine and say what is slow about it"
ABOUT = """Shows processor, features, threads, memory, huge pages, versions and settings, measures how fast memory and arithmetic are, and says
what slows programs down here and what to do about it."""

_FEATURES = (
    *("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16"),
    *("amx_tile", "amx_bf16"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="measure nothing")
    output.add_json(parser)


def run(options: argparse.Namespace) -> None:
    machine = examine()
    if not options.quick:
        with Progress("measuring memory and arithmetic"):
            machine["measured"] = measure()
    machine["advice"] = advice(machine)
    if options.json:
        output.print_json(machine)
    else:
        _print(machine)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _chosen(text: str) -> str:
    """Of "always [madvise] never", the one in brackets."""
    return text.partition("[")[2].partition("]")[0]


def _cpu_lines() -> dict[str, str]:
    lines: dict[str, str] = {}
    for line in _read("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        lines.setdefault(name.strip(), value.strip())
    return lines


def examine() -> dict[str, Any]:
    native = _native.machine()
    lines = _cpu_lines()
    flags = set(lines.get("flags", "").split())
    pages = "/sys/kernel/mm/transparent_hugepage/"
    return {
        "cpu": {
            "model": lines.get("model name", platform.processor() or "unknown"),
            "features": [name for name in _FEATURES if name in flags],
            "virtual": "hypervisor" in flags,
            "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or None,
            "code_for": native["cpu"],
            "vector_bits": native["vector_bytes"] * 8,
            "tiles": native["tiles"],
            "caches": {name: native[f"{name}_bytes"] for name in ("l1", "l2", "l3")},
            "cores": os.cpu_count() or 1,
            "usable": native["usable_cpus"],
            "load": os.getloadavg()[0],
        },
        "threads": _native.num_threads(),
        "memory": {
            "total": native["memory_total"],
            "available": native["memory_available"],
            "kept_for_reuse": _native.memory_stats()["cache_limit"],
        },
        "huge_pages": {
            "mode": _chosen(_read(pages + "enabled")) or None,
            "defrag": _chosen(_read(pages + "defrag")) or None,
        },
        "versions": {
            "tokamak": _native.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "llvm": native["llvm"],
            "kernel": platform.release(),
            **_ml_dtypes_version(),
        },
        "settings": {name: value for name, value in sorted(os.environ.items()) if _is_ours(name)},
    }


def _is_ours(name: str) -> bool:
    return name.startswith("TOKAMAK_") or name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    )


def _ml_dtypes_version() -> dict[str, str | None]:
    try:
        import ml_dtypes
    except ImportError:
        return {"ml_dtypes": None}
    return {"ml_dtypes": ml_dtypes.__version__}


def _best(function: Any, *args: Any) -> float:
    function(*args)
    times: list[float] = []
    end = time.perf_counter() + 0.25
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def measure() -> dict[str, float]:
    """What memory, arithmetic, threads and the compiler do here; all per second or in seconds."""
    x, y = np.ones(8_000_000, np.float32), np.ones(8_000_000, np.float32)
    a = np.ones((768, 768), np.float32)
    start = time.perf_counter()
    add = jit(lambda x, y: x + y)
    add(x[:16], x[:16])
    compiled = time.perf_counter() - start
    multiply = jit(lambda a, b: a @ b)
    polynomial = jit(lambda x: ((x * x + 1.0) * x - 0.5) * x)
    threads = _native.num_threads()
    bandwidth = 3 * x.nbytes / _best(add, x, y)
    flops = 2 * 768**3 / _best(multiply, a, a)
    together = _best(polynomial, x[: 1 << 18])
    _native.set_num_threads(1)
    try:
        alone = _best(polynomial, x[: 1 << 18])
    finally:
        _native.set_num_threads(threads)
    small = _best(add, x[:16], x[:16])
    return {
        "bytes_per_second": bandwidth,
        "flops_per_second": flops,
        "thread_speedup": alone / together,
        "small_call": small,
        "compile": compiled,
    }


def advice(machine: dict[str, Any]) -> list[str]:
    """What is slow about this machine, and what to do about it."""
    cpu, memory, pages = machine["cpu"], machine["memory"], machine["huge_pages"]
    measured = machine.get("measured", {})
    found = []
    if "avx2" not in cpu["features"] or "fma" not in cpu["features"]:
        found.append(
            "the processor has no AVX2 with FMA: vectors are 128 bits, and products are several times slower"
        )
    elif cpu["vector_bits"] < 256:
        found.append(
            f"TOKAMAK_CPU={cpu['code_for']} leaves the wide vectors of this processor unused; unset it"
        )
    if pages["mode"] == "never":
        found.append(
            "huge pages are off: large arrays cost page faults; as root, echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
        )
    if cpu["governor"] not in (None, "performance", "schedutil"):
        found.append(
            f"the frequency governor is {cpu['governor']}: cores may run slowly; as root, cpupower frequency-set -g performance"
        )
    if cpu["usable"] < cpu["cores"]:
        found.append(f"affinity or a control group leaves {cpu['usable']} of {cpu['cores']} cores")
    if machine["threads"] < cpu["usable"]:
        found.append(
            f"{plural(machine['threads'], 'thread')} are used of {cpu['usable']} cores; see TOKAMAK_NUM_THREADS and OMP_NUM_THREADS"
        )
    if machine["threads"] > cpu["usable"]:
        found.append(
            f"{machine['threads']} threads share {plural(cpu['usable'], 'core')}; lower TOKAMAK_NUM_THREADS"
        )
    if cpu["load"] > 0.5 * cpu["usable"]:
        found.append(
            f"other programs are running (load {cpu['load']:.1f} on {plural(cpu['usable'], 'core')}): times will vary"
        )
    if memory["available"] < 1 << 30:
        found.append(
            f"only {bytes_text(memory['available'])} of memory are available: large programs may fail"
        )
    if machine["threads"] > 1 and measured.get("thread_speedup", 99) < 1 + 0.3 * (machine["threads"] - 1):
        found.append(
            f"{machine['threads']} threads are only {measured['thread_speedup']:.1f} times as fast as one: the cores are shared or busy"
        )
    for name, meaning in (
        ("TOKAMAK_VERIFY", "compiling is slower"),
        ("TOKAMAK_DISABLE", "programs are slower"),
        ("TOKAMAK_DUMP_DIR", "compiling is slower"),
        ("TOKAMAK_CHECK", "programs are slower"),
    ):
        if machine["settings"].get(name, "0") not in ("", "0"):
            found.append(f"{name} is set: {meaning}")
    return found


def _print(machine: dict[str, Any]) -> None:
    cpu, memory, pages = machine["cpu"], machine["memory"], machine["huge_pages"]
    tiles = ", AMX tiles for products of bfloat16" if cpu["tiles"] else ""
    caches = ", ".join(f"{name.upper()} {bytes_text(size)}" for name, size in cpu["caches"].items())
    lines = [
        ("processor", cpu["model"] + (" (virtual machine)" if cpu["virtual"] else "")),
        ("features", " ".join(cpu["features"])),
        ("code for", f"{cpu['code_for']}, vectors of {cpu['vector_bits']} bits{tiles}"),
        ("caches", caches),
        ("cores", f"{cpu['usable']} usable of {cpu['cores']}, {plural(machine['threads'], 'thread')}"),
        ("memory", f"{bytes_text(memory['available'])} available of {bytes_text(memory['total'])}"),
        ("huge pages", f"{pages['mode'] or 'unknown'}, defrag {pages['defrag'] or 'unknown'}"),
        ("versions", ", ".join(f"{name} {value}" for name, value in machine["versions"].items() if value)),
        ("settings", ", ".join(f"{name}={value}" for name, value in machine["settings"].items()) or "none"),
    ]
    if "measured" in machine:
        measured = machine["measured"]
        lines += [
            ("memory speed", rate_text(measured["bytes_per_second"], "B") + " (x + y of 32 MB arrays)"),
            ("arithmetic", rate_text(measured["flops_per_second"], "FLOP") + " (a @ b of 768 x 768, f32)"),
            ("threads", f"{measured['thread_speedup']:.2f} times as fast as one thread"),
            ("small call", time_text(measured["small_call"]) + " for x + y of 16 elements"),
            ("compiling", time_text(measured["compile"]) + " for the first call of x + y"),
        ]
    for name, value in lines:
        output.print_text(f"{name:13} {value}")
    output.print_text("")
    if not machine["advice"]:
        output.print_text("Nothing is slow about this machine.")
    for line in machine["advice"]:
        output.print_text(f"! {line}")
