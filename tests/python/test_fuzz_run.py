"""What tests/fuzz/run.py tells about a run."""

import importlib.util
import sys
from pathlib import Path

RUN = Path(__file__).parents[1] / "fuzz" / "run.py"


def loaded():
    spec = importlib.util.spec_from_file_location("fuzz_run", RUN)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # in which its dataclasses look for their annotations
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


def test_settings_without_a_turn_are_told():
    run = loaded()
    tally = run.Tally()
    cpus, parts = ["x86-64", "x86-64-v3"], ["reuse", "pool"]
    for _ in range(40):
        tally.tried[str(run.Setting("x86-64"))] += 1
    tally.tried[str(run.Setting("x86-64-v3", "pool"))] += 13
    lines = [line.split() for line in run.turns(tally, cpus, parts)]
    assert lines == [
        ["TOKAMAK_CPU=x86-64", "40"],
        ["TOKAMAK_CPU=x86-64-v3", "TOKAMAK_DISABLE=pool", "13"],
        "4 settings had no turn; with more time they have:".split(),
        ["TOKAMAK_CPU=x86-64-v3"],
        ["TOKAMAK_CPU=x86-64", "TOKAMAK_DISABLE=reuse"],
        ["TOKAMAK_CPU=x86-64-v3", "TOKAMAK_DISABLE=reuse"],
        ["TOKAMAK_CPU=x86-64", "TOKAMAK_DISABLE=pool"],
    ]


def test_nothing_is_told_where_all_had_a_turn():
    run = loaded()
    tally = run.Tally()
    for part in ("", "reuse"):
        tally.tried[str(run.Setting("x86-64", part))] += 40
    assert not any("no turn" in line for line in run.turns(tally, ["x86-64"], ["reuse"]))
