// The graph: operations in layers, kernels as boxes around what they swallowed.

const NODE_HEIGHT = 38, HEAD = 30, PAD = 12, MANY = 4;
const TELLABLE = 0.3, LEGIBLE = 0.75;  // scales at which boxes can be told apart, and names be read: nine pixels high
const isNumber = (one) => one.op === "constant" && one.inputs.length === 0 && !one.name.startsWith("%");
const nameOf = (one) => (one.op === "parameter" ? one.type : `${one.name}: ${one.type}`);

const sizeOf = (one) => ({width: Math.max(58, 7.6 * one.label.length + 20, 6.3 * nameOf(one).length + 18), height: NODE_HEIGHT});

/** The kernels as boxes around operations as traced. What became of an operation says where it went; one that the passes found a way around went
 *  where its readers did, and one that they cut into several is in the kernels of all of these. `handed` are [from, operation]: what the kernel reads of
 *  another one that computes a part of the same operation; `readsOf(operation, input)` says whether it reads the operands of such a one itself. */
function kernelsAsTraced(traced, kernels) {
  const made = kernels.map((kernel) => ({...kernel, operations: [], reads: [], writes: [], handed: []}));
  traced.forEach((one, i) => one.kernels.forEach((k) => {
    made[k].operations.push(i);
    if (kernels[k].writes.includes(one.becomes)) made[k].writes.push(i);
  }));
  for (const [k, kernel] of made.entries()) {
    const inside = new Set(kernel.operations);
    kernel.reads = inside.size === 0 ? traced.flatMap((one, i) => (one.becomes !== null && kernels[k].reads.includes(one.becomes) ? [i] : [])) : [...new Set(kernel.operations.flatMap((i) => traced[i].inputs))].filter((i) => !inside.has(i));
  }
  const known = new Set(traced.map((one) => one.becomes));
  kernels.forEach((kernel, to) => kernel.reads.filter((value) => !known.has(value)).forEach((value) => {
    const from = kernels.findIndex((other) => other.writes.includes(value));
    const both = from < 0 ? undefined : made[to].operations.find((i) => made[from].operations.includes(i) && !isNumber(traced[i]));
    if (both !== undefined) made[to].handed.push([from, both]);
  }));
  made.forEach((kernel, k) => {
    const handed = new Set(kernel.handed.map(([, operation]) => operation));
    kernel.readsOf = (operation, input) => !handed.has(operation) || kernels[k].reads.includes(traced[input].becomes);
  });
  return made;
}
const isReplaced = (one) => one.becomes === null && one.done_by === null && !one.is_dead && one.inputs.length > 0;

/** Views that nothing reads cost nothing: x[2:5] of which only new elements are read, say. They are not drawn. */
function viewsOfNoUse(all) {
  const read = new Set(), unused = new Set();
  for (let i = all.length - 1; i >= 0; --i) {  // readers come after what they read
    if (all[i].is_view && all[i].is_dead && !read.has(i)) unused.add(i);
    else all[i].inputs.forEach((input) => read.add(input));
  }
  return unused;
}

/** The inside of a kernel: its operations, and the values that come in. */
function kernelScene(kernel, all) {
  const own = new Set(kernel.operations);
  const inside = kernel.operations.filter((i) => !isNumber(all[i]));
  const entries = [...new Set(inside.flatMap((i) => all[i].inputs))].filter((i) => !own.has(i) && !isNumber(all[i]));
  const at = new Map([...inside, ...entries].map((value, i) => [value, i]));
  const edges = [];
  for (const operation of inside) {
    for (const input of new Set(all[operation].inputs)) if (at.has(input)) edges.push([at.get(input), at.get(operation)]);
  }
  const sizes = inside.map((operation) => sizeOf(all[operation])).concat(entries.map(() => ({width: 6, height: 0})));
  return {inside, entries, edges, ...layered(sizes, edges, {gapX: 14, gapY: 22, entries: entries.length})};
}

/** The scene with kernels as boxes. An operation that several kernels compute stands in each of them; what goes from one kernel to another goes through
 *  memory. What is dead stands for itself. */
function fusedScene(all, kernels, collapsed) {
  const isEmpty = (kernel) => kernel.operations.every((i) => isNumber(all[i]));
  const insides = kernels.map((kernel, k) => (collapsed.has(k) || isEmpty(kernel) ? null : kernelScene(kernel, all)));
  const outer = [], sizes = [];
  const owner = new Map();  // of a value in memory: which outer node it comes from
  kernels.forEach((kernel, k) => {
    const title = 7.4 * Math.min(kernel.name.length, 40) + 64;
    const inside = insides[k];
    outer.push({kernel: k});
    sizes.push(inside ? {width: Math.max(inside.width + 2 * PAD, title), height: inside.height + HEAD + PAD} : {width: Math.max(title, 160), height: 54});
    for (const operation of kernel.operations) if (!owner.has(operation)) owner.set(operation, k);
  });
  kernels.forEach((kernel, k) => kernel.writes.forEach((operation) => owner.set(operation, k)));
  const add = (operation) => {
    outer.push({operation});
    sizes.push(sizeOf(all[operation]));
    return outer.length - 1;
  };
  const readers = new Map();
  kernels.forEach((kernel) => kernel.reads.forEach((i) => readers.set(i, (readers.get(i) ?? 0) + 1)));
  // What many read from outside stands above each of them: lines all over the drawing would show nothing.
  const everywhere = (i) => all[i].inputs.length === 0 && readers.get(i) > MANY;
  const hidden = viewsOfNoUse(all);
  all.forEach((one, i) => {
    if (!isNumber(one) && one.kernels.length === 0 && !everywhere(i) && !hidden.has(i)) owner.set(i, add(i));
  });
  const joins = new Map();  // pairs of outer nodes, each once
  const wanted = [];
  const join = (from, to, value, reader) => {
    if (from === undefined || from === to) return;
    const key = `${from}/${to}`;
    if (!joins.has(key)) joins.set(key, [from, to]);
    wanted.push({key, from, to, value, reader});
  };
  kernels.forEach((kernel, k) => {
    const inside = new Set(kernel.operations);
    const reading = new Map();
    for (const operation of kernel.operations) for (const input of all[operation].inputs) if (!inside.has(input) && !isNumber(all[input]) && (kernel.readsOf?.(operation, input) ?? true)) {
      if (!reading.has(input)) reading.set(input, new Set());
      reading.get(input).add(operation);
    }
    for (const [value, list] of reading) {
      const from = everywhere(value) ? add(value) : owner.get(value);
      for (const reader of list) join(from, k, value, reader);
    }
    for (const [from, operation] of kernel.handed ?? []) join(from, k, operation, operation);
    // An output that no operation computes is copied from where it is.
    for (const value of kernel.reads) if ((inside.has(value) || isEmpty(kernel)) && owner.get(value) !== k) join(owner.get(value), k, value, value);
  });
  outer.forEach((node, o) => {
    if (node.operation === undefined) return;
    for (const input of new Set(all[node.operation].inputs)) join(owner.get(input), o, input, node.operation);
  });
  // Kernels run in their order. An operation that the passes moved may be read, as traced, by an earlier one: that line goes up.
  const goesUp = ([from, to]) => from > to && from < kernels.length;
  const edges = [...joins.values()].map((ends) => (goesUp(ends) ? [ends[1], ends[0]] : ends));
  const places = layered(sizes, edges, {gapX: 30, gapY: insides.some((inside) => inside) ? 44 : 18});
  const through = new Map([...joins].map(([key, ends], i) => [key, goesUp(ends) ? [...places.routes[i]].reverse() : places.routes[i]]));
  return place(all, kernels, {insides, outer, sizes, places, wanted, through});
}

function place(all, kernels, {insides, outer, sizes, places, wanted, through}) {
  const nodes = [], boxes = [], lines = [];
  const find = new Map();  // `${outer}:${operation}` -> what an edge ends at
  const entered = new Map();  // `${outer}:${value}:${reader}` -> the way from the border to the reader
  outer.forEach((what, o) => {
    const size = sizes[o], x = places.x[o], y = places.y[o];
    if (what.kernel === undefined) {
      const node = {operation: what.operation, x, y, ...size};
      nodes.push(node);
      find.set(`${o}:${what.operation}`, node);
      return;
    }
    const box = {kernel: what.kernel, x, y, ...size, collapsed: insides[what.kernel] === null};
    boxes.push(box);
    find.set(`${o}:`, box);
    const inside = insides[what.kernel];
    if (!inside) return;
    const left = x - inside.width / 2, top = y - size.height / 2 + HEAD;
    const made = inside.inside.map((operation, i) => ({operation, kernel: what.kernel, x: left + inside.x[i], y: top + inside.y[i], ...sizeOf(all[operation])}));
    made.forEach((node) => find.set(`${o}:${node.operation}`, node));
    nodes.push(...made);
    inside.edges.forEach(([from, to], i) => {
      const route = inside.routes[i].map(([px, py]) => [left + px, top + py]);
      if (from < made.length) lines.push({from: made[from], to: made[to], through: route, kernel: what.kernel});
      else entered.set(`${o}:${inside.entries[from - made.length]}:${made[to].operation}`, [[left + inside.x[from], top + inside.y[from]], ...route]);
    });
  });
  const end = (o, operation) => find.get(`${o}:${operation}`) ?? find.get(`${o}:`);
  const drawn = new Set();
  for (const {key, from, to, value, reader} of wanted) {
    const a = end(from, value), b = end(to, reader);
    const same = `${nodes.indexOf(a)}/${a.kernel}/${nodes.indexOf(b)}/${b.kernel}/${value}`;
    if (drawn.has(same)) continue;
    drawn.add(same);
    const written = outer[from].kernel === undefined || kernels[outer[from].kernel].writes.includes(value);
    lines.push({from: a, to: b, through: through.get(key).concat(entered.get(`${to}:${value}:${reader}`) ?? []), value, memory: written && !all[reader].is_dead});
  }
  return {nodes, boxes, lines, width: places.width, height: places.height};
}

function pathOf({from, to, through}) {
  const points = [[from.x, from.y + from.height / 2], ...through, [to.x, to.y - to.height / 2]];
  let path = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
  for (let i = 1; i < points.length; ++i) {
    const [ax, ay] = points[i - 1], [bx, by] = points[i];
    const bend = (by - ay) / 2;
    path += `C${ax.toFixed(1)} ${(ay + bend).toFixed(1)} ${bx.toFixed(1)} ${(by - bend).toFixed(1)} ${bx.toFixed(1)} ${by.toFixed(1)}`;
  }
  return path;
}

/** What the passes made of an operation as traced, if that is not the same operation. */
function fateOf(one, operations) {
  if (isReplaced(one)) return "\nthe passes found a way around it";
  if (one.done_by !== null && one.done_by !== undefined) return `\ndone as ${operations[one.done_by].name} = ${operations[one.done_by].text}`;
  const now = operations[one.becomes];
  return now && now.op !== one.op ? `\nbecame ${now.name} = ${now.text}` : "";
}

/** The drawing with its controls. `onkernel(k)` and `onoperation(list, i)` are called when one is chosen. */
function graphView({operations, traced, kernels}, {onkernel, onoperation}) {
  const inside = svg("g");
  const arrow = svg("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto"},
                    svg("path", {d: "M0 0L8 4L0 8z", class: "arrow"}));
  const drawing = svg("svg", {role: "img", "aria-label": "The graph of operations"}, svg("defs", {}, arrow), inside);
  const canvas = el("div", {class: "canvas graph"}, drawing);
  const view = panZoom(drawing, inside);
  const many = traced.length > 300 && kernels.length > 1;
  const stages = [{name: "As traced", all: traced, boxes: kernelsAsTraced(traced, kernels)}, {name: "After the passes", all: operations, boxes: kernels}];
  const state = {stage: stages[0], collapsed: new Set(many ? kernels.keys() : []), query: "", hit: -1, scene: null, chosen: null};

  const list = () => state.stage.all;
  const matches = (one) => {
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const names = one.kernels.map((k) => kernels[k].name);
    const text = [one.name, one.text, one.type, one.op, ...names, one.line && `${one.line.file}:${one.line.line} ${one.line.function}`].join(" ").toLowerCase();
    return words.length > 0 && words.every((word) => text.includes(word));
  };

  function drawNode(node) {
    const all = list(), one = all[node.operation];
    const kinds = ["node", one.op === "parameter" && "parameter", one.op === "constant" && "constant", one.is_view && "view", one.is_output && "output",
                   one.is_dead && "dead", isReplaced(one) && "replaced", state.query && (matches(one) ? "hit" : "dim"), state.chosen === one && "chosen"].filter(Boolean);
    const drawn = svg("g", {class: kinds.join(" "), transform: `translate(${node.x - node.width / 2} ${node.y - node.height / 2})`, "data-operation": node.operation,
                            style: node.kernel === undefined ? null : `--own: ${colour(node.kernel)}`,
                            onclick: (event) => { event.stopPropagation(); state.chosen = one; onoperation(all, node.operation); draw(); }},
                      svg("rect", {width: node.width, height: node.height, rx: one.op === "parameter" ? 19 : 7}),
                      svg("text", {x: node.width / 2, y: 16, "text-anchor": "middle", class: "mono label"}, one.label),
                      svg("text", {x: node.width / 2, y: 30, "text-anchor": "middle", class: "mono type"}, nameOf(one)));
    return tip(drawn, () => `${one.name} = ${one.text}\n${one.type}, ${format.bytes(one.bytes)}${one.line ? `\n${place_text(one.line)}` : ""}${one.is_dead ? "\ndead: no result needs it" : ""}${fateOf(one, operations)}`);
  }
  function title(box, x, y, kind) {
    const {name} = kernels[box.kernel], most = Math.floor((box.width - 50) / 7.2);
    return svg("text", {x, y, class: `mono ${kind}`, style: `--own: ${colour(box.kernel)}`}, name.length > most ? name.slice(0, most - 1) + "…" : name);
  }
  /** Once more above the lines, which cross it. */
  const titleAbove = (box) => title(box, box.x - box.width / 2 + 30, box.y - box.height / 2 + 18, "title-above");
  function drawBox(box) {
    const kernel = kernels[box.kernel], left = box.x - box.width / 2, top = box.y - box.height / 2;
    const toggle = (event) => {
      event.stopPropagation();
      if (!state.collapsed.delete(box.kernel)) state.collapsed.add(box.kernel);
      arrange({keep: true});
    };
    const sub = `${kernel.ops.length ? format.plural(kernel.ops.length, "op") : "copies"}, ${format.bytes(kernel.bytes_read + kernel.bytes_written)}${kernel.measured ? ", " + format.time(kernel.measured.seconds) : ""}`;
    return svg("g", {class: "kernel" + (state.query && state.stage.boxes[box.kernel].operations.some((i) => matches(list()[i])) ? " hit" : ""), style: `--own: ${colour(box.kernel)}`, transform: `translate(${left} ${top})`,
                     "data-kernel": box.kernel, onclick: () => onkernel(box.kernel)},
               svg("rect", {class: "body", width: box.width, height: box.height, rx: 10}),
               tip(svg("g", {class: "head"}, svg("rect", {class: "bar", width: box.width, height: HEAD - 4, rx: 10}), title(box, 30, 18, "title")), () => `kernel ${kernel.name}: ${kernel.ops.join(", ") || "copies"}\n${sub}\nclick for its code`),
               svg("g", {class: "toggle", onclick: toggle, role: "button", "aria-label": box.collapsed ? "Show operations" : "Hide operations"},
                   svg("rect", {x: 2, y: 0, width: 26, height: HEAD - 4, rx: 8}), svg("path", {d: box.collapsed ? "M12 8L19 13L12 18z" : "M10 10L15 17L20 10z"})),
               box.collapsed && svg("text", {x: box.width / 2, y: 43, "text-anchor": "middle", class: "type"}, sub));
  }
  function draw() {
    const {nodes, boxes, lines} = state.scene;
    inside.replaceChildren(
      ...boxes.map(drawBox),
      ...lines.map((line) => svg("path", {d: pathOf(line), class: "edge" + (line.memory ? " memory" : ""), "marker-end": "url(#arrow)", style: line.kernel === undefined ? null : `--own: ${colour(line.kernel)}`})),
      ...boxes.map(titleAbove), ...nodes.map(drawNode));
  }
  function arrange({keep = false} = {}) {
    state.scene = fusedScene(list(), state.stage.boxes, state.collapsed);
    draw();
    if (!keep) show();
  }
  /** All of it where names can be read, or else its top; says whether the boxes of all of it can be told apart. */
  function show() {
    const wanted = (smallest) => canvas.style.setProperty("--wanted", `${Math.ceil(view.heightOf(state.scene, smallest))}px`);
    wanted(0);
    const whole = view.scaleOf(state.scene);
    if (whole < LEGIBLE) wanted(LEGIBLE);
    view.fit(state.scene, {smallest: LEGIBLE, middle: topOf(state.scene)});
    remember(show);
    return whole >= TELLABLE;
  }
  /** Where the drawing begins: the middle of what is highest. */
  function topOf({nodes, boxes}) {
    const all = [...nodes, ...boxes], edge = (one) => one.y - one.height / 2;
    const top = Math.min(...all.map(edge)), first = all.filter((one) => edge(one) < top + NODE_HEIGHT);
    return first.length ? first.reduce((sum, one) => sum + one.x, 0) / first.length : undefined;
  }
  let last = null;  // how it was shown, and how large the canvas was then
  const sizeNow = () => { const {width, height} = canvas.getBoundingClientRect(); return {width, height}; };
  const remember = (how) => { last = {how, ...sizeNow()}; };
  new ResizeObserver(() => {
    const {width, height} = sizeNow();
    if (!last || width === 0 || (width === last.width && height === last.height)) return;
    if (view.isFitted()) return last.how();
    view.shift((width - last.width) / 2, (height - last.height) / 2);  // what the reader looks at stays in the middle
    remember(last.how);
  }).observe(canvas);
  /** The first sight: a program that does not fit is shown as its kernels, to be opened one by one. */
  function begin() {
    arrange();
    if (state.collapsed.size > 0 || kernels.length < 2 || show()) return;
    kernels.forEach((_, k) => state.collapsed.add(k));
    arrange();
  }
  const fit = () => { view.fit(state.scene); remember(fit); };
  function search(step) {
    const found = state.scene.nodes.filter((node) => matches(list()[node.operation]));
    // What is hidden in a collapsed kernel is found at the kernel.
    for (const box of state.scene.boxes) if (box.collapsed && state.stage.boxes[box.kernel].operations.some((i) => matches(list()[i]))) found.push(box);
    status.textContent = state.query ? format.plural(found.length, "match", "matches") : "";
    draw();
    if (!found.length || !state.query) return;
    state.hit = (state.hit + step + found.length) % found.length;
    view.centre(found[state.hit].x, found[state.hit].y, Math.max(view.scale(), 0.8));
  }
  const status = el("span", {class: "soft small", "aria-live": "polite"});
  const box = el("input", {type: "search", placeholder: "Search operations", title: "Names, types and lines of operations, kernels", "aria-label": "Search the graph",
                           oninput: () => { state.query = box.value; state.hit = -1; search(1); },
                           onkeydown: (event) => event.key === "Enter" && search(event.shiftKey ? -1 : 1)});
  const modes = stages.map((stage) =>
    el("button", {type: "button", "aria-pressed": String(state.stage === stage), onclick: () => { state.stage = stage; state.chosen = null;
      modes.forEach((mode, i) => mode.setAttribute("aria-pressed", String(stages[i] === stage))); arrange(); }}, stage.name));
  const act = (name, label, action) => el("button", {type: "button", title: label, "aria-label": label, onclick: action}, name);
  const folding = [act("Collapse", "Collapse all kernels", () => { kernels.forEach((_, k) => state.collapsed.add(k)); arrange(); }),
                   act("Expand", "Expand all kernels", () => { state.collapsed.clear(); arrange(); })];
  const zooming = [act("−", "Zoom out", () => view.zoom(0.8)), act("+", "Zoom in", () => view.zoom(1.25)), act("Fit", "Show all", fit)];
  const group = (kind, buttons) => el("div", {class: `group ${kind}`}, buttons);
  const bar = el("div", {class: "bar of-graph"}, group("modes", modes), box, status, el("span", {class: "push"}), group("folding", folding), group("zooming", zooming));
  return {
    element: el("div", {}, bar, canvas),
    begin,
    /** Looks for something, as if it had been typed. */
    find: (query) => { box.value = state.query = query; state.hit = -1; search(1); },
  };
}
