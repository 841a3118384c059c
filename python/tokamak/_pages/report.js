// The report of an explanation.

const place_text = (line) => `${line.file.split("/").pop()}:${line.line}${line.function ? ", in " + line.function : ""}`;

(() => {
  const e = data();
  const {kernels, operations, traced, memory, measured} = e;
  const sum = (list, of) => list.reduce((total, one) => total + of(one), 0);
  const sourceLine = (line) => {
    const source = line && e.sources.find((one) => one.file === line.file);
    const part = source?.parts.find((one) => line.line >= one.first && line.line < one.first + one.lines.length);
    return part?.lines[line.line - part.first];
  };
  const dot = (k) => el("i", {class: "dot", style: `background: ${colour(k)}`});
  const kernelLink = (k) => el("a", {href: "#kernels", class: "kernel-link", onclick: (event) => { event.preventDefault(); openKernel(k); }}, dot(k), kernels[k].name);
  const lineLink = (line) => line && el("a", {href: "#source", class: "mono", onclick: (event) => { event.preventDefault(); showLine(line); }}, place_text(line));

  // ---- Above

  function above() {
    const times = memory.peak_bytes ? memory.naive_bytes / memory.peak_bytes : 1;
    const naive = `${format.bytes(memory.naive_bytes)} with a buffer for every operation`;
    const planned = times >= 100 ? `${naive}: ${format.count(times)} times as much` : times > 1.001 ? `${format.percent(1 / times)} of the ${naive}` : naive;
    const copied = 2 * sum(e.layouts.filter((one) => one.kernel === null), (one) => one.bytes_copied);
    const moved = copied + sum(kernels, (one) => one.bytes_read + one.bytes_written);
    const compiled = sum(e.times, (one) => one.milliseconds) / 1e3;
    return [
      el("h1", {}, el("span", {class: "mono"}, e.name), ": what Tokamak made of it"),
      el("p", {class: "soft"}, `Tokamak ${e.version}, ${format.plural(e.threads, "thread")}`),
      el("div", {class: "tiles"},
         tile("kernels", String(e.running), e.purpose),
         tile("memory of a call", format.bytes(memory.peak_bytes), planned),
         tile("traffic", format.bytes(moved), `${copied ? `${format.bytes(copied)} of it copies; ` : ""}${format.count(sum(kernels, (one) => one.flops))} operations on elements`),
         measured ? tile("a call takes", format.time(measured.seconds), e.running ? `${format.time(measured.kernel_seconds)} in kernels; ${format.percent(measured.share)} of the roofline` : "no kernels run") : tile("predicted", format.time(sum(kernels, (one) => one.predicted_seconds)), "roughly; not measured"),
         tile("compiled in", format.time(compiled), e.dead.length ? format.plural(e.dead.length, "dead operation") + " dropped" : null)),
    ];
  }

  // ---- The graph

  const inspector = el("div", {class: "card inspector", hidden: true, "aria-live": "polite"});
  function showOperation(list, i) {
    const one = list[i];
    const text = sourceLine(one.line);
    inspector.hidden = false;
    inspector.replaceChildren(
      el("div", {class: "bar"}, el("b", {class: "mono"}, `${one.name} = ${one.text}`), el("span", {class: "push"}), el("button", {type: "button", "aria-label": "Close", onclick: () => (inspector.hidden = true)}, "×")),
      el("p", {}, el("span", {class: "mono"}, one.type), `, ${format.bytes(one.bytes)}`, one.is_view && ", a view: index arithmetic of its readers", one.is_output && ", a result", one.is_written && ", which the function writes to", one.is_dead && ", dead: no result needs it", fateOf(one, operations).replace("\n", ", ")),
      one.line && el("p", {}, lineLink(one.line), text && el("pre", {class: "code"}, el("span", {}, el("span", {class: "at"}, String(one.line.line)), text.trim()))),
      one.kernels.length > 0 && el("p", {}, isReplaced(one) ? "its readers are in " : one.kernels.length > 1 ? "computed in each of " : "computed in ", one.kernels.map((k, n) => [n > 0 && ", ", kernelLink(k)])));
  }
  const graph = graphView({operations, traced, kernels}, {onkernel: (k) => openKernel(k), onoperation: showOperation});
  const graphSection = () => section("graph", "Graph",
    el("p", {class: "soft"}, "Every box is a kernel, around the operations it swallowed. What crosses a border goes through memory (thick lines); the rest stays in registers and caches. ",
       "Drag to move, Ctrl and the wheel (or two fingers) to zoom; click an operation for its line, a kernel for its code."),
    graph.element, inspector,
    el("div", {class: "legend"}, el("span", {}, el("i", {class: "key parameter"}), "argument"), el("span", {}, el("i", {class: "key view"}), "view, costs nothing"),
       el("span", {}, el("i", {class: "key output"}), "result"), el("span", {}, el("i", {class: "key replaced"}), "the passes found a way around it"), el("span", {}, el("i", {class: "key dead"}), "dead")));

  // ---- The user's lines

  const sourceParts = el("div", {});
  function showLine(line) {
    for (const shown of sourceParts.querySelectorAll(".marked")) shown.classList.remove("marked");
    const found = sourceParts.querySelector(`[data-at="${CSS.escape(`${line.file}:${line.line}`)}"]`);
    found?.classList.add("marked");
    (found ?? sourceParts).scrollIntoView({block: "center"});
  }
  function sourceSection() {
    const byLine = new Map();  // where each line went
    traced.forEach((one) => {
      if (!one.line || isNumber(one)) return;
      const key = `${one.line.file}:${one.line.line}`;
      if (!byLine.has(key)) byLine.set(key, new Set());
      one.kernels.forEach((k) => byLine.get(key).add(k));
    });
    const dead = new Set(e.dead.map((i) => traced[i].line && `${traced[i].line.file}:${traced[i].line.line}`));
    const lineOf = (source, number, text) => {
      const key = `${source.file}:${number}`;
      const went = [...(byLine.get(key) ?? [])];
      const marks = el("span", {class: "went"}, went.slice(0, 6).map(dot));
      const made = el("span", {"data-at": key, class: went.length || dead.has(key) ? "counts" : null}, el("span", {class: "at"}, String(number)), marks, text || " ",
                      dead.has(key) && el("em", {class: "bad"}, "   dead"));
      if (went.length) {
        made.addEventListener("click", () => { graph.find(`${source.file}:${number}`); document.getElementById("graph").scrollIntoView(); });
        tip(made, () => `in ${went.map((k) => kernels[k].name).join(", ")}\nclick to find it in the graph`);
      }
      return made;
    };
    for (const source of e.sources) {
      sourceParts.append(el("h3", {class: "mono"}, source.file));
      if (!source.parts.length) sourceParts.append(el("p", {class: "soft"}, "The file cannot be read."));
      for (const part of source.parts) sourceParts.append(el("pre", {class: "code source", tabindex: 0}, part.lines.map((text, i) => lineOf(source, part.first + i, text))));
    }
    const about = e.sources.length ? "Each line with the kernels its operations went into, by colour." : "No line of yours has an operation.";
    return section("source", "Your code", el("p", {class: "soft"}, about), sourceParts);
  }

  // ---- Kernels

  const detail = el("div", {id: "kernel-detail"});
  let kernelTable;
  function openKernel(k, {scroll = true} = {}) {
    kernelTable.querySelectorAll("tbody tr").forEach((row, i) => row.classList.toggle("chosen", i === k));
    detail.replaceChildren(kernelCard(k));
    if (scroll) detail.scrollIntoView({block: "start"});
  }
  const runs = (kernel) => kernel.step >= 0;
  const code_ = (text) => code(text || "(none)", {numbers: 1});
  /** All operations of a kernel; of very many, how often each is there. */
  function opsText(ops) {
    if (ops.length <= 24) return ops.join(", ") || "copies";
    const counts = new Map();
    ops.forEach((op) => counts.set(op, (counts.get(op) ?? 0) + 1));
    return `${format.plural(ops.length, "operation")}: ${[...counts].sort((a, b) => b[1] - a[1]).map(([op, count]) => `${count} × ${op}`).join(", ")}`;
  }
  function kernelCard(k) {
    const kernel = kernels[k], text = e.codes[kernel.code], took = kernel.measured;
    const moved = kernel.bytes_read + kernel.bytes_written;
    const views = [{name: "Loops", of: () => code_(text.loops)}, {name: "Schedule", of: () => code_(text.schedule)}, {name: "LLVM IR", of: () => code_(text.llvm)},
                   {name: "Assembly", of: () => assembly(text)}, {name: "Operations", of: () => el("div", {}, el("p", {class: "soft small"}, "A function of its own: its values have their own numbers."), code_(text.graph))},
                   {name: "Your lines", of: () => el("div", {}, kernel.lines.map((line) => el("div", {}, lineLink(line), el("pre", {class: "code"}, el("span", {}, sourceLine(line)?.trim() ?? "(cannot be read)")))))}];
    return el("div", {class: "card kernel-card", style: `--own: ${colour(k)}`, "data-kernel": k},
              el("h3", {class: "mono"}, dot(k), kernel.name), el("p", {class: "soft small"}, opsText(kernel.ops)),
              el("div", {class: "tiles"},
                 tile("reads", format.bytes(kernel.bytes_read)), tile("writes", format.bytes(kernel.bytes_written)),
                 tile("arithmetic", format.count(kernel.flops), `${moved ? format.count(kernel.flops / moved) : "0"} a byte, ${kernel.dtype}`),
                 runs(kernel) ? tile("predicted", format.time(kernel.predicted_seconds), `roughly; ${format.plural(kernel.tasks, "task")}`) : tile("predicted", "–", "it does not run: there are no elements"),
                 took && tile("measured", format.time(took.seconds), `${format.rate(moved / took.seconds, "B")}, ${format.rate(kernel.flops / took.seconds, "FLOP")}`),
                 took && tile("of the roofline", format.percent(took.share), `bound ${format.time(took.bound_seconds)} by ${took.limit}, ${format.rate(took.rate, took.limit === "arithmetic" ? "FLOP" : "B")}`)),
              tabs(views, {label: "Levels of code"}));
  }
  function rooflineDrawing() {
    const roof = measured.roofline, points = kernels.map((kernel, k) => ({kernel, k})).filter(({kernel}) => kernel.measured && kernel.flops > 0 && kernel.measured.seconds > 0);
    if (!points.length) return null;
    const width = 640, height = 304, left = 72, bottom = 44, right = 14, top = 14;
    const intensity = ({kernel}) => kernel.flops / Math.max(1, kernel.bytes_read + kernel.bytes_written), speed = ({kernel}) => kernel.flops / kernel.measured.seconds;
    const isWide = ({kernel}) => ["f64", "i64", "u64"].includes(kernel.dtype);
    // The roofs of arithmetic that these kernels are under.
    const peaks = [["f32", roof.f32_flops, points.some((point) => !isWide(point))], ["f64", roof.f64_flops, points.some(isWide)]].filter(([, , wanted]) => wanted);
    const peak = Math.max(...peaks.map(([, rate]) => rate));
    const bounds = (list) => [10 ** Math.floor(Math.log10(Math.min(...list))), 10 ** Math.ceil(Math.log10(Math.max(...list)))];
    const [x0, x1] = bounds([0.1, 100, ...points.map(intensity)]), [y0, y1] = bounds([peak / 1000, peak * 1.01, ...points.map(speed)]);
    const x = (v) => left + ((width - left - right) * Math.log(v / x0)) / Math.log(x1 / x0), y = (v) => height - bottom - ((height - bottom - top) * Math.log(v / y0)) / Math.log(y1 / y0);
    // From where it comes out of the ground to where arithmetic ends it.
    const slope = (rate) => `M${x(Math.max(x0, y0 / rate)).toFixed(1)} ${y(Math.max(y0, x0 * rate)).toFixed(1)}L${x(Math.min(x1, peak / rate)).toFixed(1)} ${y(Math.min(peak, x1 * rate)).toFixed(1)}`;
    const decades = (a, b) => Array.from({length: Math.round(Math.log10(b / a)) + 1}, (_, i) => a * 10 ** i);
    // Those that set bounds, and memory.
    const levels = roof.levels.filter((level, i) => i === roof.levels.length - 1 || kernels.some(({measured: took}) => took?.limit === level.name && took.rate === level.bytes_per_second));
    const fastest = Math.max(...levels.map((level) => level.bytes_per_second));
    const dashes = {memory: null, L3: "7 4", L2: "2 3"};
    const key = (dash, text) => el("span", {}, svg("svg", {width: 26, height: 8, class: "key-line roofline"}, svg("path", {class: "roof", d: "M0 4H26", "stroke-dasharray": dash})), text);
    return el("div", {}, el("div", {class: "scroll"}, svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, class: "roofline", role: "img", "aria-label": "Roofline"},
      decades(x0, x1).map((v) => [svg("line", {class: "grid", x1: x(v), x2: x(v), y1: top, y2: height - bottom}), svg("text", {class: "tick", x: x(v), y: height - bottom + 19, "text-anchor": "middle"}, format.count(v))]),
      decades(y0, y1).map((v) => [svg("line", {class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v)}), svg("text", {class: "tick", x: left - 6, y: y(v) + 4, "text-anchor": "end"}, format.count(v))]),
      svg("text", {class: "tick", x: (width + left) / 2, y: height - 6, "text-anchor": "middle"}, "operations a byte of memory traffic"),
      svg("text", {class: "tick", transform: `translate(14 ${(height - bottom + top) / 2}) rotate(-90)`, "text-anchor": "middle"}, "operations a second"),
      levels.map((level) => tip(svg("path", {class: "roof", d: slope(level.bytes_per_second), "stroke-dasharray": dashes[level.name]}), () => `${level.name}: ${format.rate(level.bytes_per_second, "B")} from ${format.bytes(level.bytes)}`)),
      peaks.map(([name, rate]) => [svg("path", {class: "roof", d: `M${x(Math.max(x0, rate / fastest)).toFixed(1)} ${y(rate).toFixed(1)}H${width - right}`}), svg("text", {class: "tick", x: width - right - 4, y: y(rate) - 5, "text-anchor": "end"}, `${format.rate(rate, "FLOP")} in ${name}`)]),
      points.map((point) => tip(svg("circle", {cx: x(intensity(point)), cy: y(Math.max(y0, speed(point))), r: 6, style: `fill: ${colour(point.k)}`, onclick: () => openKernel(point.k)}), () => `${point.kernel.name}\n${format.percent(point.kernel.measured.share)} of the roofline`)))),
      el("div", {class: "legend"}, levels.map((level) => key(dashes[level.name], `${level.name} ${format.rate(level.bytes_per_second, "B")}, ${format.bytes(level.bytes)}`)).reverse()));
  }
  function kernelsSection() {
    const columns = [{name: "kernel", of: (kernel, k) => [dot(k), el("span", {class: "mono"}, kernel.name)]}, {name: "reads", number: true, of: (kernel) => format.bytes(kernel.bytes_read)},
                     {name: "writes", number: true, of: (kernel) => format.bytes(kernel.bytes_written)}, {name: "arithmetic", number: true, of: (kernel) => format.count(kernel.flops)},
                     {name: "predicted", number: true, of: (kernel) => (runs(kernel) ? format.time(kernel.predicted_seconds) : "does not run")}];
    if (measured) columns.push({name: "measured", number: true, of: (kernel) => format.time(kernel.measured?.seconds)},
                               {name: "of the roofline", number: true, of: (kernel) => kernel.measured && [el("span", {class: "share"}, el("i", {style: `width: ${Math.min(100, 100 * kernel.measured.share)}%`})), el("span", {class: "percent"}, format.percent(kernel.measured.share))]});
    const roofline = measured && rooflineDrawing();
    kernelTable = table(columns, kernels, {id: "kernel-table", onrow: (_, k) => openKernel(k)});
    const made = section("kernels", "Kernels", el("p", {class: "soft"}, "In the order in which they run; choose one for its code."), kernelTable, detail,
                         roofline && el("h3", {}, "Roofline"), roofline, el("p", {class: "soft small"}, measured ? measured.how : "Not measured: e.measure() times the kernels. Predictions are those of the compiler's own cost model."));
    if (kernels.length) openKernel(0, {scroll: false});
    return made;
  }

  // ---- Passes

  /** Lines of text IR, the same or not: a value has the same name in both. */
  function difference(before, after) {
    const a = before.replace(/\n$/, "").split("\n"), b = after.replace(/\n$/, "").split("\n");
    let start = 0, end = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) ++start;
    while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) ++end;
    const n = a.length - end - start, m = b.length - end - start;
    const rows = b.slice(0, start).map((line) => [" ", line]);
    if (n * m > 4e6) {
      rows.push(...a.slice(start, start + n).map((line) => ["-", line]), ...b.slice(start, start + m).map((line) => ["+", line]));
    } else {
      const longest = Array.from({length: n + 1}, () => new Uint16Array(m + 1));
      for (let i = n - 1; i >= 0; --i) for (let j = m - 1; j >= 0; --j) longest[i][j] = a[start + i] === b[start + j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
      for (let i = 0, j = 0; i < n || j < m;) {
        if (i < n && j < m && a[start + i] === b[start + j]) { rows.push([" ", b[start + j]]); ++i; ++j; }
        else if (i < n && (j === m || longest[i + 1][j] >= longest[i][j + 1])) rows.push(["-", a[start + i++]]);
        else rows.push(["+", b[start + j++]]);
      }
    }
    return rows.concat(b.slice(b.length - end).map((line) => [" ", line]));
  }
  const diffView = (before, after) => {
    const rows = difference(before, after);
    return code(rows.map(([sign, line]) => `${sign} ${line}`).join("\n"), {of: (_, i) => ({"+": "added", "-": "removed"})[rows[i][0]]});
  };
  function passesSection() {
    const changes = [];
    let last = e.graph;
    e.passes.forEach((pass) => {
      if (pass.changed) {
        changes.push({pass, before: last, after: pass.graph});
        last = pass.graph;
      }
    });
    const when = (pass) => (pass.round < 0 ? "end" : `round ${pass.round + 1}`);
    const views = [{name: "All passes", of: () => el("div", {}, el("p", {class: "soft small"}, "As traced, and after all passes. A value keeps its number; what passes make anew has numbers of its own."), diffView(e.graph, e.optimized))},
                   ...changes.map(({pass, before, after}) => ({name: `${pass.name} (${when(pass)})`, of: () => el("div", {}, el("p", {class: "soft small"}, `${pass.summary}: ${pass.operations_before} values before, ${pass.operations_after} after, in ${format.time(pass.milliseconds / 1e3)}`),
                     tabs([{name: "Changes", of: () => diffView(before, after)}, {name: "Before", of: () => code(before, {numbers: 1})}, {name: "After", of: () => code(after, {numbers: 1})}], {label: "Before and after"}))})),
                   {name: "As traced", of: () => code(e.graph, {numbers: 1})}, {name: "Optimised", of: () => code(e.optimized, {numbers: 1})}];
    const list = table([{name: "pass", of: (pass) => el("span", {class: "mono"}, pass.name)}, {name: "", of: (pass) => pass.summary}, {name: "when", of: when},
                        {name: "values", number: true, of: (pass) => (pass.changed ? `${pass.operations_before} → ${pass.operations_after}` : "unchanged")}, {name: "time", number: true, of: (pass) => format.time(pass.milliseconds / 1e3)}], e.passes, {id: "pass-table"});
    return section("passes", "Passes", el("p", {class: "soft"}, `${format.plural(e.passes.length, "run")} of passes, ${changes.length} changed the program.`), tabs(views, {label: "Programs"}),
                   el("details", {}, el("summary", {}, "Every pass that ran"), list));
  }

  // ---- The rest

  function fusionSection() {
    const list = e.refused.length ? table([{name: "operation", of: (one) => el("span", {class: "mono"}, `${one.consumer} ${operations[one.consumer_operation]?.name ?? ""}`)}, {name: "not into the kernel of", of: (one) => el("span", {class: "mono"}, `${one.producer} ${operations[one.producer_operation]?.name ?? ""}`)},
      {name: "why", of: (one) => one.reason + (one.times > 1 ? ` (${one.times} times)` : "")}, {name: "line", of: (one) => lineLink(one.line)}], e.refused, {id: "refused-table"}) : el("p", {class: "soft"}, "None: everything that could share a kernel does.");
    return section("refused", "Fusions not made", list);
  }
  function memorySection() {
    const inPlace = memory.buffers.filter((one) => one.in_place_of !== null).length, again = reuseOf(memory.buffers).filter((list) => list.length).length;
    if (!memory.buffers.some((one) => one.bytes)) return section("memory", "Memory", el("p", {class: "soft"}, "A call takes no memory beside its arguments and constants."));
    return section("memory", "Memory", memoryBars(memory),
                   el("p", {class: "soft"}, "What a call takes beside its arguments and constants. The arena holds intermediate values, operands that are packed as a whole and partial sums; results are those that do not lie where an argument does, copies of results that are returned twice included; scratch is what the threads take while a kernel runs, of the kernel that takes most. With a buffer for every operation, each has memory of its own, and so have results, packed operands and partial sums; views have none."),
                   el("p", {class: "soft"}, `Kernels run from left to right; a bar is a buffer, from the kernel that makes it to the last that reads it, at its place in the arena. ${format.plural(again, "buffer")} ${again === 1 ? "lies" : "lie"} where others lay before, ${inPlace} in place of an operand.`),
                   memoryDrawing(memory, kernels),
                   el("div", {class: "legend"}, [["arena", "fresh in the arena"], ["reused", "where others lay before"], ["in-place", "in place of an operand"], ["output", "result"], ["scratch", "of the threads, while a kernel runs"]].map(([kind, name]) => el("span", {}, el("i", {class: `key ${kind}`}), name))));
  }
  function layoutSection() {
    const views = operations.filter((one) => one.is_view).length, copied = sum(e.layouts, (one) => one.bytes_copied);
    const list = e.layouts.length ? table([{name: "value", of: (one) => el("span", {class: "mono"}, one.value)}, {name: "how", of: (one) => one.decision}, {name: "in", of: (one) => (one.kernel === null ? "the program" : kernelLink(one.kernel))},
                                           {name: "copied in every run", number: true, of: (one) => (one.bytes_copied ? format.bytes(one.bytes_copied) : "–")}], e.layouts, {id: "layout-table"}) : null;
    return section("layout", "Layout and copies", el("p", {class: "soft"}, `${views ? `${format.plural(views, "view")} (reshapes, transposes, slices, broadcasts) ${views === 1 ? "is" : "are"} index arithmetic of the readers. ` : "There are no views. "}${copied ? format.bytes(copied) + " are copied or packed in every run." : "Nothing is copied."}`), list);
  }
  function deadSection() {
    const unused = traced.filter((one) => one.op === "parameter" && one.is_dead);
    const list = e.dead.length ? table([{name: "operation", of: (i) => el("span", {class: "mono"}, `${traced[i].name} = ${traced[i].text}`)}, {name: "type", of: (i) => el("span", {class: "mono"}, traced[i].type)}, {name: "line", of: (i) => lineLink(traced[i].line)}], e.dead, {id: "dead-table"})
      : el("p", {class: "soft"}, "Nothing that the function computes is without use.");
    return section("dead", "Dead code", list, unused.length > 0 && el("p", {class: "soft"}, "Arguments that no result depends on: ", unused.map((one, i) => [i > 0 && ", ", el("span", {class: "mono"}, one.name)])));
  }
  function timeSection() {
    const total = Math.max(1e-9, sum(e.times, (one) => one.milliseconds));
    return section("time", "Compile time", el("div", {class: "stack"}, e.times.map((one, i) => tip(el("i", {style: `width: ${(100 * one.milliseconds) / total}%; background: ${colour(i)}`}), () => `${one.stage}: ${format.time(one.milliseconds / 1e3)}`))),
                   el("div", {class: "legend"}, e.times.map((one, i) => el("span", {"data-stage": one.stage}, el("i", {style: `background: ${colour(i)}`}), `${one.stage} ${format.time(one.milliseconds / 1e3)}`))));
  }

  compose(above(), [graphSection(), sourceSection(), kernelsSection(), passesSection(), fusionSection(), memorySection(), layoutSection(), deadSection(), timeSection()]);
  graph.begin();
})();
