"""Commands on text IR: `explain`, `opt` and `run`."""

import json
import os

import pytest
from command_support import TEXT, as_json, command, native
from tokamak import _pages


def test_text_ir(folder):
    (only,) = as_json(folder, "explain", "f.tok")
    assert only["function"] == "f"
    assert only["kernels"][0]["ops"] == ["add", "exp"]
    assert "kernel @add_exp" in command(folder, "explain", "f.tok")
    assert "kernel @add_exp" in command(folder, "explain", "-", input=TEXT)
    assert "result 0" in command(folder, "run", "f.tok")
    assert "exp %0" in command(folder, "opt", "--passes=simplify", "f.tok")
    assert "--passes" in command(folder, "opt", "--help")
    assert "no command" in native(folder, "nonsense", code=2)
    assert "is Python" in native(folder, "explain", "script.py:f", code=2)


def test_text_ir_as_json(folder):
    text = """func @f(%x: f64[3], %y: i32[2,2]) {
  %0 = exp %x
  %1 = mul %x, 1.0
  %2 = div %1, 0.0
  return %2, %y
}
func @g() {
  %0 = lt f32(1.0), f32(2.0)
  return %0
}
"""
    functions = json.loads(command(folder, "opt", "-", "--json", input=text))
    assert [one["function"] for one in functions] == ["f", "g"]
    assert functions[0]["graph"] == command(folder, "opt", "-", input=text).split("\n\n")[0] + "\n"
    assert "exp" not in functions[0]["graph"]
    changed = [one for one in functions[0]["passes"] if one["changed"]]
    assert {"simplify", "eliminate-dead"} <= {one["name"] for one in changed}
    assert all(one["nodes_after"] <= one["nodes_before"] and one["milliseconds"] >= 0 for one in changed)
    listed = json.loads(command(folder, "opt", "--list-passes", "--json"))
    assert {"name": "eliminate-dead", "summary": "drop nodes that no output needs"} in listed

    f, g = json.loads(command(folder, "run", "-", "--json", "--arguments", "--max-elements=3", input=text))
    assert (f["function"], g["function"]) == ("f", "g")
    x, y = f["arguments"]
    assert (x["name"], x["dtype"], x["shape"]) == ("%x", "f64", [3])
    assert f["results"][0]["elements"] == ["inf" if value > 0 else "-inf" for value in x["elements"]]
    assert f["results"][1] == {**y, "name": "result 1"}
    assert len(y["elements"]) == 3  # of four
    assert g["arguments"] == [] and g["results"][0] == {
        "name": "result 0",
        "dtype": "bool",
        "shape": [],
        "elements": [True],
    }
    interpreted = json.loads(command(folder, "run", "-", "--json", "--interpret", input=text))
    assert interpreted[0]["results"][0]["elements"] == f["results"][0]["elements"]
    assert "there is no operation" in command(
        folder, "run", "-", "--json", input="func @f() {\n  %0 = nonsense\n  return %0\n}", code=1
    )


CENTRE = """func @centre(%x: f32[1000000], %s: f32[]) {
  %0 = reduce_sum %x {axes=[0]}
  %1 = exp %x
  %2 = sub %x, %0
  return %2, %s
}
"""


def test_a_summary_says_everything_once(folder):
    text = command(folder, "explain", "-", "--summary", input=CENTRE)
    assert text.startswith("@centre: 3 kernels for 2 operations\n")
    assert text.count("kernels for") == text.count("sub into the kernel of reduce_sum") == 1
    assert "dead: %1 = exp %x  <stdin>:3\n" in text and "compiled in" in text
    shown = command(folder, "explain", "-", "--summary", "--show", "schedule", input=CENTRE)
    assert shown.count("sub into the kernel of reduce_sum") == 1 and "kernel @sum: sum\n" in shown
    graphs = command(folder, "explain", "-", input=CENTRE)
    assert graphs.count("not fused: sub into the kernel of reduce_sum") == 1


def test_json_of_text_ir_has_what_the_summary_has(folder, tmp_path):
    # One that checks its work would compile again what the cache has.
    own_cache = {**os.environ, "TOKAMAK_CACHE_DIR": str(tmp_path), "TOKAMAK_VERIFY": "0"}
    first, second = (
        json.loads(command(folder, "explain", "-", "--json", input=CENTRE, env=own_cache)) for _ in range(2)
    )
    (got,) = first
    assert got["refused"][0]["line"] == "<stdin>:4"
    assert got["dead"] == [{"name": "%1", "text": "exp %x", "type": "f32[1000000]", "line": "<stdin>:3"}]
    assert list(got["times"]) == ["passes", "fusion", "code", "plan"]
    assert got["kernels"][0]["lines"] == ["<stdin>:2"]
    assert not any(kernel["from_disk_cache"] for kernel in got["kernels"])
    (again,) = second
    assert list(again["times"]) == ["disk cache"]
    assert all(kernel.pop("from_disk_cache") == kernel["has_code"] for kernel in again["kernels"])
    kernels = [{key: kernel[key] for key in kernel if key != "from_disk_cache"} for kernel in got["kernels"]]
    assert {**again, "times": None} == {**got, "times": None, "kernels": kernels}


def test_pages_of_text_ir(folder, tmp_path):
    path = tmp_path / "page.html"
    text = command(folder, "explain", "-", "-o", path, input=CENTRE)
    assert text.startswith("centre(f32[1000000], f32[])\ncentre: 3 kernels for 2 operations\n")
    assert "of the roofline" in text and "trace" not in text
    page = _pages.data_of(path.read_text())
    assert page["name"] == "centre" and page["measured"]["seconds"] > 0
    assert page["refused"][0]["line"]["line"] == 4
    (got,) = json.loads(command(folder, "explain", "f.tok", f"--output={path}", "--json"))
    assert got["arguments"] == "f32[4,8], f32[4,8]" and got["kernels"][0]["measured"]["seconds"] > 0
    four = command(folder, "explain", "-", "--no-fuse", "-o", path, "--show", "loops", input=CENTRE)
    assert "loops of sum" in four


def test_what_is_no_page_of_text_ir(folder, tmp_path):
    path = tmp_path / "page.html"
    several = command(folder, "explain", "-", "-o", path, input=CENTRE + TEXT, code=1)
    assert several == "error: -o: a page shows one function, and - has 2: @centre, @f\n"
    assert "cannot open missing.tok" in command(folder, "explain", "missing.tok", "-o", path, code=1)
    assert "--args is for functions of Python" in command(
        folder, "explain", "f.tok", "--args", "f32[3]", "-o", path, code=2
    )
    assert "<stdin>:1" in command(folder, "explain", "-", "-o", path, input="func @f(%x: f32) {", code=1)
    assert "--seed takes a number" in command(folder, "explain", "f.tok", "--seed", "-1", "-o", path, code=2)
    (folder / "bytes.tok").write_bytes(b"\xff\xfe")
    assert "found '\\xff'" in command(folder, "explain", "bytes.tok", "-o", path, code=1)
    assert not path.exists()


def test_pages_of_text_ir_of_all_types(folder, tmp_path):
    pytest.importorskip("ml_dtypes")
    names = [f"{kind}{bits}" for kind in "iuf" for bits in (8, 16, 32, 64) if (kind, bits) != ("f", 8)]
    types = [f"{name}{shape}" for name in ("bool", "bf16", *names) for shape in ("[]", "[2,3]", "[0,3]")]
    parameters = ", ".join(f"%x{i}: {type}" for i, type in enumerate(types))
    results = ", ".join(f"%x{i}" for i in range(len(types)))
    text = f"func @f({parameters}) {{\n  return {results}\n}}\n"
    shown = command(folder, "explain", "-", "-o", tmp_path / "page.html", input=text)
    assert shown.startswith(f"f({', '.join(types)})\n") and "of it in kernels" in shown


def test_what_runs_no_kernels_has_no_share_of_the_roofline(folder, tmp_path):
    text = "func @f(%x: f32[0,3]) {\n  %0 = exp %x\n  return %0\n}\n"
    shown = command(folder, "explain", "-", "-o", tmp_path / "page.html", input=text)
    assert " a call, no kernels run\n" in shown and "roofline" not in shown
