"use strict";
// The whole page: its state is in the address, what it shows comes from /api, and it asks nobody else.
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const DEFAULTS = { problem: "987654 + 12347", model: "addition", beside: "absolute", step: "", lowest: "0", layer: "0", head: "0", digit: "" };
const state = { ...DEFAULTS };
let models = {}, views = {}, playing = null, asked = 0;

function make(name, attributes = {}, ...children) {
  const drawn = ["svg", "path", "circle", "text", "line", "polyline", "rect", "g", "title", "marker", "defs"].includes(name);
  const element = drawn ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

async function api(name, body) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`api/${name}`, options);
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  return found;
}

function say(error) { $("error").textContent = error ? error.message || error : ""; }

// The state in the address

function readAddress() {
  Object.assign(state, DEFAULTS);
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) if (key in state) state[key] = value;
  $("problem").value = state.problem;
}

function writeAddress() {
  const kept = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key] || key === "problem" || key === "model");
  history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
}

// Problems

async function solve(keep = false) {
  const mine = ++asked;
  stop();
  if (!keep) Object.assign(state, { step: "", lowest: "0", digit: "" });
  state.problem = $("problem").value.trim();
  state.model = $("model").value;
  state.beside = $("beside").value;
  writeAddress();
  say("");
  const names = [state.model, state.beside].filter((name, at, all) => name && all.indexOf(name) === at);
  const found = await Promise.all(names.map(async (name) => {
    try { return await api("solve", { problem: state.problem, model: name, lowest: Number(state.lowest) }); }
    catch (error) { return { model: name, error: error.message }; }
  }));
  if (mine !== asked) return;
  views = Object.fromEntries(found.map((view) => [view.model, view]));
  if (found.every((view) => view.error)) say(found[0].error);
  $("panels").replaceChildren(...found.map(panel));
  showStep();
  chart();
}

async function draw(how) {
  try {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const body = { how, operator: $("operator").value, digits: Number($("digits").value), seed };
    $("problem").value = (await api("draw", body)).problem;
    fit($("operator").value);
    await solve();
    for (const view of Object.values(views)) if (!view.error) tallyOne(view.model, body.digits, view.right ? 1 : 0, 1);
    chart();
  } catch (error) { say(error); }
}

// Models that do not know an operator give way to the first that does.
function fit(operator) {
  const knows = (name) => models[name] && models[name].operators.includes(operator);
  if (!knows($("model").value)) $("model").value = Object.keys(models).find(knows) || $("model").value;
}

// One model's answer

function panel(view) {
  const model = models[view.model];
  const heading = make("h2", {}, view.model, " ", model.proven ? make("span", { class: "badge", title: model.theorem }, "proven") : "");
  const where = model.canvas ? `${model.title}, on a canvas of ${model.canvas} places` : "in columns, without a canvas";
  const about = make("p", { class: "note" }, `${where}; trained on at most ${model.trained} digits; ${model.parameters.toLocaleString("en")} parameters`
    + (model.proven ? `. Proven: ${model.theorem}.` : "."));
  const box = make("section", { class: "panel", "data-model": view.model, "aria-label": `Model ${view.model}` }, heading, about);
  if (view.error) { box.append(make("p", { class: "verdict wrong" }, view.error)); return box; }
  const verdict = view.right ? "right" : `wrong in ${view.wrong} of ${view.symbols} symbols; the exact answer is ${brief(view.exact)}`;
  box.append(
    make("p", { class: `verdict ${view.right ? "right" : "wrong"}`, role: "status" }, `${brief(view.answer)} is ${verdict}`),
    make("div", { class: "beside" },
      make("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "The problem in columns" }, columns(view, model)),
      view.rows.length ? make("div", {}, make("svg", { class: "machine", role: "img", viewBox: "0 0 420 340", width: 340 })) : null),
    make("p", { class: "note" }, "A digit of the answer is the darker the less sure the network is; wrong ones are underlined and framed."));
  if (view.width > view.places.length) box.append(otherColumns(view));
  if (view.rows.length) box.append(...machine(view));
  if (model.layers) box.append(...canvas(view, model));
  if (view.answer.length > 20) box.append(make("h3", {}, "The answer"), make("p", { class: "digits" }, view.answer));
  return box;
}

function brief(text) { return text.length > 60 ? `${text.slice(0, 20)}…${text.slice(-20)} (${text.length} symbols)` : text; }

function columns(view, model) {
  const line = (kind, label, cells) => make("tr", { class: kind }, make("th", { scope: "row" }, label), ...cells);
  const lines = view.lines.map((one) => line("number", one.sign, one.symbols.map((symbol) => make("td", {}, symbol))));
  const several = view.rows.length > 1;
  const heard = view.rows.flatMap((row, number) => {
    const missing = Array.from({ length: view.places.length - row.cells.length }, () => make("td"));
    const cell = (what, index) => make("td", { "data-at": `${number},${index}` }, ...what);
    const message = (one) => one ? [one.means, make("small", {}, `#${one.code}`)] : ["·"];
    const name = several ? `row ${number + 1} ` : "";
    const parts = [line("heard", `${name}hears`, [...missing, ...row["hears along"].map((one, index) => cell(message(one), index))])];
    if (several && number < view.rows.length - 1) parts.push(line("number", `${name}writes`, [...missing.map((td) => td.cloneNode()),
      ...row.writes.map((symbol, index) => cell([symbol === "_" ? "" : symbol], index))]));
    return parts;
  });
  const last = view.rows.length - 1, shift = last < 0 ? 0 : view.places.length - view.rows[last].cells.length;
  const answer = view.written.map((one, index) => {
    if (!one) return make("td");
    const wrong = one.symbol !== one.exact, shown = one.symbol;
    const words = `${one.symbol}, confidence ${one.confidence.toFixed(2)}${wrong ? `, wrong: the exact symbol is ${one.exact}` : ""}`;
    const inside = model.layers ? make("button", { type: "button", "data-slot": one.slot, "aria-label": `look from ${words}`,
      "aria-pressed": "false", onclick: () => choose(view.model, one.slot) }, shown) : shown;
    return make("td", { class: wrong ? "wrong" : null, title: words, "data-at": last < 0 ? null : `${last},${index - shift}`,
      style: null, "data-confidence": one.confidence }, inside);
  });
  const table = make("table", { class: "columns" },
    line("places", "place", view.places.map((place) => make("td", {}, place < 0 ? "r" : place))), ...lines, ...heard, line("answer", "answer", answer));
  for (const td of table.querySelectorAll("[data-confidence]")) td.style.backgroundColor = `rgba(var(--unsure), ${0.75 * Math.min(1, 2 * (1 - td.dataset.confidence))})`;
  return table;
}

function otherColumns(view) {
  const id = `from-${view.model}`;
  return make("p", { class: "row" }, make("label", { for: id }, `Columns from place ${view.lowest}`),
    make("input", { id, type: "range", min: 0, max: view.width - view.places.length, value: view.lowest,
      onchange: (event) => { state.lowest = event.target.value; state.step = ""; solve(true); } }));
}

// Cells that tell each other bits

function machine(view) {
  const cells = view.rows.reduce((sum, row) => sum + row.cells.length, 0), rows = view.rows.length;
  const by = rows > 1 ? view.rows[0].cells.length : 1, id = `step-${view.model}`;
  const slider = make("input", { id, class: "step", type: "range", min: 0, max: cells, step: by, value: cells,
    oninput: (event) => { stop(); state.step = event.target.value; writeAddress(); showStep(); } });
  const finer = rows > 1 ? make("label", {}, make("input", { type: "checkbox", onchange: (event) => { slider.step = event.target.checked ? 1 : by; } }), " cell by cell") : null;
  const play = make("button", { type: "button", class: "play", accesskey: "p", onclick: () => playing ? stop() : start(view.model) }, "Play");
  const what = rows > 1 ? "row by row" : "cell by cell";
  return [make("h3", {}, `What the cells tell each other, ${what}`),
    make("p", { class: "row" }, play, make("label", { for: id }, "Round"), slider, make("output", { class: "round" }), finer),
    make("p", { class: "said note" })];
}

function showStep() {
  for (const [name, view] of Object.entries(views)) {
    if (view.error || !view.rows.length) continue;
    const box = document.querySelector(`[data-model="${CSS.escape(name)}"]`), slider = box.querySelector(".step");
    const done = state.step === "" ? Number(slider.max) : Math.min(Number(state.step), Number(slider.max));
    slider.value = done;
    let start = 0, now = null;
    const order = view.rows.map((row) => { const first = start; start += row.cells.length; return first; });
    for (const td of box.querySelectorAll("[data-at]")) {
      const [number, index] = td.dataset.at.split(",").map(Number), row = view.rows[number];
      const turn = order[number] + (row.down ? index : row.cells.length - 1 - index);
      td.classList.toggle("later", turn >= done);
      td.classList.toggle("now", turn === done - 1 && done < Number(slider.max));
      if (turn === done - 1) now = [number, index];
    }
    box.querySelector(".round").textContent = `${done} of ${slider.max}`;
    const [number, index] = now || [0, null], row = view.rows[number], lit = index === null ? null : transition(row, index, view.graphs[number]);
    box.querySelector(".said").textContent = lit ? lit.words : "Nobody has spoken yet.";
    drawMachine(box.querySelector(".machine"), view.graphs[number], lit);
  }
}

function transition(row, index, graph) {
  const heard = row["hears along"][index], across = row["hears across"][index], says = row["says along"][index];
  const parts = [`A cell sees ${row.digits.map((line) => line[index]).join(" and ").replaceAll("_", "nothing")}`,
    `hears ${heard ? `#${heard.code} (${heard.means})` : "nothing"}`];
  if (across) parts.push(`from the row before #${across.code} (${across.means})`);
  parts.push(`writes ${row.writes[index] === "_" ? "nothing" : row.writes[index]}`);
  return { from: heard ? heard.code : -1, to: says, words: `${parts.join(", ")}${says < 0 ? "." : ` and says #${says} (${graph.nodes.find((node) => node.code === says)?.means ?? "?"}).`}` };
}

function drawMachine(svg, graph, lit) {
  const at = {}, count = graph.nodes.length;
  graph.nodes.forEach((node, index) => {
    const angle = 2 * Math.PI * index / count - Math.PI / 2;
    at[node.code] = [210 + 150 * Math.cos(angle), 170 + 125 * Math.sin(angle)];
  });
  const isLit = (edge) => lit && edge.from === lit.from && edge.to === lit.to;
  const drawEdge = (edge) => {
    const [x, y] = at[edge.from], [u, v] = at[edge.to], loop = edge.from === edge.to;
    const ox = (x - 210) / 5, oy = (y - 170) / 5;
    const d = loop ? `M${x} ${y} c${2 * ox - 2 * oy} ${2 * oy + 2 * ox} ${2 * ox + 2 * oy} ${2 * oy - 2 * ox} 0 0`
      : `M${x} ${y} Q${(x + u) / 2 + (v - y) / 6} ${(y + v) / 2 - (u - x) / 6} ${u} ${v}`;
    // An arrow in the middle of the curve shows where it leads.
    const middle = loop ? [x + 1.5 * ox, y + 1.5 * oy] : [(x + u) / 2 + (v - y) / 12, (y + v) / 2 - (u - x) / 12];
    const angle = loop ? Math.atan2(ox, -oy) : Math.atan2(v - y, u - x), size = isLit(edge) ? 7 : 4;
    const corner = (turn) => `${middle[0] + size * Math.cos(angle + turn)} ${middle[1] + size * Math.sin(angle + turn)}`;
    const words = make("title", {}, `${edge.from < 0 ? "start" : `#${edge.from}`} to #${edge.to}: ${edge.label}`);
    return make("g", { class: isLit(edge) ? "lit" : null }, words, make("path", { d }),
      make("path", { class: "arrow", d: `M${corner(0)} L${corner(2.4)} L${corner(-2.4)} Z` }));
  };
  const edges = [...graph.edges].sort((one, two) => isLit(one) - isLit(two));
  const nodes = graph.nodes.map((node) => make("g", { class: lit && [lit.from, lit.to].includes(node.code) ? "lit" : null },
    make("circle", { cx: at[node.code][0], cy: at[node.code][1], r: 19 }),
    make("text", { x: at[node.code][0], y: at[node.code][1], "text-anchor": "middle" }, node.code < 0 ? "start" : node.means),
    make("text", { x: at[node.code][0], y: at[node.code][1] + 12, "text-anchor": "middle", class: "soft" }, node.code < 0 ? "" : `#${node.code}`)));
  svg.setAttribute("aria-label", `The learned machine: ${count} messages, ${graph.edges.length} transitions${lit ? `. Now: ${lit.words}` : ""}`);
  svg.replaceChildren(...edges.map(drawEdge), ...nodes);
}

function start(name) {
  const slider = document.querySelector(`[data-model="${CSS.escape(name)}"] .step`), by = Number(slider.step);
  if (Number(slider.value) >= Number(slider.max)) state.step = "0"; else state.step = slider.value;
  showStep();
  document.querySelectorAll(".play").forEach((button) => { button.textContent = "Stop"; });
  playing = setInterval(() => {
    state.step = String(Math.min(Number(state.step) + by, Number(slider.max)));
    showStep();
    if (Number(state.step) >= Number(slider.max)) stop();
  }, Math.max(60, Math.min(600, 8000 * by / Number(slider.max))));
}

function stop() {
  if (playing) { clearInterval(playing); playing = null; writeAddress(); }
  document.querySelectorAll(".play").forEach((button) => { button.textContent = "Play"; });
}

// Models on a canvas

function canvas(view, model) {
  const choice = (name, count) => make("label", {}, `${name} `, make("select", { class: name, onchange: (event) => {
    state[name] = event.target.value; writeAddress(); look(view.model); } },
  ...Array.from({ length: count }, (_, index) => make("option", { value: index, selected: String(index) === state[name] }, index + 1))));
  const parts = [make("h3", {}, "Where an answer digit looks"), make("p", { class: "row" }, choice("layer", model.layers), choice("head", model.heads),
    make("span", { class: "looking note" })), make("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "Attention" }, make("svg", { class: "arcs", role: "img", "aria-label": "Attention, not there yet" })),
  make("details", { ontoggle: (event) => event.target.open && heat(view.model, event.target) }, make("summary", {}, "Positional vectors")),
  make("details", { class: "leak", open: true }, make("summary", {}, "Why it fails: attention leaks to far digits as numbers grow"))];
  queueMicrotask(() => { look(view.model); leak(view.model); });
  return parts;
}

function choose(name, slot) { state.digit = String(slot); writeAddress(); look(name); }

async function look(name) {
  const view = views[name], box = document.querySelector(`[data-model="${CSS.escape(name)}"]`), model = models[name];
  if (!box || view.error) return;
  const layer = Math.min(Number(state.layer), model.layers - 1), head = Math.min(Number(state.head), model.heads - 1);
  try {
    const found = await api("attention", { problem: view.problem, model: name, layer, head });
    const slot = Math.min(state.digit === "" ? Math.max(...view.written.filter(Boolean).map((one) => one.slot)) : Number(state.digit), found.slots.length - 1);
    for (const button of box.querySelectorAll("[data-slot]")) button.setAttribute("aria-pressed", String(Number(button.dataset.slot) === slot));
    arcs(box.querySelector(".arcs"), found, slot);
    const weights = found.weights[slot], best = weights.map((weight, at) => [weight, at]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    box.querySelector(".looking").textContent = `From the answer's place ${slot} (${found.symbols[slot]}): most to `
      + best.map(([weight, at]) => `${found.tokens[at]} (${(100 * weight).toFixed(0)} %)`).join(", ") + ". Choose another digit in the answer above.";
  } catch (error) { say(error); }
}

function arcs(svg, found, slot) {
  const wide = found.tokens.length > 30 ? 14 : 22, x = (index) => 14 + wide * index, width = x(found.tokens.length);
  svg.setAttribute("viewBox", `0 0 ${width} 150`);
  svg.setAttribute("width", width);
  svg.setAttribute("aria-label", `Attention of the answer's place ${slot} over ${found.tokens.length} tokens`);
  const lines = found.weights[slot].map((weight, at) => weight < 0.01 ? null : make("path", { "stroke-width": 1 + 6 * weight, "stroke-opacity": Math.min(1, 0.15 + weight),
    d: `M${x(found.slots[slot])} 24 C${x(found.slots[slot])} 80 ${x(at)} 70 ${x(at)} 126` }, make("title", {}, `${found.tokens[at]}: ${weight.toFixed(3)}`)));
  const tokens = found.tokens.map((token, at) => make("text", { x: x(at), y: 142, "text-anchor": "middle" }, token));
  const answers = found.slots.map((at, place) => make("text", { x: x(at), y: 18, "text-anchor": "middle", class: place === slot ? "chosen" : "soft" }, found.symbols[place]));
  svg.replaceChildren(...lines.filter(Boolean), ...tokens, ...answers);
  svg.parentElement.scrollLeft = x(found.slots[slot]) - svg.parentElement.clientWidth / 2;
}

async function heat(name, details) {
  if (details.querySelector("canvas")) return;
  const { tables } = await api("positions", { model: name });
  for (const [title, table] of Object.entries(tables)) {
    const most = Math.max(...table.flat().map(Math.abs)) || 1, rows = table.length, across = table[0].length;
    const picture = make("canvas", { width: across, height: rows, role: "img", style: null,
      "aria-label": `Heat map of the positional vectors ${title}: ${rows} vectors of ${across} numbers, from ${-most.toFixed(2)} to ${most.toFixed(2)}` });
    const context = picture.getContext("2d"), image = context.createImageData(across, rows);
    table.flat().forEach((value, at) => {
      const size = Math.abs(value) / most, other = 255 * (1 - size);
      image.data.set(value > 0 ? [255 - 41 * size, 255 - 161 * size, other, 255] : [other, 255 - 141 * size, 255 - 77 * size, 255], 4 * at);
    });
    context.putImageData(image, 0, 0);
    picture.style.aspectRatio = `${across} / ${Math.max(rows, across / 3)}`;
    details.append(make("p", { class: "note" }, `${title}: a line for each ${rows > 1 && title.startsWith("pairs") ? "distance or class" : "position"}, orange above 0, blue below, up to ${most.toFixed(2)}`), picture);
  }
}

const leaks = {};
async function leak(name) {
  const details = document.querySelector(`[data-model="${CSS.escape(name)}"] .leak`);
  try {
    leaks[name] ??= api("leak", { model: name });
    const found = await leaks[name];
    if (!details || details.querySelector("svg")) return;
    const layers = found.rows[0].shares.map((_, layer) => ({ name: `to far digits, layer ${layer + 1}`, points: found.rows.map((row) => [row.digits, row.shares[layer]]) }));
    const right = { name: "exact match", dashed: true, points: found.rows.map((row) => [row.digits, row.right]) };
    details.append(make("p", { class: "note" }, `Share of the attention of answer digits that goes to digits more than ${found.trained} places away, farther than any in training; ${found.problems} problems per length. Grey: lengths in training.`),
      lines([...layers, right], found.trained));
  } catch (error) { say(error); }
}

// Charts

function lines(series, trained) {
  const xs = series.flatMap((one) => one.points.map((point) => point[0])), most = Math.max(2, ...xs), least = Math.min(1, ...xs);
  const x = (value) => 40 + 420 * (value - least) / (most - least), y = (value) => 200 - 180 * value, marks = ["2 0", "7 3", "2 3", "9 3 2 3"];
  const ticks = [...new Set([least, Math.round((least + most) / 2), most])];
  const parts = [trained ? make("rect", { class: "trained", x: 40, y: 20, width: Math.max(0, x(Math.min(trained, most)) - 40), height: 180 }) : null,
    make("path", { class: "axis", d: "M40 20 V200 H460" }),
    ...[0, 0.5, 1].map((value) => make("text", { x: 34, y: y(value) + 4, "text-anchor": "end" }, value)),
    ...ticks.map((value) => make("text", { x: x(value), y: 216, "text-anchor": "middle" }, value)), make("text", { x: 250, y: 232, "text-anchor": "middle", class: "soft" }, "digits")];
  series.forEach((one, index) => {
    const kind = `series${one.dashed ? 3 : index % 3}`, sorted = [...one.points].sort((a, b) => a[0] - b[0]);
    parts.push(make("polyline", { class: kind, "stroke-dasharray": marks[(one.dashed ? 1 : index) % 4], points: sorted.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }),
      ...sorted.map(([a, b]) => make("circle", { class: kind, cx: x(a), cy: y(b), r: 2.5 }, make("title", {}, `${one.name}, ${a} digits: ${b.toFixed(3)}`))),
      make("polyline", { class: kind, "stroke-dasharray": marks[(one.dashed ? 1 : index) % 4], points: `42,${248 + 16 * index} 72,${248 + 16 * index}` }),
      make("text", { class: kind, x: 78, y: 252 + 16 * index }, one.name));
  });
  const words = series.map((one) => `${one.name}: ${one.points.map(([a, b]) => `${a} digits ${b.toFixed(2)}`).join(", ")}`).join("; ");
  return make("svg", { viewBox: `0 0 480 ${250 + 16 * series.length}`, width: 480, role: "img", "aria-label": words }, ...parts.filter(Boolean));
}

const tallies = {};
function tallyOne(name, digits, right, tried) {
  const cell = ((tallies[name] ??= {})[digits] ??= [0, 0]);
  cell[0] += right;
  cell[1] += tried;
}

function chart() {
  const names = Object.keys(views).filter((name) => tallies[name]);
  const series = names.map((name) => ({ name, points: Object.entries(tallies[name]).map(([digits, [right, tried]]) => [Number(digits), right / tried]) }));
  if (!series.length) { $("counts").replaceChildren(make("p", { class: "note" }, "Nothing counted yet.")); return; }
  const lengths = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  const rows = lengths.map((digits) => make("tr", {}, make("th", { scope: "row" }, digits),
    ...names.map((name) => { const cell = tallies[name][digits]; return make("td", {}, cell ? `${cell[0]} of ${cell[1]}` : "–"); })));
  const table = make("table", { class: "plain" }, make("tr", {}, make("th", { scope: "col" }, "digits"), ...names.map((name) => make("th", { scope: "col" }, name))), ...rows);
  $("counts").replaceChildren(lines(series, models[names[0]].trained), table);
}

let counting = false, round = 0;
async function count() {
  counting = !counting;
  $("count").setAttribute("aria-pressed", String(counting));
  $("count").textContent = counting ? "Stop counting" : "Start counting";
  const ladder = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 100];
  while (counting) {
    const names = Object.keys(views).filter((name) => !views[name].error), operator = views[names[0]]?.operator || "+";
    const digits = ladder[round++ % ladder.length], seed = Math.floor(Math.random() * 2 ** 30);
    if (!names.length) break;
    try {
      const found = await api("tally", { models: names, operator, how: "random", digits, count: 10, seed });
      for (const [name, right] of Object.entries(found.right)) if (right !== null) tallyOne(name, digits, right, found.tried);
      chart();
    } catch (error) { say(error); counting = false; }
  }
  $("count").setAttribute("aria-pressed", "false");
  $("count").textContent = "Start counting";
}

// Beginning

async function begin() {
  readAddress();
  try {
    const found = await api("models");
    models = Object.fromEntries(found.models.map((model) => [model.name, model]));
    const { digits, numbers, multiplier } = found.limits;
    $("limits").textContent = `Up to ${numbers} numbers of up to ${digits.toLocaleString("en")} digits, multipliers of up to ${multiplier} digits. Operators: + − × ÷ by one digit, and ? to compare.`;
    $("digits").max = digits;
    const option = (model) => make("option", { value: model.name }, `${model.name}${model.proven ? " (proven)" : ""}`);
    $("model").replaceChildren(...found.models.map(option));
    $("beside").replaceChildren(make("option", { value: "" }, "no other"), ...found.models.map(option));
    choosePair();
    await solve(true);
  } catch (error) { say(error); }
}

function choosePair() {
  if (models[state.model]) $("model").value = state.model;
  $("beside").value = models[state.beside] ? state.beside : "";
}

$("ask").addEventListener("submit", (event) => { event.preventDefault(); solve(); });
for (const id of ["model", "beside"]) $(id).addEventListener("change", () => solve());
for (const button of document.querySelectorAll("[data-how]")) button.addEventListener("click", () => draw(button.dataset.how));
$("count").addEventListener("click", count);
$("forget").addEventListener("click", () => { for (const name of Object.keys(tallies)) delete tallies[name]; chart(); });
addEventListener("hashchange", () => { readAddress(); choosePair(); solve(true); });
begin();
