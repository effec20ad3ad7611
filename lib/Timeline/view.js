// The lanes of the page: what lies where, drawing, pointer and keys. Stands in page.html behind summary.js.
//===-- View ------------------------------------------------------------------------------------===
const view = byId("view"), axis = byId("axis"), main = byId("main"), tip = byId("tip");
let from = 0, to = data.makespan, width = 0, height = 0, rows = [], followed = -1, hovered = null, colors = {}, pending = false;

function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of [...kinds, ...categories, "ink", "muted", "line", "row", "panel", "on-span"])
    colors[name] = style.getPropertyValue("--" + name).trim();
}
/// What lies where, from top to bottom.
function layOut() {
  rows = [];
  let y = PAD / 2;
  data.ranks.forEach((rank, index) => {
    const top = y;
    rows.push({type: "work", rank, index, y, height: WORK});
    y += WORK + 2;
    if (shows.communication)
      for (const lane of rank.laneOrder) {
        rows.push({type: "lane", rank, index, lane, name: rank.lanes[lane], y, height: LANE_HEIGHT});
        y += LANE_HEIGHT + 1;
      }
    if (shows.memory) {
      rows.push({type: "memory", rank, index, y: y + 2, height: MEMORY});
      y += MEMORY + 2;
    }
    y += PAD;
    rank.top = top;
    rank.bottom = y - PAD;
  });
  height = y;
  resize();
}
function resize() {
  width = view.clientWidth;
  for (const [canvas, h] of [[axis, AXIS], [main, height]]) {
    canvas.width = width * devicePixelRatio;
    canvas.height = h * devicePixelRatio;
    canvas.style.width = width + "px";
    canvas.style.height = h + "px";
  }
  redraw();
}
const toX = time => GUTTER + (time - from) / (to - from) * (width - GUTTER - 10);
const toTime = x => from + (x - GUTTER) / (width - GUTTER - 10) * (to - from);

function show(start, end) {
  const span = Math.min(Math.max(end - start, 20), data.makespan * 1.02);
  from = Math.max(-0.01 * data.makespan, Math.min(start, data.makespan * 1.01 - span));
  to = from + span;
  redraw();
}
const showAll = () => show(0, data.makespan);
function zoom(factor, x = (GUTTER + width) / 2) {
  const time = toTime(x);
  show(time - (time - from) / factor, time + (to - time) / factor);
}
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; drawAxis(); draw(); });
}

function drawAxis() {
  const g = axis.getContext("2d");
  g.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  g.clearRect(0, 0, width, AXIS);
  g.font = "11px system-ui, sans-serif";
  g.fillStyle = colors.muted;
  g.textBaseline = "middle";
  for (const time of ticks()) {
    g.fillRect(toX(time), AXIS - 6, 1, 6);
    g.fillText(formatTime(time, Math.max(Math.abs(from), to)), toX(time) + 4, AXIS / 2);
  }
}
function ticks() {
  const rough = (to - from) / Math.max(2, (width - GUTTER) / 110), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough), list = [];
  for (let time = Math.max(0, Math.ceil(from / step) * step); time <= Math.min(to, data.makespan); time += step) list.push(time);
  return list;
}

/// The first of spans in order of time that ends behind `time`.
function findFirst(spans, time) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle][END] < time) low = middle + 1; else high = middle;
  }
  return low;
}
/// Spans too narrow to be seen are drawn together.
function drawSpans(g, spans, y, h, alphaOf, colorOf) {
  let lastX = -1;
  for (let i = findFirst(spans, from); i < spans.length && spans[i][START] < to; ++i) {
    const span = spans[i], x = Math.max(GUTTER, toX(span[START])), end = toX(span[END]);
    if (end < lastX + 0.4) continue;
    const w = Math.max(end - x - (end - x > 3 ? 0.6 : 0), 0.8);
    g.globalAlpha = alphaOf(span);
    g.fillStyle = colorOf(span);
    g.fillRect(x, y, w, h);
    lastX = x + w;
  }
  g.globalAlpha = 1;
}
const fades = span => followed >= 0 && span[MICROBATCH] !== followed;

function drawWork(g, row) {
  const {rank, y} = row;
  // What waits is low, in the color of what it waits for.
  drawSpans(g, rank.waits, y + WORK / 2 - 2, 4, wait => wait[3] ? 0 : 0.45,
            wait => colors[kinds[rank.communications[wait[2]][KIND]]]);
  drawSpans(g, rank.work, y, WORK, span => (fades(span) ? 0.15 : 1) * (rank.shade.get(span[CHUNK]) ?? 1),
            span => colors[kinds[span[KIND]]]);
  drawSpans(g, rank.waits, y + WORK - 5, 3, wait => wait[3] ? 0.9 : 0, wait => colors["on-span"]);
  g.font = "11px system-ui, sans-serif";
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (const group of rank.groups) {
    if (group.end < from || group.start > to || followed >= 0 && group.microbatch !== followed) continue;
    const x = Math.max(toX(group.start), GUTTER), end = Math.min(toX(group.end), width);
    const text = group.microbatch >= 0 ? String(group.microbatch) : "";
    if (!text || end - x < 6 + 7 * text.length) continue;
    g.fillStyle = (rank.shade.get(group.chunk) ?? 1) < 0.8 ? colors.ink : colors["on-span"];
    g.fillText(text, (x + end) / 2, y + WORK / 2);
  }
  g.textAlign = "left";
}
/// The last point of a curve at or before `time`.
function findPoint(points, time) {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= time) low = middle + 1; else high = middle;
  }
  return Math.max(0, low - 1);
}
/// The curve of one level over the visible time; of the points that fall on one pixel the highest counts.
function traceLevel(g, points, level, left, right, toY) {
  let column = left, highest = 0, latest = 0;
  const flush = () => { g.lineTo(column, toY(highest)); g.lineTo(column, toY(latest)); };
  g.moveTo(left, toY(0));
  for (let i = findPoint(points, from); i < points.length && points[i][0] <= to; ++i) {
    const x = Math.min(Math.max(left, toX(points[i][0])), right);
    if (x - column >= 0.7) {
      flush();
      g.lineTo(x, toY(latest));
      column = x;
      highest = 0;
    }
    latest = level[i];
    highest = Math.max(highest, latest);
  }
  flush();
  g.lineTo(right, toY(latest));
  g.lineTo(right, toY(0));
}
function drawMemory(g, row) {
  const {rank, y} = row, left = Math.max(GUTTER, toX(0)), right = Math.max(left, Math.min(width, toX(data.makespan)));
  g.fillStyle = colors.row;
  g.fillRect(left, y, right - left, MEMORY);
  for (let category = categories.length - 1; category >= 0; --category) {
    g.beginPath();
    traceLevel(g, rank.memory, rank.levels[category], left, right, bytes => y + MEMORY - bytes / mostBytes * (MEMORY - 2));
    g.fillStyle = colors[categories[category]];
    g.fill();
  }
}
function drawLane(g, row) {
  g.fillStyle = colors.row;
  g.fillRect(GUTTER, row.y, width - GUTTER, LANE_HEIGHT);
  drawSpans(g, row.rank.byLane[row.lane], row.y, LANE_HEIGHT, span => fades(span) ? 0.15 : 1, span => colors[kinds[span[KIND]]]);
}
function drawLabels(g) {
  g.fillStyle = colors.panel;
  g.fillRect(0, 0, GUTTER - 1, height);
  g.textBaseline = "middle";
  const write = (text, x, y, color, font, align) => {
    g.fillStyle = color;
    g.font = font + " system-ui, sans-serif";
    g.textAlign = align;
    g.fillText(text, x, y);
  };
  for (const row of rows) {
    if (row.type === "work") {
      write(nameOf(row.rank), 12, row.y + WORK / 2, colors.ink, "600 12px", "left");
      write("idle " + formatShare(row.rank.idleShare), GUTTER - 10, row.y + WORK / 2, colors.muted, "10px", "right");
    } else if (row.type === "lane") {
      write(row.name, GUTTER - 10, row.y + LANE_HEIGHT / 2 + 0.5, colors.muted, "9px", "right");
    } else {
      write("peak", GUTTER - 10, row.y + 11, colors.muted, "10px", "right");
      write(formatBytes(sum(row.rank.peak)), GUTTER - 10, row.y + 25, colors.muted, "10px", "right");
    }
  }
  g.textAlign = "left";
}
/// Arrows from sends to receives: those under the pointer and those of the microbatch that is followed.
function drawMessages(g) {
  const laneRow = (rank, span) => rows.find(row => row.type === "lane" && row.index === rank && row.lane === span[LANE])
    ?? rows.find(row => row.type === "work" && row.index === rank);
  g.strokeStyle = g.fillStyle = colors.ink;
  data.ranks.forEach((rank, index) => {
    for (const [send, peer, receive] of rank.messages) {
      const span = rank.communications[send], other = data.ranks[peer].communications[receive];
      const isHovered = hovered && (hovered.span === span || hovered.span === other);
      if (!isHovered && (followed < 0 || span[MICROBATCH] !== followed) || span[END] < from || span[START] > to) continue;
      const a = laneRow(index, span), b = laneRow(peer, other), down = b.y > a.y;
      const x = toX(span[START]), y = a.y + (down ? a.height : 0), endX = toX(other[END]), endY = b.y + (down ? 0 : b.height);
      g.lineWidth = isHovered ? 1.6 : 0.9;
      g.beginPath();
      g.moveTo(x, y);
      g.bezierCurveTo(x, (y + endY) / 2, endX, (y + endY) / 2, endX, endY);
      g.stroke();
      g.beginPath();
      g.moveTo(endX, endY);
      g.lineTo(endX - 3, endY + (down ? -6 : 6));
      g.lineTo(endX + 3, endY + (down ? -6 : 6));
      g.fill();
    }
  });
}
function draw() {
  const g = main.getContext("2d");
  g.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.fillStyle = colors.line;
  g.globalAlpha = 0.6;
  for (const time of ticks()) g.fillRect(toX(time), 0, 1, height);
  g.globalAlpha = 1;
  const top = view.scrollTop - AXIS, bottom = view.scrollTop + view.clientHeight;
  for (const row of rows) {
    if (row.y + row.height < top || row.y > bottom) continue;
    if (row.type === "work") drawWork(g, row);
    else if (row.type === "lane") drawLane(g, row);
    else drawMemory(g, row);
  }
  for (const rank of data.ranks.slice(1)) {
    g.fillStyle = colors.line;
    g.fillRect(0, rank.top - PAD / 2 - 1, width, 1);
  }
  if (hovered?.span) {
    const {row, span} = hovered, x = Math.max(GUTTER, toX(span[START]));
    g.strokeStyle = colors.ink;
    g.lineWidth = 1.5;
    g.strokeRect(x, row.y, Math.max(2, toX(span[END]) - x), row.height);
  }
  drawMessages(g);
  drawLabels(g);
}

//===-- Pointer and keys ------------------------------------------------------------------------===
/// What lies under a place: the span, or, of memory, the last point before.
function find(x, y) {
  const row = rows.find(row => y >= row.y && y < row.y + row.height), time = toTime(x);
  if (!row || x < GUTTER) return null;
  if (row.type === "memory")
    return time < 0 || time > data.makespan ? null : {row, point: row.rank.memory[findPoint(row.rank.memory, time)]};
  const slack = (to - from) / width, spans = row.type === "work" ? row.rank.work : row.rank.byLane[row.lane];
  const span = spans[findFirst(spans, time - slack)];
  if (span && span[START] <= time + slack) return {row, span};
  if (row.type !== "work") return null;
  const waits = row.rank.waits.filter(wait => !wait[3]), wait = waits[findFirst(waits, time)];
  return wait && wait[START] <= time ? {row, wait} : null;
}
function describe(found) {
  tip.textContent = "";
  const title = add(tip, "b"), line = text => add(tip, "div", text);
  if (found.point) {
    title.textContent = formatBytes(sum(found.point)) + " on " + nameOf(found.row.rank);
    categories.forEach((name, i) => found.point[1 + i] && line(name + ": " + formatBytes(found.point[1 + i])));
    return;
  }
  const {row, wait} = found, span = found.span ?? row.rank.communications[wait[2]], kind = inWords(kinds[span[KIND]]);
  const isCommunication = span.length > LANE;
  title.textContent = (wait ? "waits for " : "") + texts[span[NAME]] + (isCommunication && !wait ? "" : ` (${kind})`);
  line(nameOf(row.rank) + (isCommunication ? ", " + row.rank.lanes[span[LANE]] : "")
       + (span[CHUNK] >= 0 ? ", chunk " + span[CHUNK] : "") + (span[MICROBATCH] >= 0 ? ", microbatch " + span[MICROBATCH] : ""));
  const [start, end] = wait ?? span;
  line(`${formatTime(end - start)}, from ${formatTime(start)} to ${formatTime(end)}`);
  if (isCommunication && span[BYTES]) line(formatBytes(span[BYTES]));
  if (isCommunication && !wait) {
    const index = row.rank.communications.indexOf(span);
    line("waited for " + formatTime(row.rank.waits.reduce((ns, w) => ns + (w[2] === index ? w[END] - w[START] : 0), 0)));
  }
  if (texts[span[SOURCE]] && texts[span[SOURCE]] !== "here") line(texts[span[SOURCE]]);
  if (isCommunication && texts[span[CAUSE]]) line(texts[span[CAUSE]].split("; ")[0]);
  if (!wait && !isCommunication) {
    const waited = row.rank.waits.reduce((ns, w) => ns + (w[3] && w[START] >= start && w[END] <= end ? w[END] - w[START] : 0), 0);
    if (waited) line(`waits ${formatTime(waited)} of it for collectives`);
  }
}
let drag = null;
main.onpointerdown = event => {
  drag = {x: event.clientX, from, to, moved: false};
  main.setPointerCapture(event.pointerId);
};
main.onpointermove = event => {
  if (drag) {
    const shift = (event.clientX - drag.x) / (width - GUTTER - 10) * (drag.to - drag.from);
    drag.moved ||= Math.abs(event.clientX - drag.x) > 3;
    if (drag.moved) show(drag.from - shift, drag.to - shift);
  }
  const before = hovered?.span, found = drag?.moved ? null : find(event.offsetX, event.offsetY);
  hovered = found;
  if (found) {
    describe(found);
    tip.style.display = "block";
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    const above = event.clientY + 18 + tip.offsetHeight > innerHeight;
    tip.style.top = (above ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + "px";
  } else {
    tip.style.display = "none";
  }
  if (before !== hovered?.span) redraw();
};
main.onpointerup = event => {
  if (drag && !drag.moved) {
    const microbatch = find(event.offsetX, event.offsetY)?.span?.[MICROBATCH] ?? -1;
    followed = microbatch === followed ? -1 : microbatch;
    redraw();
  }
  drag = null;
};
main.onpointerleave = () => { hovered = null; tip.style.display = "none"; redraw(); };
main.ondblclick = event => {
  const span = find(event.offsetX, event.offsetY)?.span;
  if (span) show(span[START] - (span[END] - span[START]), span[END] + (span[END] - span[START]));
};
view.addEventListener("wheel", event => {
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), event.clientX);
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    const shift = (event.deltaX || event.deltaY) / width * (to - from);
    show(from + shift, to + shift);
  }
}, {passive: false});
addEventListener("keydown", event => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = (to - from) / 6;
  const actions = {"+": () => zoom(1.5), "=": () => zoom(1.5), w: () => zoom(1.5), "-": () => zoom(1 / 1.5), s: () => zoom(1 / 1.5),
    a: () => show(from - step, to - step), d: () => show(from + step, to + step), ArrowLeft: () => show(from - step, to - step),
    ArrowRight: () => show(from + step, to + step), 0: showAll, Escape: () => { followed = -1; redraw(); }};
  actions[event.key]?.();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); redraw(); });
view.addEventListener("scroll", redraw, {passive: true});
new ResizeObserver(resize).observe(view);
readColors();
layOut();
