// The pages of profiles and comparisons. The data has runs, one of a profile and two of a comparison, each with its events as rows of numbers.

const ORDER = ["call", "kernel", "library", "worker", "compile", "allocation"];
const MEANING = {call: "call of a program", kernel: "kernel", library: "kernel around a product or a sort", worker: "part of another thread",
                 compile: "compiling", allocation: "memory"};
const categoryColour = (category) => colour([7, 0, 2, 6, 1, 4][Math.max(0, ORDER.indexOf(category))]);
const isKernel = (event) => event.category === "kernel" || event.category === "library";
const seconds = (ns) => format.time(ns / 1e9);

function eventsOf(run) {
  return run.events.map(([name, category, thread, start, length, read, written, flops], i) =>
    ({name: run.names[name], category: run.categories[category], thread, start, length, read, written, flops, code: run.code_of?.[i] ?? -1}));
}

/** How deep each event is inside others of its thread. Gives [thread, its events with their depths], threads that have none left out. */
function nested(events) {
  const threads = new Map();
  for (const event of [...events].sort((a, b) => a.start - b.start || b.length - a.length)) {
    if (!threads.has(event.thread)) threads.set(event.thread, {open: [], events: []});
    const {open, events: some} = threads.get(event.thread);
    while (open.length && event.start >= open.at(-1).start + open.at(-1).length) open.pop();
    some.push({event, depth: open.length, inside: open.at(-1) ?? null});
    open.push(event);
  }
  return [...threads].sort((a, b) => a[0] - b[0]).map(([thread, {events: some}]) => [thread, some]);
}

const hintOf = (event) => {
  const moved = event.read + event.written;
  const rate = moved && isKernel(event) ? `\n${format.rate(moved / event.length * 1e9, "B")}` : "";
  const times = event.count > 1 ? `, ${event.count} times` : "";
  return `${event.name}\n${MEANING[event.category] ?? event.category}${times}\n${seconds(event.length)}${moved ? `\n${format.bytes(moved)}` : ""}${rate}`;
};

function facts(event, run) {
  const lines = [["What", MEANING[event.category] ?? event.category], ["Time", seconds(event.length)]];
  if (event.count) lines.push(["Calls", event.count], ["Each", seconds(event.length / event.count)]);
  else lines.push(["Begins at", seconds(event.start)], ["Thread", run.threads[event.thread] ?? event.thread]);
  if (isKernel(event)) {
    lines.push(["Reads", format.bytes(event.read)], ["Writes", format.bytes(event.written)],
               ["Memory", format.rate((event.read + event.written) / event.length * 1e9, "B")]);
    if (event.flops) lines.push(["Operations", format.count(event.flops)], ["Rate", format.rate(event.flops / event.length * 1e9, "FLOP")]);
  } else if (event.written) lines.push(["Bytes", format.bytes(event.written)]);
  return el("dl", {class: "facts"}, lines.map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));
}

/** What a chosen event is, and the code of a kernel where it is known; below the chart it was chosen in. */
function details() {
  const place = el("div", {class: "card", id: "details", hidden: true});
  place.show = (event, run, chart) => {
    const known = run.codes?.[event.code];
    const parts = known && [{name: "Operations", of: () => code(known.graph, {label: "Operations"})}, {name: "Loops", of: () => code(known.loops, {label: "Loops", numbers: 1})},
                            {name: "Schedule", of: () => code(known.schedule || "(none)", {label: "Schedule"})},
                            {name: "LLVM IR", of: () => code(known.llvm || "(none)", {label: "LLVM IR", numbers: 1})}, {name: "Assembly", of: () => assembly(known)}];
    const close = el("button", {type: "button", "aria-label": "Close", onclick: () => (place.hidden = true)}, "×");
    place.replaceChildren(el("div", {class: "bar"}, el("h3", {class: "mono"}, event.name), el("span", {class: "push"}), close), facts(event, run),
                          ...(known && event.others ? [el("p", {class: "soft small"}, `${event.others + 1} different kernels have this name; this is the code of the one that took longest.`)] : []),
                          ...(known ? [tabs(parts, {label: "Code"})] : []));
    chart?.after(place);
    place.hidden = false;
    if (place.getBoundingClientRect().top > innerHeight - 120) place.scrollIntoView({block: "center"});
  };
  return place;
}

function timeline(runs, chosen, {label, colourOf}) {
  const rows = [], boxes = [];
  let span = 0;
  runs.forEach((run, number) => {
    if (run.label) rows.push({label: run.label, head: true});
    for (const [thread, events] of nested(run.list)) {
      rows.push({label: `thread ${run.threads[thread] ?? thread}`, head: true});
      const first = rows.length;
      const depth = events.reduce((most, {depth}) => Math.max(most, depth), 0);
      for (let i = 0; i <= depth; i += 1) rows.push({label: ""});
      for (const {event, depth} of events) {
        boxes.push({row: first + depth, start: event.start, length: event.length, name: event.name, colour: colourOf(event), event, run,
                    about: {run: number, category: event.category}});
        span = Math.max(span, event.start + event.length);
      }
    }
  });
  return chart({rows, boxes, span, text: seconds, label, onchoose: (box, here) => chosen.show(box.event, box.run, here), hint: (box) => hintOf(box.event)});
}

/** Events of one name at one place of the stack together, the longest first. */
function flameGraph(run, chosen) {
  const rows = [], boxes = [];
  let span = 0;
  for (const [thread, events] of nested(run.list)) {
    const root = {children: new Map(), length: 0};
    const nodes = new Map();
    for (const {event, inside} of events) {
      const above = inside === null ? root : nodes.get(inside);
      const key = `${event.category} ${event.name}`;
      if (!above.children.has(key)) {
        above.children.set(key, {name: event.name, category: event.category, length: 0, count: 0, read: 0, written: 0, flops: 0, thread, children: new Map()});
      }
      const node = above.children.get(key);
      nodes.set(event, node);
      node.count += 1;
      for (const sum of ["length", "read", "written", "flops"]) node[sum] += event[sum];
      if (inside === null) root.length += event.length;
    }
    rows.push({label: `thread ${run.threads[thread] ?? thread}: ${seconds(root.length)}`, head: true});
    const first = rows.length;
    let deepest = -1;
    const layOut = (node, start, depth) => {
      let at = start;
      for (const child of [...node.children.values()].sort((a, b) => b.length - a.length)) {
        boxes.push({row: first + depth, start: at, length: child.length, name: child.name, colour: categoryColour(child.category), event: child,
                    about: {category: child.category, count: child.count}});
        deepest = Math.max(deepest, depth);
        layOut(child, at, depth + 1);
        at += child.length;
      }
    };
    layOut(root, 0, 0);
    for (let i = 0; i <= deepest; i += 1) rows.push({label: ""});
    span = Math.max(span, root.length);
  }
  return chart({rows, boxes, span, text: seconds, label: "the flame graph", onchoose: (box, here) => chosen.show(box.event, run, here), hint: (box) => hintOf(box.event)});
}

/** The bytes of one kernel after the other, each run a row. */
function traffic(runs, chosen, colourOf) {
  const rows = [], boxes = [];
  let span = 0;
  runs.forEach((run, number) => {
    rows.push({label: `${run.label}: ${format.bytes(run.bytes)}`, head: true}, {label: ""});
    let at = 0;
    for (const event of run.list.filter(isKernel)) {
      const length = event.read + event.written;
      boxes.push({row: rows.length - 1, start: at, length, name: event.name, colour: colourOf(event), event, run, about: {run: number, category: event.category}});
      at += length;
    }
    span = Math.max(span, at);
  });
  return chart({rows, boxes, span, text: format.bytes, label: "memory traffic", onchoose: (box, here) => chosen.show(box.event, box.run, here), hint: (box) => hintOf(box.event)});
}

const legend = (categories) => el("div", {class: "legend"}, ORDER.filter((one) => categories.includes(one)).map((one) =>
  el("span", {}, el("i", {style: `background:${categoryColour(one)}`}), MEANING[one])));

function notes(run) {
  const lines = [run.problem, run.dropped && `${run.dropped} events were not kept while recording.`,
                 run.left_out && `The ${run.left_out} shortest events are not on this page.`].filter(Boolean);
  return lines.map((line) => el("p", {class: "card bad"}, line));
}

function sums(events) {
  const rows = new Map();
  for (const event of events) {
    const key = `${event.category} ${event.name}`;
    if (!rows.has(key)) rows.set(key, {name: event.name, category: event.category, count: 0, length: 0, read: 0, written: 0, flops: 0, codes: new Map()});
    const row = rows.get(key);
    row.count += 1;
    for (const sum of ["length", "read", "written", "flops"]) row[sum] += event[sum];
    row.codes.set(event.code, (row.codes.get(event.code) ?? 0) + event.length);
  }
  for (const row of rows.values()) {
    row.code = [...row.codes].reduce((a, b) => (b[1] > a[1] ? b : a))[0];
    row.others = row.codes.size - 1;
  }
  return [...rows.values()].sort((a, b) => b.length - a.length);
}

const columns = [
  {name: "Name", of: (row) => el("code", {}, row.name)}, {name: "What", of: (row) => row.category},
  {name: "Calls", number: true, of: (row) => String(row.count)}, {name: "Time", number: true, of: (row) => seconds(row.length)},
  {name: "Each", number: true, of: (row) => seconds(row.length / row.count)},
  {name: "Traffic", number: true, of: (row) => (isKernel(row) ? format.bytes(row.read + row.written) : "")},
  {name: "Memory", number: true, of: (row) => (isKernel(row) ? format.rate((row.read + row.written) / row.length * 1e9, "B") : "")},
  {name: "Arithmetic", number: true, of: (row) => (isKernel(row) && row.flops ? format.rate(row.flops / row.length * 1e9, "FLOP") : "")},
];

function showProfile({title, runs: [run]}) {
  run.list = eventsOf(run);
  const kernels = run.list.filter(isKernel);
  const total = (events, of) => events.reduce((sum, event) => sum + of(event), 0);
  const time = total(kernels, (event) => event.length);
  // While any of them ran: several threads may run kernels at once.
  let covered = 0, until = 0;
  for (const event of [...kernels].sort((a, b) => a.start - b.start)) {
    covered += Math.max(0, event.start + event.length - Math.max(event.start, until));
    until = Math.max(until, event.start + event.length);
  }
  const callers = new Set(kernels.map((event) => event.thread)).size;
  const compiling = total(run.list.filter((event) => event.category === "compile" && /^(compile|trace) /.test(event.name)), (event) => event.length);
  const memory = run.list.filter((event) => event.category === "allocation");
  const chosen = details();
  const tiles = el("div", {class: "tiles"},
    tile("Recorded", seconds(run.duration_ns), format.plural(run.list.length, "event")), tile("In kernels", seconds(time), `${format.percent(run.duration_ns ? covered / run.duration_ns : 0)} of the time${callers > 1 ? `, in ${callers} threads` : ""}`),
    tile("Kernel calls", String(kernels.length), format.plural(new Set(kernels.map((event) => event.name)).size, "kernel")),
    tile("Memory traffic", format.bytes(total(kernels, (event) => event.read + event.written))), tile("Compiling", seconds(compiling)),
    tile("Allocations", String(memory.length), `${memory.filter((event) => event.name === "new memory").length} of new memory`));
  compose([el("h1", {}, title), tiles, ...notes(run)], [
    section("flame", "Flame graph", el("p", {class: "soft"}, "What called what, calls of the same name together, the longest first."), legend(run.categories), flameGraph(run, chosen)),
    section("timeline", "Timeline", timeline([run], chosen, {label: "the timeline", colourOf: (event) => categoryColour(event.category)}), chosen),
    section("totals", "Totals", table(columns, sums(run.list), {id: "sums", onrow: (row) => { chosen.show(row, run, document.querySelector("#totals .scroll")); chosen.scrollIntoView({block: "center"}); }})),
  ]);
}

/** How many times as much; there is no number for it where nothing is left. */
const ratio = (before, after) => (after ? `${(before / after).toFixed(2)} ×` : "–");

function showComparison({title, verdict, runs, agree}) {
  const differ = !agree && el("p", {class: "card bad"}, "The results differ.");
  if (!runs.some((run) => run.kernels)) {
    compose([el("h1", {}, title), el("p", {class: "card", id: "verdict"}, `${verdict[0].toUpperCase()}${verdict.slice(1)}.`), differ].filter(Boolean), []);
    return;
  }
  const names = [];
  for (const run of runs) {
    const events = eventsOf(run).filter((event) => event.category !== "compile");
    const first = events.reduce((least, event) => (isKernel(event) ? Math.min(least, event.start) : least), Infinity);
    // Both begin with their first kernel; what was before it (memory for results) ends there.
    run.list = events.map((event) => ({...event, start: event.start - (first === Infinity ? 0 : first)})).filter((event) => event.start + event.length >= 0)
      .map((event) => (event.start < 0 ? {...event, start: 0, length: event.length + event.start} : event));
    for (const event of run.list) if (isKernel(event) && !names.includes(event.name)) names.push(event.name);
  }
  const colourOf = (event) => (isKernel(event) || event.category === "worker" ? colour(names.indexOf(event.name)) : "var(--faint)");
  const [eager, compiled] = runs;
  const chosen = details();
  const tiles = el("div", {class: "tiles"},
    tile("Time", ratio(eager.ns, compiled.ns), `${seconds(eager.ns)} → ${seconds(compiled.ns)}`),
    tile("Memory traffic", ratio(eager.bytes, compiled.bytes), `${format.bytes(eager.bytes)} → ${format.bytes(compiled.bytes)}`),
    tile("Kernels", `${eager.kernels} → ${compiled.kernels}`), tile("Arithmetic", `${format.count(compiled.flops)} flops`, `${format.count(eager.flops)} before`));
  compose([el("h1", {}, title), el("p", {class: "soft"}, "Above, one kernel per operation, as recorded; below, compiled. Both on the same axis."), tiles, differ].filter(Boolean), [
    section("time", "Time", timeline(runs, chosen, {label: "time", colourOf}), chosen),
    section("traffic", "Memory traffic", el("p", {class: "soft"}, "What each kernel reads and writes."), traffic(runs, chosen, colourOf)),
    section("totals", "Kernels", runs.map((run) => {
      const list = table(columns, sums(run.list.filter(isKernel)), {onrow: (row) => {
        chosen.show(row, run, list);
        chosen.scrollIntoView({block: "center"});
      }});
      return [el("h3", {}, run.label), list];
    })),
  ]);
}

({profile: showProfile, comparison: showComparison})[data().kind](data());
