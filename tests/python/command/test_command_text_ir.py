"""Commands on text IR: `explain`, `opt` and `run`."""

import json

from command_support import TEXT, as_json, command, native


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
