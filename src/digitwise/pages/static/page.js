"use strict";
// The whole page: its state is in the address, what it shows comes from /api, and it asks nobody else.

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "path", "circle", "text", "polyline", "rect", "g", "title"]);
const DEFAULTS = {
  problem: "987654 + 12347", model: "addition", beside: "absolute",
  step: "", lowest: "0", layer: "0", head: "0", digit: "",
};
const WORDS = new Set(["problem", "model", "beside"]); // the other parts of the state are whole numbers
const state = { ...DEFAULTS };
let models = {}; // by name, as the server describes them
let views = {}; // the answers that are shown, by model
let playing = null;
let asked = 0; // only the last question is answered

function make(name, attributes = {}, ...children) {
  const element = DRAWN.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function text(words, attributes) {
  return make("text", { "text-anchor": "middle", ...attributes }, words);
}

async function api(name, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`api/${name}`, body && { method: "POST", headers, body: JSON.stringify(body) });
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  return found;
}

function say(error) {
  $("error").textContent = error ? error.message || error : "";
}

function panelOf(name) {
  return document.querySelector(`[data-model="${CSS.escape(name)}"]`);
}

// The state in the address

function readAddress() {
  Object.assign(state, DEFAULTS);
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
    if (key in state && (WORDS.has(key) || /^\d{0,9}$/.test(value))) state[key] = value;
  }
  $("problem").value = state.problem;
}

function writeAddress() {
  const always = ["problem", "model"];
  const kept = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key] || always.includes(key));
  history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
}

// Problems

async function solve(keep = false) {
  const mine = ++asked;
  stop();
  if (!keep) Object.assign(state, { step: "", lowest: "0", digit: "" });
  Object.assign(state, { problem: $("problem").value.trim(), model: $("model").value, beside: $("beside").value });
  writeAddress();
  say("");
  const names = [...new Set([state.model, state.beside])].filter(Boolean);
  const found = await Promise.all(names.map(async (model) => {
    try {
      return await api("solve", { problem: state.problem, model, lowest: Number(state.lowest) });
    } catch (error) {
      return { model, error: error.message };
    }
  }));
  if (mine !== asked) return [];
  views = Object.fromEntries(found.map((view) => [view.model, view]));
  if (found.every((view) => view.error)) say(found[0].error);
  const focused = document.activeElement.id;
  $("panels").replaceChildren(...found.map(panel));
  if (focused) $(focused)?.focus(); // a control inside a panel is a new one now
  // What is put into the page together with its words is not read aloud: this place was there before.
  $("verdicts").textContent = found.map((view) => `${view.model}: ${view.error ?? verdict(view)}.`).join(" ");
  showStep();
  chart();
  return found;
}

async function draw(how) {
  try {
    const operator = $("operator").value, digits = Number($("digits").value);
    const seed = Math.floor(Math.random() * 2 ** 31);
    $("problem").value = (await api("draw", { how, operator, digits, seed })).problem;
    fit(operator);
    for (const view of await solve()) if (!view.error) tally(view.model, digits, view.right ? 1 : 0, 1);
    chart();
  } catch (error) {
    say(error);
  }
}

// Hard problems are known for some operators only.
function offer() {
  const operators = { random: "+-*/?", cascade: "+-*", nines: "+", ones: "+" };
  for (const button of document.querySelectorAll("[data-how]")) {
    button.disabled = !operators[button.dataset.how].includes($("operator").value);
  }
}

// A model that does not know an operator gives way to the first that does.
function fit(operator) {
  const knows = (name) => models[name]?.operators.includes(operator);
  if (!knows($("model").value)) $("model").value = Object.keys(models).find(knows) ?? $("model").value;
}

// One model's answer

function panel(view) {
  const model = models[view.model];
  const badge = model.proven ? make("span", { class: "badge", title: model.theorem }, "proven") : "";
  const where = model.canvas ? `${model.title}, on a canvas of ${model.canvas} places` : "in columns, without a canvas";
  const size = `${model.parameters.toLocaleString("en")} parameters`;
  const proof = model.proven ? ` Proven: ${model.theorem}.` : "";
  const box = make(
    "section", { class: "panel", "data-model": view.model, "aria-label": `Model ${view.model}` },
    make("h2", {}, view.model, " ", badge),
    make("p", { class: "note" }, `${where}; trained on at most ${model.trained} digits; ${size}.${proof}`),
  );
  if (view.error) {
    box.append(make("p", { class: "verdict wrong" }, view.error));
    return box;
  }
  box.append(
    make("p", { class: `verdict ${view.right ? "right" : "wrong"}` }, verdict(view)),
    make("div", { class: "beside" }, wide("The problem in columns", columns(view, model)), machinePicture(view)),
    make("p", { class: "note" },
      "The less sure the network is of a digit, the more orange it is; wrong ones are underlined and framed."),
  );
  if (view.width > view.places.length) box.append(otherColumns(view));
  if (view.rows.length) box.append(...messages(view));
  if (model.layers) box.append(...canvas(view, model));
  if (view.answer.length > 20) box.append(make("h3", {}, "The answer"), make("p", { class: "digits" }, view.answer));
  return box;
}

function verdict(view) {
  const faults = `wrong in ${view.wrong} of ${view.symbols} symbols; the exact answer is ${brief(view.exact)}`;
  return `${brief(view.answer)} is ${view.right ? "right" : faults}`;
}

function brief(number) {
  return number.length > 60 ? `${number.slice(0, 20)}…${number.slice(-20)} (${number.length} symbols)` : number;
}

// What may be wider than the window scrolls by itself, also from the keyboard.
function wide(label, ...children) {
  return make("div", { class: "wide", tabindex: 0, role: "group", "aria-label": label }, ...children);
}

function columns(view, model) {
  const line = (kind, label, cells) => make("tr", { class: kind }, make("th", { scope: "row" }, label), ...cells);
  const places = view.places.map((place) => make("td", {}, place < 0 ? "r" : place));
  const numbers = view.lines.map((one) => line("number", one.sign, one.symbols.map((symbol) => make("td", {}, symbol))));
  return make(
    "table", { class: "columns" },
    line("places", "place", places), ...numbers, ...heard(view, line), line("answer", "answer", answered(view, model)),
  );
}

// What the cells of every row hear and, in rows before the last, what they write.
function heard(view, line) {
  const several = view.rows.length > 1;
  return view.rows.flatMap((row, number) => {
    const missing = () => Array.from({ length: view.places.length - row.cells.length }, () => make("td"));
    const cell = (what, index) => make("td", { "data-at": `${number},${index}` }, ...what);
    const message = (one) => (one ? [one.means, make("small", {}, `#${one.code}`)] : ["·"]);
    const name = several ? `row ${number + 1} ` : "";
    const hears = row["hears along"].map((one, index) => cell(message(one), index));
    const lines = [line("heard", `${name}hears ${row.messages}`, [...missing(), ...hears])];
    if (number < view.rows.length - 1) {
      const writes = row.writes.map((symbol, index) => cell([symbol === "_" ? "" : symbol], index));
      lines.push(line("number", `${name}writes`, [...missing(), ...writes]));
    }
    return lines;
  });
}

function answered(view, model) {
  const last = view.rows.length - 1;
  const shift = last < 0 ? 0 : view.places.length - view.rows[last].cells.length;
  return view.written.map((one, index) => {
    if (!one) return make("td");
    const wrong = one.symbol !== one.exact;
    const fault = wrong ? `, wrong: the exact symbol is ${one.exact}` : "";
    const words = `${one.symbol}, confidence ${one.confidence.toFixed(2)}${fault}`;
    const choice = {
      type: "button", "data-slot": one.slot, "aria-label": `look from ${words}`, "aria-pressed": "false",
      onclick: () => choose(view.model, one.slot),
    };
    const at = last < 0 ? null : `${last},${index - shift}`;
    const cell = make(
      "td", { class: wrong ? "wrong" : null, title: words, "data-at": at },
      model.layers ? make("button", choice, one.symbol) : one.symbol,
    );
    cell.style.setProperty("--doubt", Math.min(1, 2 * (1 - one.confidence)).toFixed(3));
    return cell;
  });
}

function otherColumns(view) {
  const id = `from-${view.model}`, max = view.width - view.places.length;
  const show = (event) => {
    Object.assign(state, { lowest: event.target.value, step: "" });
    solve(true);
  };
  const slider = make("input", { id, type: "range", min: 0, max, value: view.lowest, onchange: show });
  return make("p", { class: "row" }, make("label", { for: id }, `Columns from place ${view.lowest}`), slider);
}

// Cells that tell each other bits

function machinePicture(view) {
  if (!view.rows.length) return null;
  return make("div", {}, make("svg", { class: "machine", role: "img", viewBox: "0 0 420 340", width: 340 }));
}

function messages(view) {
  const cells = view.rows.reduce((sum, row) => sum + row.cells.length, 0), several = view.rows.length > 1;
  const by = several ? view.rows[0].cells.length : 1, id = `step-${view.model}`;
  const fine = Number(state.step) % by > 0; // a link into the middle of a row
  const slide = (event) => {
    stop();
    state.step = event.target.value;
    writeAddress();
    showStep();
  };
  const range = { id, class: "step", type: "range", min: 0, max: cells, step: fine ? 1 : by, value: cells, oninput: slide };
  const slider = make("input", range);
  const finer = (event) => {
    slider.step = event.target.checked ? 1 : by;
  };
  const toggle = () => (playing ? stop() : start(view.model));
  return [
    make("h3", {}, `What the cells tell each other, ${several ? "row by row" : "cell by cell"}`),
    make(
      "p", { class: "row" },
      make("button", { type: "button", class: "play", accesskey: "p", onclick: toggle }, "Play"),
      make("label", { for: id }, "Round"), slider, make("output", { class: "round" }),
      several ? make("label", {}, make("input", { type: "checkbox", checked: fine, onchange: finer }), " cell by cell") : null,
    ),
    make("p", { class: "said note" }),
  ];
}

// Cells speak one after the other, row by row, each row in its direction: those whose turn has not come are faint.
function showStep() {
  for (const [name, view] of Object.entries(views)) {
    if (view.error || !view.rows.length) continue;
    const box = panelOf(name), slider = box.querySelector(".step"), all = Number(slider.max);
    const done = state.step === "" ? all : Math.min(Number(state.step), all);
    slider.value = done;
    const first = [];
    view.rows.reduce((sum, row, number) => (first[number] = sum) + row.cells.length, 0);
    let now = null;
    for (const td of box.querySelectorAll("[data-at]")) {
      const [number, index] = td.dataset.at.split(",").map(Number), row = view.rows[number];
      const turn = first[number] + (row.down ? index : row.cells.length - 1 - index);
      td.classList.toggle("later", turn >= done);
      td.classList.toggle("now", turn === done - 1 && done < all);
      if (turn === done - 1) now = [number, index, td];
    }
    box.querySelector(".round").textContent = `${done} of ${all}`;
    const number = now ? now[0] : 0, graph = view.graphs[number];
    const lit = now ? transition(view.rows[number], now[1], graph) : null;
    box.querySelector(".said").textContent = lit ? lit.words : "Nobody has spoken yet.";
    drawMachine(box.querySelector(".machine"), graph, lit);
    if (done < all) center(box.querySelector(".wide"), now ? now[2].offsetLeft : Infinity);
  }
}

// Of what is wider than its box, show the part around a place: the rest of the page stays where it is.
function center(box, left) {
  box.scrollLeft = Math.min(left - box.clientWidth / 2, box.scrollWidth);
}

function transition(row, index, graph) {
  const along = row["hears along"][index], across = row["hears across"][index], says = row["says along"][index];
  const means = graph.nodes.find((node) => node.code === says)?.means;
  const seen = row.digits.map((line) => line[index]).join(" and ").replaceAll("_", "nothing");
  const parts = [`A cell sees ${seen}`, `hears ${along ? `#${along.code} (${along.means})` : "nothing"}`];
  if (across) parts.push(`from the row before #${across.code} (${across.means})`);
  parts.push(`writes ${row.writes[index] === "_" ? "nothing" : row.writes[index]}`);
  const said = means === undefined ? `#${says}, which no cell hears` : `#${says} (${means})`;
  const words = `${parts.join(", ")}${says < 0 ? "" : ` and says ${said}`}.`;
  return { from: along ? along.code : -1, to: says, words };
}

function drawMachine(svg, graph, lit) {
  const at = {};
  graph.nodes.forEach((node, index) => {
    const angle = (2 * Math.PI * index) / graph.nodes.length - Math.PI / 2;
    at[node.code] = [210 + 150 * Math.cos(angle), 170 + 125 * Math.sin(angle)];
  });
  const isLit = (edge) => Boolean(lit) && edge.from === lit.from && edge.to === lit.to;
  const edges = [...graph.edges].sort((one, two) => isLit(one) - isLit(two)); // the lit one on top
  const nodes = graph.nodes.map((node) => {
    const [x, y] = at[node.code], begins = node.code < 0;
    return make(
      "g", { class: lit && [lit.from, lit.to].includes(node.code) ? "lit" : null },
      make("circle", { cx: x, cy: y, r: 19 }), text(begins ? "start" : node.means, { x, y }),
      text(begins ? "" : `#${node.code}`, { x, y: y + 12, class: "soft" }),
    );
  });
  const now = lit ? `. Now: ${lit.words}` : "";
  svg.setAttribute("aria-label",
    `The learned machine: ${graph.nodes.length} messages, ${graph.edges.length} transitions${now}`);
  svg.replaceChildren(...edges.map((edge) => arrow(edge, at[edge.from], at[edge.to], isLit(edge))), ...nodes);
}

// A curve from one message to another, or back to itself, with an arrow in its middle.
function arrow(edge, [x, y], [u, v], lit) {
  const loop = edge.from === edge.to, ox = (x - 210) / 5, oy = (y - 170) / 5;
  const d = loop
    ? `M${x} ${y} c${2 * (ox - oy)} ${2 * (oy + ox)} ${2 * (ox + oy)} ${2 * (oy - ox)} 0 0`
    : `M${x} ${y} Q${(x + u) / 2 + (v - y) / 6} ${(y + v) / 2 - (u - x) / 6} ${u} ${v}`;
  const middle = loop ? [x + 1.5 * ox, y + 1.5 * oy] : [(x + u) / 2 + (v - y) / 12, (y + v) / 2 - (u - x) / 12];
  const angle = loop ? Math.atan2(ox, -oy) : Math.atan2(v - y, u - x), size = lit ? 7 : 4;
  const corner = (turn) => [Math.cos, Math.sin].map((part, axis) => middle[axis] + size * part(angle + turn)).join(" ");
  return make(
    "g", { class: lit ? "lit" : null },
    make("title", {}, `${edge.from < 0 ? "start" : `#${edge.from}`} to #${edge.to}: ${edge.label}`),
    make("path", { d }), make("path", { class: "arrow", d: `M${corner(0)} L${corner(2.4)} L${corner(-2.4)} Z` }),
  );
}

function start(name) {
  const slider = panelOf(name).querySelector(".step"), by = Number(slider.step), all = Number(slider.max);
  state.step = Number(slider.value) >= all ? "0" : slider.value;
  showStep();
  for (const button of document.querySelectorAll(".play")) button.textContent = "Stop";
  playing = setInterval(() => {
    state.step = String(Math.min(Number(state.step) + by, all));
    showStep();
    if (Number(state.step) >= all) stop();
  }, Math.max(60, Math.min(600, (8000 * by) / all)));
}

function stop() {
  if (playing) {
    clearInterval(playing);
    playing = null;
    writeAddress();
  }
  for (const button of document.querySelectorAll(".play")) button.textContent = "Play";
}

// Models on a canvas

function canvas(view, model) {
  const choice = (name, count) => {
    const change = (event) => {
      state[name] = event.target.value;
      writeAddress();
      look(view.model);
    };
    const options = Array.from({ length: count }, (_, index) =>
      make("option", { value: index, selected: String(index) === state[name] }, index + 1));
    return make("label", {}, `${name} `, make("select", { class: name, onchange: change }, ...options));
  };
  const open = (event) => event.target.open && heat(view.model, event.target);
  queueMicrotask(() => {
    look(view.model);
    leak(view.model);
  });
  return [
    make("h3", {}, "Where an answer digit looks"),
    make("p", { class: "row" }, choice("layer", model.layers), choice("head", model.heads)),
    make("p", { class: "looking note" }),
    wide("Attention", make("svg", { class: "arcs", role: "img", "aria-label": "Attention, not there yet" })),
    make("details", { ontoggle: open }, make("summary", {}, "Positional vectors")),
    make("details", { class: "leak", open: true },
      make("summary", {}, "How attention leaks to far digits as numbers grow"),
      make("p", { class: "note", role: "status" }, "This is being measured.")),
  ];
}

function choose(name, slot) {
  state.digit = String(slot);
  writeAddress();
  look(name);
}

const looks = {}; // by model: only the last question is answered
async function look(name) {
  const view = views[name], box = panelOf(name), model = models[name];
  if (!box || view.error) return;
  const mine = (looks[name] = (looks[name] ?? 0) + 1);
  const layer = Math.min(Number(state.layer), model.layers - 1), head = Math.min(Number(state.head), model.heads - 1);
  try {
    const found = await api("attention", { problem: view.problem, model: name, layer, head });
    if (mine !== looks[name]) return;
    const highest = Math.max(...view.written.filter(Boolean).map((one) => one.slot));
    const slot = Math.min(state.digit === "" ? highest : Number(state.digit), found.slots.length - 1);
    for (const button of box.querySelectorAll("[data-slot]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.slot) === slot));
    }
    arcs(box.querySelector(".arcs"), found, slot);
    const most = found.weights[slot].map((weight, at) => [weight, at]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    const told = most.map(([weight, at]) => `${found.tokens[at]} (${(100 * weight).toFixed(0)} %)`).join(", ");
    box.querySelector(".looking").textContent =
      `From the answer's place ${slot} (${found.symbols[slot]}): most to ${told}. Choose another digit in the answer above.`;
  } catch (error) {
    say(error);
  }
}

function arcs(svg, found, slot) {
  const step = found.tokens.length > 30 ? 14 : 22, x = (index) => 14 + step * index, width = x(found.tokens.length);
  const from = x(found.slots[slot]);
  const lines = found.weights[slot].map((weight, at) => {
    if (weight < 0.01) return null;
    const d = `M${from} 24 C${from} 80 ${x(at)} 70 ${x(at)} 126`;
    const line = { d, "stroke-width": 1 + 6 * weight, "stroke-opacity": Math.min(1, 0.15 + weight) };
    return make("path", line, make("title", {}, `${found.tokens[at]}: ${weight.toFixed(3)}`));
  });
  const tokens = found.tokens.map((token, at) => text(token, { x: x(at), y: 142 }));
  const answers = found.slots.map((at, place) =>
    text(found.symbols[place], { x: x(at), y: 18, class: place === slot ? "chosen" : "soft" }));
  svg.setAttribute("viewBox", `0 0 ${width} 150`);
  svg.setAttribute("width", width);
  svg.setAttribute("aria-label", `Attention of the answer's place ${slot} over ${found.tokens.length} tokens`);
  svg.replaceChildren(...lines.filter(Boolean), ...tokens, ...answers);
  center(svg.parentElement, from);
}

async function heat(name, details) {
  if (details.querySelector("p")) return;
  const note = make("p", { class: "note" });
  details.append(note);
  const { tables } = await api("positions", { model: name }).catch((error) => (say(error), { tables: {} }));
  if (Object.keys(tables).length) note.remove();
  else note.textContent = "There are none to show.";
  for (const [title, table] of Object.entries(tables)) {
    const rows = table.length, across = table[0].length, values = table.flat();
    const most = Math.max(...values.map(Math.abs)) || 1, limit = most.toFixed(2);
    const label = `Heat map of positional vectors, ${title}: ${rows} vectors of ${across} numbers, from -${limit} to ${limit}`;
    const picture = make("canvas", { width: rows, height: across, role: "img", "aria-label": label });
    const context = picture.getContext("2d"), image = context.createImageData(rows, across);
    values.forEach((value, at) => {
      const size = Math.abs(value) / most, less = (part) => 255 - part * size;
      const colour = value > 0 ? [less(41), less(161), less(255), 255] : [less(255), less(141), less(77), 255];
      image.data.set(colour, 4 * ((at % across) * rows + Math.floor(at / across))); // a vector is a column
    });
    context.putImageData(image, 0, 0);
    const what = title.startsWith("pairs") ? "distance or class" : "position";
    const words = `${title}: a column for each ${what}, orange above 0, blue below, up to ${limit}`;
    details.append(make("p", { class: "note" }, words), picture);
  }
}

const leaks = {}; // measured once for each model
async function leak(name) {
  const details = panelOf(name)?.querySelector(".leak");
  try {
    const found = await (leaks[name] ??= api("leak", { model: name }));
    if (!details || details.querySelector("svg")) return;
    const layers = found.rows[0].shares.map((_, layer) => ({
      name: `to far digits, layer ${layer + 1}`, points: found.rows.map((row) => [row.digits, row.shares[layer]]),
    }));
    const quiet = { "exact match": "right", "exact match, far digits hidden": "masked" };
    const right = Object.entries(quiet).map(([name, key]) => ({
      name, quiet: true, points: found.rows.map((row) => [row.digits, row[key]]),
    }));
    const words = `Share of the attention of answer digits that goes to digits more than ${found.trained} places away,`
      + ` farther than any in training; ${found.problems} problems per length. Grey: lengths in training. Where more`
      + " is right with far digits hidden, the leak is why it fails; where nothing changes, it fails for another reason.";
    details.querySelector("p").textContent = words;
    details.append(lines([...layers, ...right], found.trained));
  } catch (error) {
    say(error);
  }
}

// Charts

const DASHES = ["2 0", "7 3", "2 3", "9 3 2 3", "1 4"];
const FAR = 30; // beyond so many digits the axis is logarithmic

function lines(series, trained) {
  const xs = series.flatMap((one) => one.points.map((point) => point[0]));
  const most = Math.max(2, ...xs), least = Math.min(1, ...xs);
  const scale = most > FAR ? Math.log : Number, y = (value) => 200 - 180 * value;
  const x = (value) => 40 + (420 * (scale(value) - scale(least))) / (scale(most) - scale(least));
  const middle = most > FAR ? Math.sqrt(least * most) : (least + most) / 2;
  const ticks = [...new Set([least, Math.round(middle), most])];
  const shaded = Math.max(0, x(Math.min(trained, most)) - 40);
  const parts = [
    make("rect", { class: "trained", x: 40, y: 20, width: shaded, height: 180 }),
    make("path", { class: "axis", d: "M40 20 V200 H460" }),
    ...[0, 0.5, 1].map((value) => text(value, { x: 34, y: y(value) + 4, "text-anchor": "end" })),
    ...ticks.map((value) => text(value, { x: x(value), y: 216 })),
    text("digits", { x: 250, y: 232, class: "soft" }),
  ];
  series.forEach((one, index) => {
    const kind = `series${one.quiet ? 3 : index % 3}`, below = 248 + 16 * index;
    const line = { class: kind, "stroke-dasharray": DASHES[index % DASHES.length] };
    const points = [...one.points].sort((a, b) => a[0] - b[0]);
    const dots = points.map(([a, b]) => make(
      "circle", { class: kind, cx: x(a), cy: y(b), r: 2.5 },
      make("title", {}, `${one.name}, ${a} digits: ${b.toFixed(3)}`),
    ));
    parts.push(
      make("polyline", { ...line, points: points.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }), ...dots,
      make("polyline", { ...line, points: `42,${below} 72,${below}` }),
      text(one.name, { class: kind, x: 78, y: below + 4, "text-anchor": "start" }),
    );
  });
  const told = (one) => `${one.name}: ${one.points.map(([a, b]) => `${a} digits ${b.toFixed(2)}`).join(", ")}`;
  const size = { viewBox: `0 0 480 ${250 + 16 * series.length}`, width: 480 };
  return make("svg", { ...size, role: "img", "aria-label": series.map(told).join("; ") }, ...parts);
}

const tallies = {}; // by model and digits: right, tried

function tally(name, digits, right, tried) {
  const cell = ((tallies[name] ??= {})[digits] ??= [0, 0]);
  cell[0] += right;
  cell[1] += tried;
}

function chart() {
  const names = Object.keys(views).filter((name) => tallies[name]);
  if (!names.length) {
    $("counts").replaceChildren(make("p", { class: "note" }, "Nothing counted yet."));
    return;
  }
  const share = ([digits, [right, tried]]) => [Number(digits), right / tried];
  const series = names.map((name) => ({ name, points: Object.entries(tallies[name]).map(share) }));
  const lengths = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  const cell = (counted) => make("td", {}, counted ? `${counted[0]} of ${counted[1]}` : "–");
  const rows = lengths.map((digits) => make(
    "tr", {}, make("th", { scope: "row" }, digits), ...names.map((name) => cell(tallies[name][digits])),
  ));
  const head = ["digits", ...names].map((name) => make("th", { scope: "col" }, name));
  const table = make("table", { class: "plain" }, make("tr", {}, ...head), ...rows);
  $("counts").replaceChildren(make("div", {}, lines(series, models[names[0]].trained)), table);
}

const LADDER = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 100];
let counting = false;
let rung = 0;

async function count() {
  counting = !counting;
  while (showCounting() && counting) {
    const names = Object.keys(views).filter((name) => !views[name].error);
    if (!names.length) break;
    const digits = LADDER[rung++ % LADDER.length], seed = Math.floor(Math.random() * 2 ** 30);
    const operator = views[names[0]].operator;
    try {
      const found = await api("tally", { models: names, operator, how: "random", digits, count: 10, seed });
      for (const [name, right] of Object.entries(found.right)) {
        if (right !== null) tally(name, digits, right, found.tried);
      }
      chart();
    } catch (error) {
      say(error);
      break;
    }
  }
  counting = false;
  showCounting();
}

function showCounting() {
  $("count").setAttribute("aria-pressed", String(counting));
  $("count").textContent = counting ? "Stop counting" : "Start counting";
  return true;
}

function forget() {
  for (const name of Object.keys(tallies)) delete tallies[name];
  chart();
}

// Beginning

async function begin() {
  readAddress();
  try {
    const found = await api("models");
    models = Object.fromEntries(found.models.map((model) => [model.name, model]));
    const { digits, numbers, multiplier } = found.limits;
    $("limits").textContent =
      `Up to ${numbers} numbers of up to ${digits.toLocaleString("en")} digits, multipliers of up to ${multiplier} digits.`
      + " Operators: + − × ÷ by one digit, and ? to compare.";
    $("digits").max = digits;
    const options = () => found.models.map((model) =>
      make("option", { value: model.name }, `${model.name}${model.proven ? " (proven)" : ""}`));
    $("model").replaceChildren(...options());
    $("beside").replaceChildren(make("option", { value: "" }, "no other"), ...options());
    await solvePair();
  } catch (error) {
    say(error);
  }
}

// The models of the address; one that is not here is said, since another stands in its place.
async function solvePair() {
  const missing = [state.model, state.beside].filter((name) => name && !models[name]);
  if (models[state.model]) $("model").value = state.model;
  $("beside").value = models[state.beside] ? state.beside : "";
  await solve(true);
  if (missing.length) say(`There is no model '${missing.join("', '")}' here: digitwise demo takes folders of runs.`);
}

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  solve();
});
for (const id of ["model", "beside"]) $(id).addEventListener("change", () => solve());
for (const button of document.querySelectorAll("[data-how]")) {
  button.addEventListener("click", () => draw(button.dataset.how));
}
$("operator").addEventListener("change", offer);
$("count").addEventListener("click", count);
$("forget").addEventListener("click", forget);
addEventListener("hashchange", () => {
  readAddress();
  solvePair();
});
offer();
begin();
