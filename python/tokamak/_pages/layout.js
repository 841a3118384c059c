// Drawing graphs in layers: every edge goes down.

/** Places nodes {width, height} so that edges [from, to] point down and cross little. Gives the middles `x` and `y` of nodes, the `routes` of edges
 *  as points between their ends, and `width` and `height` of it all. The last `entries` nodes are where edges come in from outside: they stand at the top. */
function layered(nodes, edges, {gapX = 22, gapY = 30, sweeps = 10, entries = 0} = {}) {
  const rank = ranks(nodes.length, edges, nodes.length - entries);
  const {items, links, routes} = withBends(nodes, edges, rank);
  const layers = [];
  items.forEach((item, i) => (layers[item.rank] ??= []).push(i));
  for (let i = 0; i < layers.length; ++i) layers[i] ??= [];
  order(layers, items, links, sweeps);
  const x = spread(layers, items, links, gapX);
  const y = new Array(items.length);
  let top = 0;
  for (const layer of layers) {
    const height = Math.max(0, ...layer.map((i) => items[i].height));
    for (const i of layer) y[i] = top + height / 2;
    top += height + gapY;
  }
  const left = Math.min(...items.map((item, i) => x[i] - item.width / 2));
  const right = Math.max(...items.map((item, i) => x[i] + item.width / 2));
  return {
    x: nodes.map((_, i) => x[i] - left),
    y: nodes.map((_, i) => y[i]),
    routes: routes.map((route) => route.map((i) => [x[i] - left, y[i]])),
    width: nodes.length ? right - left : 0,
    height: Math.max(0, top - gapY),
  };
}

/** The layer of each node: below all that it comes from, and right above its first reader where that makes no more lines longer than it makes shorter,
 *  so that parts of one array that are read here and there do not all stand side by side. Entries stay at the top. */
function ranks(count, edges, entriesFrom) {
  const outs = Array.from({length: count}, () => []);
  const waiting = new Array(count).fill(0), ins = new Array(count).fill(0);
  for (const [from, to] of edges) {
    outs[from].push(to);
    waiting[to] += 1;
    ins[to] += 1;
  }
  const rank = new Array(count).fill(0);
  const ready = [...rank.keys()].filter((i) => ins[i] === 0);
  for (let next = 0; next < ready.length; ++next) {
    for (const to of outs[ready[next]]) {
      rank[to] = Math.max(rank[to], rank[ready[next]] + 1);
      if (--waiting[to] === 0) ready.push(to);
    }
  }
  for (const i of ready.reverse()) {  // readers first
    if (outs[i].length && ins[i] <= outs[i].length && i < entriesFrom) rank[i] = Math.max(rank[i], Math.min(...outs[i].map((to) => rank[to])) - 1);
  }
  return rank;
}

/** Edges over several layers get a narrow item in each, which holds a place open for them. */
function withBends(nodes, edges, rank) {
  const items = nodes.map((node, i) => ({width: node.width, height: node.height, rank: rank[i], bend: false}));
  const links = [];
  const total = edges.reduce((sum, [from, to]) => sum + Math.max(0, rank[to] - rank[from] - 1), 0);
  const routes = edges.map(([from, to]) => {
    const route = [];
    let last = from;
    for (let layer = rank[from] + 1; layer < rank[to] && total < 6000; ++layer) {
      items.push({width: 6, height: 0, rank: layer, bend: true});
      links.push([last, items.length - 1]);
      last = items.length - 1;
      route.push(last);
    }
    if (rank[to] > rank[from]) links.push([last, to]);
    return route;
  });
  return {items, links, routes};
}

/** Sorts layers by the average place of their neighbours, down and up in turn. */
function order(layers, items, links, sweeps) {
  const above = items.map(() => []), below = items.map(() => []);
  for (const [from, to] of links) {
    below[from].push(to);
    above[to].push(from);
  }
  const place = new Array(items.length);
  const number = (layer) => layer.forEach((item, i) => (place[item] = i));
  layers.forEach(number);
  const sort = (layer, neighbours) => {
    const key = new Map(layer.map((item) => {
      const near = neighbours[item];
      return [item, near.length ? near.reduce((sum, other) => sum + place[other], 0) / near.length : place[item]];
    }));
    layer.sort((a, b) => key.get(a) - key.get(b) || place[a] - place[b]);
    number(layer);
  };
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    if (sweep % 2 === 0) for (let i = 1; i < layers.length; ++i) sort(layers[i], above);
    else for (let i = layers.length - 2; i >= 0; --i) sort(layers[i], below);
  }
}

/** Moves every item towards its neighbours, as far as those beside it let it. */
function spread(layers, items, links, gap) {
  const near = items.map(() => []);
  for (const [from, to] of links) {
    near[from].push(to);
    near[to].push(from);
  }
  const x = new Array(items.length).fill(0);
  const settle = (layer, wish) => {
    // The closest to the wishes that keeps the order and the distances: neighbours that would overlap move as one.
    const groups = [];
    let offset = 0;
    layer.forEach((item, i) => {
      if (i > 0) offset += (items[layer[i - 1]].width + items[item].width) / 2 + gap;
      let group = {sum: (wish(item) - offset) * (items[item].bend ? 3 : 1), weight: items[item].bend ? 3 : 1, members: [[item, offset]]};
      while (groups.length && groups.at(-1).sum / groups.at(-1).weight > group.sum / group.weight) {
        const before = groups.pop();
        group = {sum: before.sum + group.sum, weight: before.weight + group.weight, members: before.members.concat(group.members)};
      }
      groups.push(group);
    });
    for (const group of groups) for (const [item, at] of group.members) x[item] = group.sum / group.weight + at;
  };
  for (const layer of layers) settle(layer, () => 0);
  for (let sweep = 0; sweep < 12; ++sweep) {
    const wish = (item) => (near[item].length ? near[item].reduce((sum, other) => sum + x[other], 0) / near[item].length : x[item]);
    const turn = sweep % 2 === 0 ? layers : [...layers].reverse();
    for (const layer of turn) settle(layer, wish);
  }
  return x;
}
