"use strict";
// What the scripts of all pages use: making elements, numbers as text, tables, tabs, code, drawings that move and zoom.

/** What the page is about, as `page()` of Python was given it. */
const data = (() => {
  let parsed;
  return () => (parsed ??= JSON.parse(document.getElementById("data").textContent));
})();

const SVG = "http://www.w3.org/2000/svg";

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  // Strings become text, never markup.
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}
/** el("p", {class: "soft"}, "text", el("b", {}, "bold")) */
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// ---- Numbers, as Python's _format writes them

function digits(value) {
  if (value === 0) return "0";
  const places = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)) + 1e-9)));
  const text = value.toFixed(places);
  return places ? text.replace(/\.?0+$/, "") : text;
}
function scaled(value, units, step) {
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(value) >= step) {
    value /= step;
    unit += 1;
  }
  return digits(value) + units[unit];
}
const format = {
  bytes: (value) => scaled(value, [" B", " KB", " MB", " GB", " TB", " PB", " EB"], 1000),
  count: (value) => scaled(value, ["", " K", " M", " G", " T"], 1000),
  /** of seconds */
  time: (value) => (value === null || value === undefined ? "–" : scaled(value * 1e9, [" ns", " µs", " ms", " s"], 1000)),
  rate: (value, unit) => (Number.isFinite(value) ? `${scaled(value, [" ", " K", " M", " G", " T"], 1000)}${unit}/s` : "–"),
  percent: (value) => (value === null || value === undefined ? "–" : `${digits(value * 100)} %`),
  plural: (count, one, many) => `${count} ${count === 1 ? one : many ?? one + "s"}`,
};

/** The colour of the i-th of some things, in light and in dark. */
const colour = (i) => `var(--k${((i % 8) + 8) % 8})`;

// ---- Parts of pages

const tile = (name, value, more) =>
  el("div", {class: "tile"}, el("div", {class: "name"}, name), el("div", {class: "value"}, value), more && el("div", {class: "more"}, more));

const LONG = 30;  // rows of a table that stand on the page; one with more scrolls by itself

/** Columns are {name, of: row => content, number: true for figures}. */
function table(columns, rows, {onrow, id} = {}) {
  const kind = (column) => (column.number ? "number" : null);
  const body = rows.map((row, i) => {
    const cells = columns.map((column) => el("td", {class: kind(column), "data-name": column.name}, column.of(row, i)));
    const open = onrow && (() => onrow(row, i));
    return el("tr", {class: onrow && "link", tabindex: onrow && 0, onclick: open,
                     onkeydown: open && ((event) => event.key === "Enter" && open())}, cells);
  });
  const head = columns.map((column) => el("th", {class: kind(column), scope: "col"}, column.name));
  return el("div", {class: rows.length > LONG ? "scroll long" : "scroll", tabindex: rows.length > LONG ? 0 : null}, el("table", {id}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

/** Text line by line; `of(line, i)` gives the class of a line, `numbers` the number of the first. */
function code(text, {of = () => null, numbers, label} = {}) {
  const lines = text.replace(/\n$/, "").split("\n");
  return el("pre", {class: "code", tabindex: 0, "aria-label": label},
            lines.map((line, i) => el("span", {class: of(line, i)}, numbers !== undefined && el("span", {class: "at"}, String(numbers + i)), line || " ")));
}

/** The assembly of a kernel, `of` as the data has it, with its innermost loops marked and the hot one in sight. */
function assembly(of) {
  const hot = of.hot === null ? null : of.asm_loops[of.hot];
  const inner = of.asm_loops.filter((loop) => loop.innermost);
  const inside = (loop, i) => i >= loop.first && i <= loop.last;
  const view = code(of.asm || "(none)", {of: (_, i) => (hot && inside(hot, i) ? "hot" : inner.some((loop) => inside(loop, i)) ? "marked" : null), numbers: 1, label: "Assembly"});
  const note = hot ? `The hot loop, marked: lines ${hot.first + 1} to ${hot.last + 1}, ${format.plural(hot.instructions, "instruction")}, ${hot.vector_instructions} of them on vectors.` +
    (inner.length > 1 ? ` Other innermost loops are marked lightly.` : "") : "No loops: the matrix product or the sort is a routine of the library.";
  const go = () => { view.scrollTop = view.children[hot.first].offsetTop - view.children[0].offsetTop - 60; };
  const jump = hot && el("button", {type: "button", onclick: go}, "Go to the hot loop");
  if (hot) requestAnimationFrame(go);
  return el("div", {}, el("div", {class: "bar"}, el("span", {class: "soft small"}, note), jump), view);
}

/** One of several contents at a time. Entries are {name, of: () => content}, made when first shown. */
function tabs(entries, {chosen = 0, label} = {}) {
  const place = el("div", {role: "tabpanel"});
  const buttons = entries.map((entry, i) => el("button", {role: "tab", type: "button", onclick: () => show(i)}, entry.name));
  const made = [];
  function show(i) {
    buttons.forEach((button, k) => button.setAttribute("aria-selected", k === i));
    place.replaceChildren((made[i] ??= entries[i].of()));
  }
  const bar = el("div", {class: "bar", role: "tablist", "aria-label": label}, buttons);
  if (entries.length) show(Math.min(chosen, entries.length - 1));
  const all = el("div", {}, bar, place);
  all.show = show;
  return all;
}

/** A section with its line in the navigation. */
function section(id, name, ...children) {
  return el("section", {id, "data-name": name}, el("h2", {}, name), children);
}

/** Fills the page: what stands above, the navigation, the sections. */
function compose(above, sections) {
  const links = sections.map((one) => el("a", {href: `#${one.id}`}, one.dataset.name));
  const nav = links.length ? [el("nav", {class: "nav", "aria-label": "Sections"}, links)] : [];
  document.getElementById("page").append(...[above].flat(), ...nav, ...sections);
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link, i) => link.classList.toggle("here", sections[i] === entry.target));
    }
  }, {rootMargin: "-15% 0px -75% 0px"});
  sections.forEach((one) => seen.observe(one));
}

/** Text next to the pointer, for elements that say what: tip(element, () => "text"). */
const tip = (() => {
  const box = el("div", {class: "tip", role: "tooltip", hidden: true});
  function place(event) {
    box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${Math.max(4, event.clientY + 18 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 10 : event.clientY + 18)}px`;
  }
  return (element, text) => {
    element.addEventListener("pointerenter", (event) => {
      if (!box.isConnected) document.body.append(box);
      const content = text();
      box.replaceChildren(content);
      box.hidden = false;
      place(event);
    });
    element.addEventListener("pointermove", place);
    element.addEventListener("pointerleave", () => (box.hidden = true));
    return element;
  };
})();

/** Lets the reader move and zoom what is in `inside`, a <g> of `drawing`: dragging, two fingers, the wheel once the drawing is in focus or with
 *  Ctrl, the keys + - and arrows. `axes` is "both" or "x". Gives {fit, scaleOf, heightOf, zoom, centre, scale,
 *  shift, isFitted}. */
function panZoom(drawing, inside, {axes = "both", most = 8, least = 0.02, onchange} = {}) {
  let scale = 1, x = 0, y = 0, fitted = false;  // fitted: as `fit` left it
  const apply = ({fits = false} = {}) => {
    fitted = fits;
    inside.setAttribute("transform", axes === "x" ? `translate(${x} 0) scale(${scale} 1)` : `translate(${x} ${y}) scale(${scale})`);
    onchange?.({scale, x, y});
  };
  const box = () => drawing.getBoundingClientRect();
  function zoom(factor, at) {
    const {width, height} = box();
    const [px, py] = at ?? [width / 2, height / 2];
    const next = Math.min(most, Math.max(least, scale * factor));
    x = px - ((px - x) * next) / scale;
    y = py - ((py - y) * next) / scale;
    scale = next;
    apply();
  }
  const acrossOf = ({width}) => Math.min(1, (box().width - 24) / width);
  /** At which all of the rectangle is seen, no larger than it was drawn. */
  const scaleOf = (all) => Math.min(acrossOf(all), axes === "x" ? 1 : (box().height - 24) / all.height);
  /** How high the drawing has to be for all of the rectangle, as large as its width allows. */
  const heightOf = (all, smallest) => all.height * Math.max(smallest, acrossOf(all)) + 24;
  /** Shows all of the rectangle; where it would be smaller than `smallest`, its top, around `middle`. */
  function fit(all, {smallest = least, middle} = {}) {
    const {left = 0, top = 0, width, height} = all, space = box();
    scale = Math.max(smallest, scaleOf(all));
    x = (space.width - width * scale) / 2 - left * scale;
    const over = Math.max(0, width * scale + 24 - space.width) / 2;
    if (middle !== undefined) x += Math.max(-over, Math.min(over, (left + width / 2 - middle) * scale));
    y = Math.max(12, (space.height - height * scale) / 2) - top * scale;
    apply({fits: true});
  }
  function shift(right, down) {
    x += right;
    y += down;
    apply();
  }
  function centre(px, py, at = scale) {
    const {width, height} = box();
    scale = at;
    x = width / 2 - px * scale;
    y = height / 2 - py * scale;
    apply();
  }
  const pointers = new Map();
  let moved = 0;
  drawing.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    moved = 0;
  });
  drawing.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const length = (a) => Math.max(1, Math.hypot(a[0] - other[0], a[1] - other[1]));
      const {left, top} = box();
      zoom(length(now) / length(before), [(now[0] + other[0]) / 2 - left, (now[1] + other[1]) / 2 - top]);
    } else {
      x += now[0] - before[0];
      y += now[1] - before[1];
      apply();
    }
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    // Captured only now: a click without a move goes to what was clicked.
    if (moved > 4 && !drawing.hasPointerCapture(event.pointerId)) {
      drawing.setPointerCapture(event.pointerId);
      drawing.classList.add("moving");
    }
    pointers.set(event.pointerId, now);
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) {
    drawing.addEventListener(end, (event) => {
      if (end === "pointerleave" && drawing.hasPointerCapture(event.pointerId)) return;
      pointers.delete(event.pointerId);
      drawing.classList.remove("moving");
    });
  }
  drawing.addEventListener("click", (event) => { if (moved > 4) event.stopPropagation(); }, true);
  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !drawing.contains(document.activeElement)) return;
    event.preventDefault();
    const {left, top} = box();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), [event.clientX - left, event.clientY - top]);
  }, {passive: false});
  drawing.setAttribute("tabindex", 0);
  drawing.addEventListener("keydown", (event) => {
    const move = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]}[event.key];
    if (move) [x, y] = [x + move[0], y + move[1]];
    else if (event.key === "+" || event.key === "=") return zoom(1.25);
    else if (event.key === "-") return zoom(0.8);
    else return;
    event.preventDefault();
    apply();
  });
  apply();
  return {fit, scaleOf, heightOf, zoom, centre, scale: () => scale, shift, isFitted: () => fitted};
}
