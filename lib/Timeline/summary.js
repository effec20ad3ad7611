// The page's data, its summary, its legend. Stands in page.html ahead of view.js.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
// Fields of spans, as the compiler writes them.
const START = 0, END = 1, KIND = 2, NAME = 3, CHUNK = 4, MICROBATCH = 5, SOURCE = 6, BYTES = 7, CAUSE = 8, LANE = 9;
const kinds = data.kinds, categories = data.categories, texts = data.texts;
const isCall = kind => kind <= kinds.indexOf("recompute");
const SEND = kinds.indexOf("send"), COLLECTIVE = kinds.indexOf("collective");
const GUTTER = 150, AXIS = 24, WORK = 22, LANE_HEIGHT = 9, MEMORY = 40, PAD = 8;

//===-- Numbers in words ------------------------------------------------------------------------===
function formatTime(ns, unitOf = ns) {
  const [scale, unit] = Math.abs(unitOf) >= 1e9 ? [1e9, "s"] : Math.abs(unitOf) >= 1e6 ? [1e6, "ms"]
    : Math.abs(unitOf) >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  return +(ns / scale).toPrecision(4) + " " + unit;
}
function formatBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return (unit ? bytes.toFixed(bytes < 100 ? 1 : 0) : bytes) + " " + units[unit];
}
const formatShare = share => (100 * share).toFixed(1) + " %";
const inWords = name => name.replace("_", " ");
const sum = point => point.slice(1).reduce((a, b) => a + b, 0);
const nameOf = rank => rank.stage < 0 ? "all ranks" : "stage " + rank.stage;

//===-- Preparation -----------------------------------------------------------------------------===
for (const rank of data.ranks) {
  rank.peak = rank.memory.reduce((most, point) => sum(point) > sum(most) ? point : most);
  const chunks = [...new Set(rank.work.filter(s => s[CHUNK] >= 0).map(s => s[CHUNK]))].sort((a, b) => a - b);
  rank.shade = new Map(chunks.map((chunk, i) => [chunk, 1 - 0.5 * i / Math.max(1, chunks.length - 1) * (chunks.length > 1)]));
  // Calls of one chunk and microbatch that follow one another, for their label.
  rank.groups = [];
  for (const span of rank.work) {
    const last = rank.groups[rank.groups.length - 1], length = span[END] - span[START];
    if (!isCall(span[KIND])) continue;
    if (last && last.kind === span[KIND] && last.chunk === span[CHUNK] && last.microbatch === span[MICROBATCH] &&
        span[START] - last.end < length)
      last.end = span[END];
    else
      rank.groups.push({start: span[START], end: span[END], kind: span[KIND], chunk: span[CHUNK], microbatch: span[MICROBATCH]});
  }
  rank.byLane = rank.lanes.map(() => []);
  rank.communications.forEach(span => rank.byLane[span[LANE]].push(span));
  // Messages, then collectives.
  const isOfStages = name => / stage /.test(name);
  rank.laneOrder = rank.lanes.map((_, lane) => lane).sort((a, b) => isOfStages(rank.lanes[b]) - isOfStages(rank.lanes[a])
    || rank.lanes[a].localeCompare(rank.lanes[b], "en", {numeric: true}));
  for (const lane of rank.byLane) lane.sort((a, b) => a[START] - b[START]);
  // Categories of memory one upon another.
  rank.levels = categories.map((_, category) => rank.memory.map(
    point => point.slice(1, category + 2).reduce((a, b) => a + b, 0)));
}
const mostBytes = Math.max(1, ...data.ranks.map(rank => sum(rank.peak)));
const used = new Set();
for (const rank of data.ranks)
  for (const span of [...rank.work, ...rank.communications]) used.add(span[KIND]);

//===-- Summary ---------------------------------------------------------------------------------===
function add(parent, tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  parent.appendChild(element);
  return element;
}
const hasStages = data.ranks[0].stage >= 0;
document.title = data.title + " – timeline";
byId("title").textContent = data.title;
const facts = [["predicted step", formatTime(data.makespan)]];
if (hasStages)
  facts.push(["stages", data.ranks.length], ["schedule", data.schedule], ["idle", formatShare(data.idleShare)],
             ["in flight, at most", Math.max(...data.ranks.map(rank => rank.inFlight))]);
facts.push(["peak memory of a rank", formatBytes(mostBytes)],
           ["waits between calls, at most", formatTime(Math.max(...data.ranks.map(r => r.transferWaitNs + r.collectiveWaitNs)))]);
for (const [name, value] of facts) {
  const fact = add(byId("facts"), "div");
  add(fact, "dt", name);
  add(fact, "dd", value);
}
const heads = [hasStages ? "stage" : "rank", "work", "of it waits in calls", "waits for transfers", "waits for collectives", "idle",
               "in flight", "peak memory"];
heads.forEach(head => add(byId("table").tHead?.rows[0] ?? byId("table").createTHead().insertRow(), "th", head));
for (const rank of data.ranks) {
  const row = (byId("table").tBodies[0] ?? byId("table").createTBody()).insertRow();
  for (const cell of [hasStages ? rank.stage : "all", formatTime(rank.workNs), formatTime(rank.callWaitNs),
                      formatTime(rank.transferWaitNs), formatTime(rank.collectiveWaitNs), null, rank.inFlight,
                      formatBytes(sum(rank.peak))]) {
    const td = row.insertCell();
    if (cell === null) {
      add(td, "span", undefined, "bar").style.width = 80 * rank.idleShare + "px";
      td.append(formatShare(rank.idleShare));
    } else {
      td.textContent = cell;
    }
  }
}
byId("ranks").open = data.ranks.length <= 4;

//===-- Legend and what is shown ----------------------------------------------------------------===
const shows = {communication: data.ranks.length <= 8, memory: true};
const tools = byId("tools");
function addKey(name, label) {
  const key = add(tools, "span", undefined, "key");
  add(key, "i").style.background = `var(--${name})`;
  key.append(inWords(label ?? name));
}
kinds.forEach((kind, i) => used.has(i) && addKey(kind));
add(tools, "span", "", "gap");
for (const what of Object.keys(shows)) {
  const label = add(tools, "label"), box = add(label, "input");
  box.type = "checkbox";
  box.checked = shows[what];
  box.onchange = () => { shows[what] = box.checked; layOut(); };
  label.append(what);
}
for (const [text, action] of [["−", () => zoom(1 / 1.5)], ["+", () => zoom(1.5)], ["all", () => showAll()]])
  add(tools, "button", text).onclick = action;
const memoryKeys = add(tools, "span", undefined, "key");
memoryKeys.style.flexBasis = "100%";
memoryKeys.append("memory:");
categories.forEach(name => {
  if (!data.ranks.some(rank => rank.memory.some(point => point[1 + categories.indexOf(name)] > 0))) return;
  add(memoryKeys, "i").style.background = `var(--${name})`;
  memoryKeys.append(name);
  memoryKeys.lastElementChild.style.marginLeft = "8px";
});
