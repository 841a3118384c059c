// Boxes in rows along an axis: the timeline and the flame graph of profiles. Only what is in view and wide enough to be seen is drawn, so that
// hundreds of thousands of boxes stay quick.

const ROW = 22, HEAD = 24, AXIS = 24;

/** Round numbers, about `wanted` of them. */
function ticks(from, to, wanted) {
  const rough = (to - from) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? 10 * power;
  const found = [];
  for (let at = Math.ceil(from / step); at * step <= to; at += 1) found.push(at * step);
  return found;
}

/** `rows` are {label, head}, from above; a head is a line of text. `boxes` are {row, start, length, name, colour, about} with `about` the attributes
 *  `data-...` of its element. The axis goes from 0 to `span`, and `text` writes its numbers. `onchoose(box, element)` is called when a box is clicked.
 *  Gives an element with methods: search(text) gives the boxes found, show(box), all(). */
function chart({rows, boxes, span, text, label, onchoose, hint}) {
  const tops = [];
  let height = AXIS;
  for (const row of rows) {
    tops.push(height);
    height += row.head ? HEAD : ROW;
  }
  const inRow = rows.map(() => []);
  for (const box of boxes) inRow[box.row].push(box);
  inRow.forEach((some) => some.sort((a, b) => a.start - b.start));

  const drawing = svg("svg", {height: height + 6, tabindex: 0, role: "group", "aria-label": label});
  const whole = Math.max(span, 1e-9);
  let from = 0, to = whole, width = 0, found = null, chosen = null, waiting = false;
  const place = (value) => ((value - from) / (to - from)) * width;

  function axis() {
    return ticks(from, to, width / 110).map((at) => {
      const number = text(at), x = place(at), fits = x + 3 + 7 * number.length <= width;  // one at the end stands before its line
      return [svg("line", {x1: x, x2: x, y1: AXIS - 6, y2: height, class: "tick"}),
              svg("text", {x: fits ? x + 3 : x - 3, y: AXIS - 9, "text-anchor": fits ? "start" : "end", class: "tick"}, number)];
    });
  }
  function drawnBox(box, x, wide, y) {
    const kind = ["box", found && !found.has(box) && "dim", box === chosen && "chosen"].filter(Boolean).join(" ");
    const attributes = {class: kind, x, y: y + 1, width: wide, height: ROW - 2, rx: wide > 6 ? 3 : 0, style: `fill:${box.colour}`,
                        onclick: () => choose(box), ondblclick: () => show(box)};
    for (const [name, value] of Object.entries(box.about ?? {})) attributes[`data-${name}`] = value;
    const made = [tip(svg("rect", {...attributes, "data-name": box.name}), () => hint(box))];
    const letters = Math.floor((wide - 8) / 7);
    if (letters > 1) {
      const name = box.name.length > letters ? `${box.name.slice(0, letters - 1)}…` : box.name;
      made.push(svg("text", {x: Math.max(x, 0) + 4, y: y + ROW - 7, class: found && !found.has(box) ? "in dim" : "in"}, name));
    }
    return made;
  }
  function drawnRow(row, i) {
    if (row.head) return [svg("text", {x: 4, y: tops[i] + HEAD - 7, class: "head"}, row.label)];
    const made = [];
    let last = -1;
    for (const box of inRow[i]) {
      const x = place(box.start), wide = place(box.start + box.length) - x;
      if (x > width) break;
      if (x + wide < 0 || (x + wide < last + 0.7 && box !== chosen)) continue;  // out of view, or hidden by its neighbours
      const left = Math.max(x, -5), right = Math.min(x + wide, width + 5);
      last = Math.max(right, left + 1);
      made.push(drawnBox(box, left, Math.max(1, right - left), tops[i]));
    }
    return made;
  }
  function draw() {
    waiting = false;
    drawing.setAttribute("width", width);
    drawing.replaceChildren(...[axis(), rows.map(drawnRow)].flat(Infinity));
  }
  function changed() {
    if (waiting || !width) return;  // the first time when its width is known
    waiting = true;
    requestAnimationFrame(draw);
  }
  function view(first, length) {
    const long = Math.min(Math.max(length, whole * 1e-7), whole * 1.02);
    from = Math.max(-whole * 0.01, Math.min(first, whole * 1.01 - long));
    to = from + long;
    changed();
  }
  const zoom = (factor, at = width / 2) => {
    const fixed = from + (at / width) * (to - from);
    view(fixed - (fixed - from) / factor, (to - from) / factor);
  };
  const move = (pixels) => view(from - (pixels / width) * (to - from), to - from);
  const all = () => view(-whole * 0.01, whole * 1.02);
  const show = (box) => view(box.start - box.length * 0.1, box.length * 1.2);
  function choose(box) {
    chosen = box;
    changed();
    onchoose?.(box, element);
  }
  function search(wanted) {
    const word = wanted.trim().toLowerCase();
    found = word ? new Set(boxes.filter((box) => box.name.toLowerCase().includes(word))) : null;
    changed();
    return found ? [...found] : [];
  }

  const pointers = new Map();
  let moved = 0;
  drawing.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, event.clientX);
    moved = 0;
  });
  drawing.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) return;
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    const left = drawing.getBoundingClientRect().left;
    if (other !== undefined) {
      zoom(Math.max(1, Math.abs(event.clientX - other)) / Math.max(1, Math.abs(before - other)), (event.clientX + other) / 2 - left);
    } else {
      move(event.clientX - before);
    }
    moved += Math.abs(event.clientX - before);
    if (moved > 4 && !drawing.hasPointerCapture(event.pointerId)) drawing.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.clientX);
  });
  for (const end of ["pointerup", "pointercancel"]) drawing.addEventListener(end, (event) => pointers.delete(event.pointerId));
  drawing.addEventListener("click", (event) => { if (moved > 4) event.stopPropagation(); }, true);
  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== drawing) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - drawing.getBoundingClientRect().left);
  }, {passive: false});
  drawing.addEventListener("keydown", (event) => {
    const act = {"+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: all, ArrowLeft: () => move(80), ArrowRight: () => move(-80)}[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  const holder = el("div", {class: "canvas chart"}, drawing);
  const answer = el("span", {class: "soft small", role: "status"});
  const input = el("input", {type: "search", placeholder: "Search", "aria-label": `Search in ${label}`, oninput: () => {
    const hits = search(input.value);
    const sum = hits.reduce((total, box) => total + box.length, 0);
    answer.textContent = input.value.trim() ? `${format.plural(hits.length, "match", "matches")}, ${text(sum)}` : "";
  }});
  let next = 0;
  input.addEventListener("keydown", (event) => {
    const hits = event.key === "Enter" && found ? [...found] : [];
    if (hits.length) {
      choose(hits[next % hits.length]);
      show(hits[next % hits.length]);
      next += 1;
    }
  });
  const bar = el("div", {class: "bar"}, input, answer, el("button", {type: "button", "aria-label": "Zoom in", onclick: () => zoom(1.6)}, "+"),
                 el("button", {type: "button", "aria-label": "Zoom out", onclick: () => zoom(1 / 1.6)}, "−"),
                 el("button", {type: "button", onclick: all}, "All"),
                 el("span", {class: "soft small"}, "drag to move, Ctrl and the wheel (or two fingers) to zoom, double click to zoom to a box"));
  new ResizeObserver(([entry]) => {
    width = Math.max(200, entry.contentRect.width);
    changed();
  }).observe(holder);
  all();
  const element = el("div", {}, bar, holder);
  return Object.assign(element, {search, show, all});
}
