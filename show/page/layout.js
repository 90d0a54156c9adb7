// The places of boxes and edges, as package show/layout makes them, with some blocks folded. The rows and the order in them
// are in the data.
function place(root, gaps, isFolded) {
  const rel = new Map(), bends = new Map(), lines = new Map(); // lines: top and height of each child's row
  const boxes = new Map(), paths = [];
  const pin = n => n.kind === "input" || n.kind === "output";
  const open = n => n.kind === "block" && (n.children || []).length > 0 && !isFolded(n);

  function size(n) {
    if (!open(n)) return { w: n.w, h: n.h };
    const byID = new Map(n.children.map(c => [c.id, c]));
    const own = new Map();
    for (const c of n.children) {
      const s = size(c);
      own.set(c.id, pin(c) && !n.own ? { w: s.w, h: 0 } : s);
    }
    const of = id => own.get(id) || { w: 0, h: 0 };
    const solved = solve(n, byID, of);
    const { x, left, right } = solved;
    const width = Math.max(right - left + 2 * gaps.pad, n.w);
    const shift = gaps.pad - left + (width - (right - left + 2 * gaps.pad)) / 2;
    let y = gaps.head;
    const rows = n.grid.rows;
    rows.forEach((row, r) => {
      const border = r === 0 && !n.own && row.every(id => byID.has(id) && pin(byID.get(id)));
      let tall = Math.max(...row.map(id => of(id).h));
      if (r > 0) y += gaps.y;
      if (border) { y = 0; tall = 0; }
      row.forEach((id, i) => {
        const s = of(id);
        const b = { x: x[r][i] - s.w / 2 + shift, y: (n.edges || []).length ? y + (tall - s.h) / 2 : y, w: s.w, h: s.h };
        if (byID.has(id)) { rel.set(id, b); lines.set(id, { y, h: tall }); } else bends.set(id, { x: b.x, y: y, w: 0, h: tall });
      });
      y += tall;
      if (border) y = gaps.head - gaps.y / 2;
    });
    const last = rows[rows.length - 1][0];
    const closed = !n.own && byID.has(last) && byID.get(last).kind === "output";
    const out = { w: width, h: closed ? y : y + gaps.pad };
    return out;
  }

  // pinMiddle is where a pin stands in a child, from the child's left side; in a folded one, its middle.
  function pinMiddle(child, ref, width) {
    const b = open(child) && rel.get(ref.pin);
    return b ? b.x + b.w / 2 : width / 2;
  }

  // solve finds the middles of the items of all rows: near what they are linked to, without overlaps.
  function solve(n, byID, of) {
    const rows = n.grid.rows, x = [], w = [], near = [], where = new Map();
    rows.forEach((row, r) => {
      x.push([]); w.push([]); near.push([]);
      let at = 0;
      row.forEach((id, i) => {
        where.set(id, [r, i]);
        w[r][i] = of(id).w;
        x[r][i] = at + w[r][i] / 2;
        near[r][i] = [];
        at += w[r][i] + gaps.x;
      });
      row.forEach((_, i) => { x[r][i] -= at / 2; });
    });
    const offset = ref => ref.pin && byID.has(ref.node) ? pinMiddle(byID.get(ref.node), ref, of(ref.node).w) - of(ref.node).w / 2 : 0;
    n.grid.chains.forEach((chain, k) => {
      if (!chain) return;
      const e = n.edges[k];
      for (let i = 1; i < chain.length; i++) {
        const a = where.get(chain[i - 1]), b = where.get(chain[i]);
        let weight = !byID.has(chain[i - 1]) && !byID.has(chain[i]) ? 16 : 1;
        if (e.state) weight /= 4;
        const ha = i === 1 ? offset(e.from) : 0, hb = i === chain.length - 1 ? offset(e.to) : 0;
        near[a[0]][a[1]].push([b[0], b[1], ha, hb, weight]);
        near[b[0]][b[1]].push([a[0], a[1], hb, ha, weight]);
      }
    });
    for (let pass = 0; pass < 24; pass++) {
      for (let k = 0; k < rows.length; k++) settle(pass % 2 ? rows.length - 1 - k : k);
    }
    let left = Infinity, right = -Infinity;
    x.forEach((row, r) => row.forEach((at, i) => {
      left = Math.min(left, at - w[r][i] / 2);
      right = Math.max(right, at + w[r][i] / 2);
    }));
    return { x, left, right };

    function settle(r) {
      const offsets = [0], pools = [];
      for (let i = 1; i < x[r].length; i++) offsets[i] = offsets[i - 1] + (w[r][i - 1] + w[r][i]) / 2 + gaps.x;
      near[r].forEach((links, i) => {
        let sum = 0, total = 0;
        for (const [row, item, here, there, weight] of links) {
          sum += weight * (x[row][item] + there - here);
          total += weight;
        }
        pools.push(total ? { at: sum / total - offsets[i], weight: total, n: 1 } : { at: x[r][i] - offsets[i], weight: 0.1, n: 1 });
        while (pools.length > 1 && pools[pools.length - 2].at > pools[pools.length - 1].at) {
          const b = pools.pop(), a = pools.pop(), both = a.weight + b.weight;
          pools.push({ at: (a.at * a.weight + b.at * b.weight) / both, weight: both, n: a.n + b.n });
        }
      });
      let i = 0;
      for (const p of pools) for (let k = 0; k < p.n; k++, i++) x[r][i] = p.at + offsets[i];
    }
  }

  function finish(n, at) {
    boxes.set(n.id, at);
    if (!open(n)) return;
    for (const c of n.children) {
      const b = rel.get(c.id);
      finish(c, { x: b.x + at.x, y: b.y + at.y, w: b.w, h: b.h });
    }
    const byID = new Map(n.children.map(c => [c.id, c]));
    const middle = ref => boxes.get(ref.node).x + pinMiddle(byID.get(ref.node), ref, boxes.get(ref.node).w);
    const edges = n.edges || [], into = new Map(), shift = [];
    edges.forEach((e, k) => {
      const to = byID.get(e.to.node);
      if (n.grid.chains[k] && to && !(e.to.pin && open(to))) into.set(e.to.node, (into.get(e.to.node) || []).concat(k));
    });
    const source = k => {
      const chain = n.grid.chains[k];
      return chain.length > 2 ? bends.get(chain[chain.length - 2]).x + at.x : middle(edges[k].from);
    };
    for (const [id, list] of into) {
      list.sort((a, b) => source(a) - source(b));
      const step = list.length > 1 ? Math.min(gaps.spread, (boxes.get(id).w - 12) / (list.length - 1)) : 0;
      list.forEach((k, i) => { shift[k] = (i - (list.length - 1) / 2) * step; });
    }
    n.grid.chains.forEach((chain, k) => {
      if (!chain) return;
      const e = edges[k], from = boxes.get(e.from.node), to = boxes.get(e.to.node);
      const start = [middle(e.from), from.y + from.h], end = [middle(e.to) + (shift[k] || 0), to.y];
      const above = lines.get(e.from.node), below = lines.get(e.to.node);
      const points = [start, [start[0], above.y + above.h + at.y]];
      for (const id of chain.slice(1, -1)) {
        const b = bends.get(id);
        points.push([b.x + at.x, b.y + at.y], [b.x + at.x, b.y + b.h + at.y]);
      }
      points.push([end[0], below.y + at.y], end);
      paths.push({ edge: e, points });
    });
  }

  const s = size(root);
  finish(root, { x: 0, y: 0, w: s.w, h: s.h });
  return { boxes, paths, w: s.w, h: s.h };
}

function curve(points) {
  const p = v => v.map(c => c.toFixed(1)).join(",");
  let d = "M" + p(points[0]);
  for (let i = 1; i < points.length; i++) {
    const from = points[i - 1], to = points[i], middle = (from[1] + to[1]) / 2;
    if (i % 2 === 0) d += `C${p([from[0], middle])} ${p([to[0], middle])} ${p(to)}`;
    else if (to[1] !== from[1]) d += "V" + to[1].toFixed(1);
  }
  return d;
}
