// The memory plan: kernels from left to right, addresses from top to bottom.

/** For every buffer of the arena those that had its bytes before. */
function reuseOf(buffers) {
  return buffers.map((buffer, i) => {
    if (buffer.place !== "arena") return [];
    return buffers.flatMap((other, k) =>
      k !== i && other.place === "arena" && other.last_kernel <= buffer.first_kernel && other.first_kernel < buffer.first_kernel && buffer.in_place_of !== k &&
      other.at < buffer.at + buffer.bytes && buffer.at < other.at + other.bytes ? [k] : []);
  });
}

function memoryDrawing(memory, kernels) {
  const {buffers} = memory;
  const reuse = reuseOf(buffers);
  const left = 64, column = Math.max(16, Math.min(150, 900 / Math.max(1, kernels.length)));
  const width = left + column * kernels.length + 12;
  const arena = buffers.map((buffer, i) => ({buffer, i})).filter(({buffer}) => buffer.place === "arena");
  const others = new Map();  // outside the arena: what lies in one place, one after the other
  buffers.forEach((buffer, i) => {
    if (buffer.place === "arena") return;
    const key = `${buffer.place} ${buffer.at}`;
    others.set(key, [...(others.get(key) ?? []), {buffer, i}]);
  });
  const arenaHeight = arena.length ? Math.max(120, Math.min(420, 46 * arena.length)) : 0;
  const scale = memory.arena_bytes ? arenaHeight / memory.arena_bytes : 0;
  const top = 42, row = 26;
  const height = top + arenaHeight + (others.size ? 30 + others.size * row : 0) + 12;
  const x = (step) => left + step * column;

  const overwritten = new Set(buffers.map((buffer) => buffer.in_place_of));  // whose end another bar covers
  const describe = (buffer, i) => buffer.place === "scratch" ? `${buffer.name}: ${format.bytes(buffer.bytes)}\nof the threads, while it runs` : [`${buffer.name}: ${format.bytes(buffer.bytes)}`, `${buffer.place === "arena" ? "arena + " + buffer.at : buffer.place + " " + buffer.at}`,
    `made by ${kernels[buffer.first_kernel]?.name ?? "?"}, needed until ${buffer.place === "output" ? "the end" : kernels[buffer.last_kernel]?.name ?? "?"}`,
    buffer.in_place_of !== null && `in place of ${buffers[buffer.in_place_of].name}`, reuse[i].length && `where ${reuse[i].map((k) => buffers[k].name).join(", ")} lay`].filter(Boolean).join("\n");
  const bar = ({buffer, i}, y, tall) => {
    const wide = (buffer.last_kernel - buffer.first_kernel + 1) * column - 4;
    const kind = buffer.in_place_of !== null ? "in-place" : reuse[i].length ? "reused" : buffer.place;
    const note = buffer.in_place_of !== null ? ` ⟵ ${buffers[buffer.in_place_of].name}` : "";
    const most = Math.floor((wide - 8 - (overwritten.has(i) ? column : 0)) / 6.7);
    // As much as there is room for.
    const text = [`${buffer.name}${note} ${format.bytes(buffer.bytes)}`, `${buffer.name}${note}`, buffer.name].find((one) => one.length <= most) ?? clip(buffer.name, most);
    return tip(svg("g", {class: `buffer ${kind}`, transform: `translate(${x(buffer.first_kernel) + 2} ${y})`, "data-buffer": i},
                   svg("rect", {width: wide, height: Math.max(3, tall - 2), rx: Math.min(4, tall / 3)}),
                   tall >= 14 && most > 3 && svg("text", {x: 6, y: Math.min(tall / 2 + 4, 16), class: "mono"}, text)),
               () => describe(buffer, i));
  };
  const every = Math.ceil((7 * String(kernels.length).length) / column);  // so that numbers stand apart
  const grid = kernels.map((kernel, k) => svg("g", {}, svg("line", {x1: x(k), x2: x(k), y1: top - 6, y2: height - 8, class: "grid"}),
                                               k % every === 0 && svg("text", {x: x(k) + column / 2, y: 26, "text-anchor": "middle", class: "mono step"}, column > 60 ? clip(kernel.name, (column - 8) / 6.7) : String(k))));
  const ticks = arena.length ? [0, 0.5, 1].map((share) => svg("text", {x: left - 6, y: top + arenaHeight * share + (share === 0 ? 10 : share === 1 ? 0 : 4), "text-anchor": "end", class: "tick"},
                                                             format.bytes(memory.arena_bytes * share))) : [];
  const band = top + arenaHeight + 30;
  return el("div", {class: "scroll canvas memory"},
            svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Buffers over time"},
                grid, ticks, arena.length ? svg("rect", {class: "ground", x: left, y: top, width: column * kernels.length, height: arenaHeight}) : null,
                arena.map((one) => bar(one, top + one.buffer.at * scale + 1, one.buffer.bytes * scale)),
                others.size ? svg("text", {x: left, y: band - 6, class: "tick"}, "outside the arena") : null,
                [...others.values()].map((some, i) => some.map((one) => bar(one, band + i * row, row - 4)))));
}

const clip = (text, most) => (text.length > most ? text.slice(0, Math.max(1, Math.floor(most) - 1)) + "…" : text);

/** Planned against memory that is never used twice. */
function memoryBars(memory) {
  const most = Math.max(memory.peak_bytes, memory.naive_bytes, 1);
  const bar = (name, parts, text) => el("div", {class: "measure"}, el("span", {class: "soft"}, name),
    el("span", {class: "track"}, parts.map(([bytes, kind]) => el("i", {class: kind, style: `width: ${(100 * bytes) / most}%`}))), el("span", {class: "mono"}, text));
  return el("div", {class: "measures"},
            bar("planned", [[memory.arena_bytes, "arena"], [memory.output_bytes, "output"], [memory.scratch_bytes, "scratch"]], format.bytes(memory.peak_bytes)),
            bar("a buffer for each", [[memory.naive_bytes, "naive"]], format.bytes(memory.naive_bytes)),
            el("div", {class: "legend"}, [["arena", memory.arena_bytes], ["output", memory.output_bytes], ["scratch", memory.scratch_bytes]].map(([kind, bytes]) =>
              el("span", {}, el("i", {class: kind}), `${{arena: "arena", output: "results", scratch: "scratch"}[kind]} ${format.bytes(bytes)}`))));
}
