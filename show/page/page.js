const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const nodes = new Map(), parents = new Map(), folded = new Set();
let zoom = 1, drawing, pinned = null, hits = [], current = -1;

(function index(n, parent) {
  nodes.set(n.id, n);
  parents.set(n.id, parent);
  for (const c of n.children || []) index(c, n);
})(data.root, null);
if (nodes.size > 220) { // a large model begins with its inner blocks folded
  for (const n of nodes.values()) if (n.kind === "block" && depth(n) >= 2) folded.add(n.id);
}

function depth(n) {
  let d = 0;
  for (let p = parents.get(n.id); p; p = parents.get(p.id)) d++;
  return d;
}

function element(name, attributes, parent) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (parent) parent.appendChild(e);
  return e;
}

function text(parent, x, y, s, style, anchor) {
  const e = element("text", { x, y, class: style, "text-anchor": anchor || "start" }, parent);
  e.textContent = s;
}

function draw() {
  drawing = place(data.root, data.gaps, n => folded.has(n.id));
  const svg = $("picture");
  svg.replaceChildren();
  const marker = element("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto", markerUnits: "userSpaceOnUse" }, element("defs", {}, svg));
  element("path", { d: "M0,1L8,4L0,7z" }, marker);
  svg.setAttribute("viewBox", `-2 -12 ${drawing.w + 4} ${drawing.h + 16}`);
  blocks(svg, data.root, 0);
  for (const p of drawing.paths) {
    const style = p.edge.state ? "edge store" : p.edge.maybe ? "edge maybe" : "edge";
    const e = element("path", { class: style, d: curve(p.points) }, svg);
    if (!p.edge.state) e.setAttribute("marker-end", "url(#arrow)");
    p.element = e;
  }
  leaves(svg, data.root, true);
  titles(svg, data.root, 0);
  resize();
  mark();
}

function resize() {
  $("picture").setAttribute("width", (drawing.w + 4) * zoom);
  $("picture").setAttribute("height", (drawing.h + 16) * zoom);
}

function blocks(svg, n, level) {
  if (n.kind !== "block") return;
  const b = drawing.boxes.get(n.id);
  if (!b) return;
  const shut = folded.has(n.id);
  const g = element("g", { class: "block" + (level % 2 ? " odd" : "") + (shut ? " folded" : ""), id: n.id, tabindex: 0, role: "button", "aria-expanded": !shut, "aria-label": n.title }, svg);
  element("rect", { class: "frame", x: b.x, y: b.y, width: b.w, height: b.h, rx: 8 }, g);
  const head = element("rect", { class: "head", x: b.x, y: b.y, width: b.w, height: shut ? b.h : data.gaps.head - 2, rx: 8 }, g);
  head.addEventListener("click", () => { if (!dragged) toggle(n); });
  g.addEventListener("keydown", e => {
    if (e.key === "Enter" || e.key === " ") { e.preventDefault(); toggle(n); $(n.id).focus(); }
  });
  watch(g, n);
  if (!shut) for (const c of n.children || []) blocks(svg, c, level + 1);
}

// titles come last: an edge does not strike them through.
function titles(svg, n, level) {
  const b = n.kind === "block" && drawing.boxes.get(n.id);
  if (!b) return;
  const shut = folded.has(n.id);
  text(svg, b.x + 9, b.y + 17, (shut ? "▸ " : "▾ ") + n.title, "title" + (level % 2 ? " odd" : "") + (shut ? " shut" : ""));
  if (shut) text(svg, b.x + 23, b.y + 31, n.lines[1], "small");
  else for (const c of n.children || []) titles(svg, c, level + 1);
}

function leaves(svg, n, own, odd) {
  const b = drawing.boxes.get(n.id);
  if (!b) return;
  if (n.kind === "block") {
    if (!folded.has(n.id)) for (const c of n.children || []) leaves(svg, c, n.own, !odd);
    return;
  }
  const end = n.kind === "input" || n.kind === "output";
  if (end && !own) {
    const g = element("g", { class: "pin leaf" + (odd ? " odd" : ""), id: n.id }, svg);
    element("circle", { cx: b.x + b.w / 2, cy: b.y, r: 3.2 }, g);
    text(g, b.x + b.w / 2 + 6, b.y - 5, n.name, "");
    watch(g, n);
    return;
  }
  const g = element("g", { class: "leaf " + (end ? "end" : n.kind), id: n.id }, svg);
  if (n.kind === "state") {
    const lid = 6, r = b.w / 2, low = b.y + b.h - lid, top = b.y + lid, right = b.x + b.w;
    element("path", { class: "box", d: `M${b.x},${top}A${r},${lid} 0 0 1 ${right},${top}V${low}A${r},${lid} 0 0 1 ${b.x},${low}ZM${b.x},${top}A${r},${lid} 0 0 0 ${right},${top}` }, g);
  } else {
    element("rect", { class: "box", x: b.x, y: b.y, width: b.w, height: b.h, rx: end ? b.h / 2 : n.kind === "port" ? 2 : 5 }, g);
    if (n.kind === "port") element("path", { class: "box", d: `M${b.x + 5},${b.y}v${b.h}M${b.x + b.w - 5},${b.y}v${b.h}` }, g);
  }
  n.lines.forEach((l, i) => text(g, b.x + b.w / 2, b.y + 17 + (i && 1) + 13 * i + (n.kind === "state" ? 9 : 0), l, i ? "small" : "big", "middle"));
  watch(g, n);
}

function watch(g, n) {
  g.addEventListener("pointerenter", () => { if (!pinned) detail(n); light(n.id, true); });
  g.addEventListener("pointerleave", () => light(n.id, false));
  if (n.kind !== "block") g.addEventListener("click", () => {
    if (dragged) return;
    pinned = pinned === n ? null : n;
    detail(n);
    mark();
  });
}

function light(id, on) {
  for (const p of drawing.paths) {
    const e = p.edge;
    if ([e.from.node, e.from.pin, e.to.node, e.to.pin].includes(id)) p.element.classList.toggle("lit", on);
  }
}

function toggle(n) {
  const stage = $("stage"), before = drawing.boxes.get(n.id);
  if (!folded.delete(n.id)) folded.add(n.id);
  draw();
  const after = drawing.boxes.get(n.id);
  stage.scrollTop += (after.y - before.y) * zoom;
}

function detail(n) {
  const box = $("detail");
  box.replaceChildren();
  const add = (tag, s, parent) => {
    const e = document.createElement(tag);
    e.textContent = s;
    (parent || box).appendChild(e);
    return e;
  };
  if (!n) {
    add("h2", data.name);
    if (data.doc) add("p", data.doc);
    add("p", "Point at a box to see its shapes, class and place; click to keep it. Click a block's head to fold it.");
    return;
  }
  add("h2", n.title && n.kind === "block" ? n.title : n.name);
  for (const f of n.facts || []) if (!f.name) add("p", f.text);
  const list = add("dl", "");
  const row = (name, s) => { if (s) { add("dt", name, list); add("dd", s, list); } };
  row("is", n.kind + (n.of && n.kind !== "block" ? ": " + n.of : ""));
  row("gives", (n.types || []).join("\n"));
  row("repeated", n.times && "×" + n.times + (n.carries ? ", carries " + n.carries.join(", ") : ""));
  if (!(n.facts || []).some(f => f.name === "there" && f.text === n.share)) row("there", n.share);
  row("path", n.path);
  for (const f of n.facts || []) if (f.name) row(f.name, f.text);
  row("line", n.at);
}

function mark() {
  for (const e of document.querySelectorAll(".chosen, .hit, .now")) e.classList.remove("chosen", "hit", "now");
  if (pinned && $(pinned.id)) $(pinned.id).classList.add("chosen");
  for (const n of hits) if ($(n.id)) $(n.id).classList.add("hit");
  if (hits[current] && $(hits[current].id)) $(hits[current].id).classList.add("now");
}

function search() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  hits = [];
  if (words.length) for (const n of nodes.values()) {
    const all = [n.title, n.name, n.of, n.path, n.share, n.at, ...(n.types || []), ...(n.facts || []).map(f => f.name + " " + f.text)].join(" ").toLowerCase();
    if (words.every(w => all.includes(w)) && !(parents.get(n.id) && !parents.get(n.id).own && (n.kind === "input" || n.kind === "output"))) hits.push(n);
  }
  const first = words.join(" ");
  const rank = n => n.name.toLowerCase() === first ? 0 : n.name.toLowerCase().includes(first) ? 1 : 2;
  hits.sort((a, b) => rank(a) - rank(b));
  current = hits.length ? 0 : -1;
  show();
}

function show() {
  $("found").textContent = !$("search").value ? "" : hits.length ? `${current + 1} of ${hits.length}` : "none";
  const n = hits[current];
  if (!n) { mark(); return; }
  let changed = false;
  for (let p = parents.get(n.id); p; p = parents.get(p.id)) changed = folded.delete(p.id) || changed;
  if (changed) draw();
  mark();
  detail(n);
  centre(n.id);
}

function centre(id) {
  const stage = $("stage"), b = drawing.boxes.get(id);
  const frame = $("picture").getBoundingClientRect(), view = stage.getBoundingClientRect();
  const x = frame.left - view.left + stage.scrollLeft + (b.x + b.w / 2) * zoom, y = frame.top - view.top + stage.scrollTop + (b.y + Math.min(b.h, 60) / 2) * zoom;
  stage.scrollTo({ left: x - stage.clientWidth / 2, top: y - stage.clientHeight / 2 });
}

function setZoom(z) {
  const stage = $("stage"), old = zoom;
  zoom = Math.min(3, Math.max(0.08, z));
  const x = stage.scrollLeft + stage.clientWidth / 2, y = stage.scrollTop + stage.clientHeight / 2;
  resize();
  stage.scrollTo({ left: x * zoom / old - stage.clientWidth / 2, top: y * zoom / old - stage.clientHeight / 2 });
}

function fit() {
  const stage = $("stage");
  zoom = Math.min(1.4, (stage.clientWidth - 34) / (drawing.w + 4), Math.max(0.3, (stage.clientHeight - 34) / (drawing.h + 16)));
  resize();
}

function foldAll(shut) {
  folded.clear();
  if (shut) for (const n of nodes.values()) if (n.kind === "block" && n !== data.root && !(parents.get(n.id) === data.root && n.own)) folded.add(n.id);
  draw();
}

let dragged = false;
$("stage").addEventListener("pointerdown", e => {
  dragged = false;
  const stage = $("stage"), start = { x: e.clientX, y: e.clientY, left: stage.scrollLeft, top: stage.scrollTop };
  const move = m => {
    if (Math.abs(m.clientX - start.x) + Math.abs(m.clientY - start.y) < 5 && !dragged) return;
    dragged = true;
    stage.classList.add("drag");
    stage.scrollTo(start.left - (m.clientX - start.x), start.top - (m.clientY - start.y));
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", () => { removeEventListener("pointermove", move); stage.classList.remove("drag"); }, { once: true });
});
$("stage").addEventListener("wheel", e => {
  if (!e.ctrlKey && !e.metaKey) return;
  e.preventDefault();
  setZoom(zoom * Math.exp(-e.deltaY / 400));
}, { passive: false });
$("search").addEventListener("input", search);
$("search").addEventListener("keydown", e => {
  if (e.key === "Enter" && hits.length) { current = (current + (e.shiftKey ? hits.length - 1 : 1)) % hits.length; show(); }
  if (e.key === "Escape") { $("search").value = ""; search(); $("stage").focus(); }
});
$("fold").addEventListener("click", () => foldAll(true));
$("unfold").addEventListener("click", () => foldAll(false));
$("fit").addEventListener("click", fit);
$("in").addEventListener("click", () => setZoom(zoom * 1.25));
$("out").addEventListener("click", () => setZoom(zoom / 1.25));
addEventListener("keydown", e => {
  if (e.target === $("search") || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === "/") { e.preventDefault(); $("search").focus(); }
  if (e.key === "+" || e.key === "=") setZoom(zoom * 1.25);
  if (e.key === "-") setZoom(zoom / 1.25);
  if (e.key === "0") fit();
  if (e.key === "Escape") { pinned = null; detail(null); mark(); }
});

$("name").textContent = data.name;
$("about").textContent = (data.about || []).map(f => f.name + " " + f.text).join("  ·  ");
detail(null);
draw();
// #fold, #find=WORDS and #zoom=N open the page in that state, for links.
for (const part of decodeURIComponent(location.hash.slice(1)).split("&")) {
  if (part === "fold") foldAll(true);
  if (part === "fit") fit();
  if (part.startsWith("find=")) { $("search").value = part.slice(5); search(); }
  if (part.startsWith("zoom=")) setZoom(+part.slice(5) || 1);
}
document.body.dataset.ready = "yes";
