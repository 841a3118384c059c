"""Traces that are read back: whatever a file holds, it is a profile, or a ValueError that says what is wrong with it."""

import json
import random

import numpy as np
import pytest
import tokamak as tk
from tokamak import _trace_file

TIMES = 1500
#: What no writer of traces writes where something else is expected
STRANGE = [None, True, -1, 1e300, 1e400, float("nan"), 2**70, "", "nan", "\ud800", "x" * 3000, [], [[]], {}, {"a": 1}]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    f = tk.jit(lambda x: np.exp(x).sum() + x)
    with tk.profile() as profile:
        f(np.ones(1000))
    profile.save(path)
    return path.read_text()


def read(text):
    """The number of its events, or None if it is no trace."""
    try:
        found = _trace_file.read(text, "trace.json")
    except ValueError as error:
        assert str(error)
        return None
    assert all(0 <= event.thread < len(found.profile.threads) for event in found.profile.events)
    return len(found.profile.events)


def test_a_whole_trace(text):
    events = json.loads(text)["traceEvents"]
    assert read(text) == sum(event["ph"] == "X" for event in events) > 0


def test_every_beginning_of_a_trace(text):
    found = [read(text[:length]) for length in range(len(text))]
    assert any(found) and found[0] is None


def test_other_characters(text):
    draw = random.Random(0)
    for _ in range(TIMES):
        changed = list(text)
        for _ in range(draw.randint(1, 5)):
            place = draw.randrange(len(changed))
            changed[place : place + draw.randint(0, 3)] = draw.choice(['"', "{", "}", "[", "]", ",", "\0", "\n", "9", "e", "-", "\\"])
        read("".join(changed))


def places(value, path=()):
    """The way to everything inside of it."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


def test_other_values(text):
    draw = random.Random(1)
    paths = list(places(json.loads(text)))[1:]
    for _ in range(TIMES):
        document = json.loads(text)
        for path in draw.sample(paths, draw.randint(1, 3)):
            try:
                holder = document
                for key in path[:-1]:
                    holder = holder[key]
                if draw.random() < 0.2:
                    del holder[path[-1]]
                else:
                    holder[path[-1]] = draw.choice(STRANGE)
            except (TypeError, KeyError, IndexError):  # another change was there before
                pass
        read(json.dumps(document))


def test_one_damaged_entry_costs_no_other(text):
    whole = read(text)
    document = json.loads(text)
    events = [i for i, entry in enumerate(document["traceEvents"]) if entry["ph"] == "X"]
    for damage in ({"ts": "soon"}, {"dur": None}, {"tid": []}, {"args": {"flops": "many"}}):
        document = json.loads(text)
        document["traceEvents"][events[1]].update(damage)
        document["traceEvents"][events[2]] = "an entry"
        found = _trace_file.read(json.dumps(document), "trace.json")
        assert len(found.profile.events) == whole - 2
        assert "damaged: 2 of its" in found.problem and "is no" in found.problem


def test_one_damaged_line_costs_no_other(text):
    whole = read(text)
    lines = text.splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if line.startswith('{"ph":"X"'))
    for line in ('{"ph":"X","na\n', "\0" * 40 + "\n", lines[place][:-3] + "\n"):
        found = _trace_file.read("".join([*lines[:place], line, *lines[place + 1 :]]), "trace.json")
        assert len(found.profile.events) == whole - 1
        assert "damaged" in found.problem and "1 line among them" in found.problem
        assert "ends early" not in found.problem
        cut = _trace_file.read("".join([*lines[:place], line, *lines[place + 1 : -2]]), "trace.json")
        assert len(cut.profile.events) == whole - 2
        assert "ends early" in cut.problem and "1 line among them" in cut.problem


def test_a_trace_without_its_end_still_says_what_was_dropped(text):
    changed = text.replace('"dropped_events":0', '"dropped_events":7')
    assert _trace_file.read(changed[:-10], "trace.json").profile.dropped == 7


def test_a_trace_without_its_end_has_nothing_that_was_not_read(text):
    lines = text.splitlines(keepends=True)
    problems = []
    for end in range(len(lines) - 1, 0, -1):
        try:
            problems.append(_trace_file.read("".join(lines[:end]), "trace.json").problem)
        except ValueError:
            continue
    assert any(problem and "ends early" in problem for problem in problems)
    assert not any(problem and "last 0 bytes" in problem for problem in problems)


def test_what_is_negative_is_damage(text):
    whole = read(text)
    events = [i for i, entry in enumerate(json.loads(text)["traceEvents"]) if entry["ph"] == "X"]
    for damage in ({"dur": -3}, {"args": {"bytes_read": -1}}, {"args": {"flops": -1e9}}):
        document = json.loads(text)
        document["traceEvents"][events[0]].update(damage)
        found = _trace_file.read(json.dumps(document), "trace.json")
        assert len(found.profile.events) == whole - 1
        assert "damaged: 1 of its" in found.problem and "-" in found.problem
    for damage in ({"duration_ns": -5}, {"dropped_events": -5}):
        found = _trace_file.read(json.dumps({**json.loads(text), "otherData": damage}), "trace.json")
        assert found.profile.duration_ns > 0 and found.profile.dropped == 0
        assert "-5 is no" in found.problem


def test_events_may_start_before_the_recording(text):
    document = json.loads(text)
    next(entry for entry in document["traceEvents"] if entry["ph"] == "X")["ts"] = -4
    found = _trace_file.read(json.dumps(document), "trace.json")
    assert found.problem is None and found.profile.events[0].start_ns == -4000


def test_a_mark_of_the_byte_order_is_passed_over(text, tmp_path):
    (tmp_path / "marked.json").write_text(text, encoding="utf-8-sig")
    loaded = tk.load_profile(tmp_path / "marked.json")
    assert loaded.problem is None and len(loaded.events) == read(text)


def test_a_list_of_events_says_what_was_dropped():
    def about(dropped, duration):
        return {"ph": "M", "pid": 1, "name": "recording", "args": {"dropped_events": dropped, "duration_ns": duration}}

    event = {"ph": "X", "pid": 1, "tid": 0, "name": "f", "cat": "call", "ts": 1, "dur": 8}
    found = _trace_file.read(json.dumps([about(2, 5000), event, about(7, 12000)]), "trace.json")
    assert (found.profile.dropped, found.profile.duration_ns, found.problem) == (7, 12000, None)
    found = _trace_file.read(json.dumps([about(2, 5000), event]), "trace.json")
    assert (found.profile.dropped, found.profile.duration_ns) == (2, 9000)
    cut = ",\n".join(["[\n" + json.dumps(about(0, 1)), *map(json.dumps, [event, about(7, 12000), event])])
    cut = cut.replace('": ', '":')
    assert _trace_file.read(cut[:-5], "trace.json").profile.dropped == 7
