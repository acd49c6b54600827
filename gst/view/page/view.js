// SPDX-License-Identifier: MIT
// The page: messages of the server (view-encode.c), what the person does, and words.

import { Scene } from "./scene.js";

const STATUS = [
  ["no localizer", [0.6, 0.65, 0.7]],
  ["initializing", [0.4, 0.7, 1]],
  ["tracking", [0.3, 0.9, 0.4]],
  ["degraded", [1, 0.75, 0.2]],
  ["lost", [1, 0.3, 0.3]],
  ["skipped", [0.8, 0.6, 1]],
];
// Numbers of GstPoseReason.
const REASON = ["", "bad fit", "no map here", "no start", "weak overlap", "stale prediction", "too late",
  "degenerate", "ambiguous", "implausible motion", "too few points"];
const KIND_MAP = 1, KIND_SCAN = 2, KIND_STEPS = 3;
const HAS_POSE = 1, HAS_COVARIANCE = 2, HAS_INTENSITY = 4, HAS_RING = 8, HAS_RESIDUAL = 16;
const MAX_STEPS = 50000;

const $ = id => document.getElementById(id);
const scene = new Scene($("scene"));
const history = [];   // of { nvtl, matched, status }
let steps = [];       // six numbers each: place and colour
let last = null;      // newest scan
let paused = false, follow = true, setting = false, drag = null, dirty = true, socket = null;
let noteTimer = 0, nScans = 0;

const css = ([r, g, b]) => `rgb(${r * 255}, ${g * 255}, ${b * 255})`;

function note(text) {
  $("note").textContent = text;
  clearTimeout(noteTimer);
  noteTimer = setTimeout(() => { $("note").textContent = ""; }, 8000);
}

// Messages

function readMap(view, data) {
  const n = view.getUint32(4, true);
  if (view.getUint32(8, true) === 0)
    scene.clearMap();
  scene.addMap({
    xyz: new Int16Array(data, 48, 3 * n),
    origin: [16, 24, 32].map(at => view.getFloat64(at, true)),
    scale: view.getFloat64(40, true),
  });
  document.body.dataset.mapPoints = scene.chunks.reduce((sum, chunk) => sum + chunk.n, 0);
}

function readScan(view, data) {
  const n = view.getUint32(4, true), flags = view.getUint32(8, true);
  const numbers = (at, count) => Array.from({ length: count }, (_, i) => view.getFloat64(at + 8 * i, true));
  let at = 160 + 6 * n;
  const bytes = has => has ? new Uint8Array(data, (at += n) - n, n) : null;
  const scan = {
    status: view.getUint32(12, true) & 0xff, reason: view.getUint32(12, true) >>> 8, seconds: view.getFloat64(16, true), sequence: view.getFloat64(24, true),
    position: flags & HAS_POSE ? numbers(32, 3) : null, orientation: numbers(56, 4),
    covariance: flags & HAS_COVARIANCE ? numbers(88, 5) : null,
    nvtl: view.getFloat64(128, true), matched: view.getFloat64(136, true), iterations: view.getFloat64(144, true),
    scale: view.getFloat64(152, true), xyz: new Int16Array(data, 160, 3 * n),
  };
  scan.intensity = bytes(flags & HAS_INTENSITY);
  scan.ring = bytes(flags & HAS_RING);
  scan.residual = bytes(flags & HAS_RESIDUAL);
  return scan;
}

function addStep(position, status) {
  steps.push(...scene.local(position), ...(STATUS[status] || STATUS[0])[1]);
  if (steps.length > 6 * MAX_STEPS)
    steps = steps.slice(-3 * MAX_STEPS);
}

function readSteps(view) {
  const n = view.getUint32(4, true);
  steps = [];
  for (let i = 0, at = 8; i < n; i++, at += 32)
    addStep([0, 8, 16].map(o => view.getFloat64(at + o, true)), view.getFloat64(at + 24, true));
  scene.setLines("steps", steps);
}

// 95 % of a normal distribution of two dimensions lie within 2.45 deviations.
function ellipse(scan) {
  if (!scan.position || !scan.covariance)
    return [];
  const [xx, xy, yy] = scan.covariance, mean = (xx + yy) / 2, difference = Math.hypot((xx - yy) / 2, xy);
  const major = 2.45 * Math.sqrt(Math.max(mean + difference, 0)), minor = 2.45 * Math.sqrt(Math.max(mean - difference, 0));
  const angle = Math.atan2(2 * xy, xx - yy) / 2, c = Math.cos(angle), s = Math.sin(angle);
  const [x, y, z] = scene.local(scan.position), corners = [];
  for (let i = 0; i <= 48; i++) {
    const a = Math.cos(i * Math.PI / 24) * major, b = Math.sin(i * Math.PI / 24) * minor;
    corners.push(x + c * a - s * b, y + s * a + c * b, z, 1, 1, 1);
  }
  return corners;
}

function heading([x, y, z, w]) {
  return Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z));
}

function arrow([x, y, z], yaw, length, color) {
  const tip = [x + length * Math.cos(yaw), y + length * Math.sin(yaw), z], side = a =>
    [tip[0] + 0.3 * length * Math.cos(a), tip[1] + 0.3 * length * Math.sin(a), z];
  return [[x, y, z], tip, tip, side(yaw + 2.7), tip, side(yaw - 2.7)].flatMap(p => [...p, ...color]);
}

function show(scan) {
  const [word, color] = STATUS[scan.status] || STATUS[0];
  last = scan;
  scene.setScan(scan);
  history.push({ nvtl: scan.nvtl, matched: scan.matched, color });
  if (history.length > 300)
    history.shift();
  if (scan.position) {
    addStep(scan.position, scan.status);
    scene.setLines("steps", steps);
    const place = scene.local(scan.position);
    scene.setLines("body", arrow(place, heading(scan.orientation), 3, color), false);
    if (follow)
      scene.target = place;
    $("position").textContent = scan.position.map(v => v.toFixed(2)).join("  ") + " m";
    $("heading").textContent = (heading(scan.orientation) * 180 / Math.PI).toFixed(1) + "°";
  }
  scene.setLines("ellipse", ellipse(scan));
  const reason = REASON[scan.reason] || "";
  $("word").textContent = reason ? `${word}: ${reason}` : word;
  $("word").style.color = css(color);
  $("deviation").textContent = scan.covariance
    ? `${Math.sqrt(Math.max(scan.covariance[0], scan.covariance[2], 0)).toFixed(3)} m  ` +
      `${(Math.sqrt(Math.max(scan.covariance[4], 0)) * 180 / Math.PI).toFixed(2)}°` : "–";
  $("score").textContent = scan.nvtl ? `${scan.nvtl.toFixed(2)}  (${scan.iterations} iterations)` : "–";
  $("matched").textContent = scan.nvtl ? `${(100 * scan.matched).toFixed(0)} %` : "–";
  $("scan").textContent = `${scan.sequence}  ${isNaN(scan.seconds) ? "" : scan.seconds.toFixed(1) + " s"}  ${scan.xyz.length / 3} points`;
  Object.assign(document.body.dataset, { scans: ++nScans, status: word, reason, points: scan.xyz.length / 3 });
}

function chart() {
  const context = $("chart").getContext("2d"), { width, height } = $("chart");
  const top = Math.max(1, ...history.map(h => h.nvtl));
  context.clearRect(0, 0, width, height);
  history.forEach((h, i) => {
    context.fillStyle = css(h.color);
    context.fillRect(i * width / 300, height - 4, width / 300 + 0.5, 4);
  });
  for (const [key, scale, color] of [["nvtl", top, "#5aa7ff"], ["matched", 1, "#ffb347"]]) {
    context.strokeStyle = color;
    context.beginPath();
    history.forEach((h, i) => context.lineTo(i * width / 300, (height - 8) * (1 - h[key] / scale) + 2));
    context.stroke();
  }
}

function receive(event) {
  if (typeof event.data === "string") {
    const message = JSON.parse(event.data);
    if (message.hello)
      $("set").hidden = !message.hello.control;
    if (message.refused !== undefined)
      note("The pose was refused: " + message.refused);
    if (message.accepted !== undefined)
      note("The pose is used.");
    document.body.dataset.answer = message.refused !== undefined ? "refused" : message.accepted !== undefined ? "accepted" : "";
    return;
  }
  const view = new DataView(event.data), kind = view.getUint32(0, true);
  if (kind === KIND_MAP)
    readMap(view, event.data);
  else if (kind === KIND_STEPS)
    readSteps(view);
  else if (kind === KIND_SCAN && !paused)
    show(readScan(view, event.data));
  dirty = true;
  // The server sends the next when this one is drawn: what is slow here is thinned there.
  const from = event.target;
  requestAnimationFrame(() => { if (from.readyState === WebSocket.OPEN) from.send("ack"); });
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/${location.search}`, "ndt.view.v1");
  socket.binaryType = "arraybuffer";
  socket.onmessage = receive;
  socket.onopen = () => { $("word").textContent = "waiting for a scan"; };
  socket.onclose = () => {
    $("word").textContent = "not connected";
    $("word").style.color = "";
    setTimeout(connect, 1000);
  };
}

// What a person does

const level = () => last && last.position ? scene.local(last.position)[2] : scene.target[2];
const pointers = new Map();

function press(id, on) {
  $(id).setAttribute("aria-pressed", on);
  dirty = true;
}

function move(dx, dy) {
  const [right, up] = scene.axes(), rate = scene.distance * 0.9 / scene.canvas.clientHeight;
  follow = false;
  press("follow", false);
  // Along the ground: what is up on the page is away from the person.
  const away = [up[0] - scene.axes()[2][0], up[1] - scene.axes()[2][1]], length = Math.hypot(...away) || 1;
  for (let i = 0; i < 2; i++)
    scene.target[i] += (-dx * right[i] + dy * away[i] / length) * rate;
}

function zoom(factor) {
  scene.distance = Math.min(Math.max(scene.distance * factor, 2), 5000);
  dirty = true;
}

scene.canvas.addEventListener("pointerdown", event => {
  scene.canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, [event.clientX, event.clientY]);
  if (setting && pointers.size === 1)
    drag = { from: scene.pick(event.clientX, event.clientY, level()), yaw: last && last.position ? heading(last.orientation) : 0 };
});
scene.canvas.addEventListener("pointermove", event => {
  const before = pointers.get(event.pointerId);
  if (!before)
    return;
  const dx = event.clientX - before[0], dy = event.clientY - before[1];
  if (drag && drag.from) {
    const to = scene.pick(event.clientX, event.clientY, level());
    if (to && Math.hypot(to[0] - drag.from[0], to[1] - drag.from[1]) > 0.02 * scene.distance)
      drag.yaw = Math.atan2(to[1] - drag.from[1], to[0] - drag.from[0]);
    scene.setLines("wanted", arrow(drag.from, drag.yaw, 0.12 * scene.distance, [1, 1, 0.3]), false);
  } else if (pointers.size === 2) {
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
    const distance = at => Math.hypot(at[0] - other[0], at[1] - other[1]);
    zoom(distance(before) / Math.max(distance([event.clientX, event.clientY]), 1));
    move(dx / 2, dy / 2);
  } else if (event.buttons & 2 || event.shiftKey) {
    move(dx, dy);
  } else {
    scene.yaw -= dx * 0.006;
    scene.pitch = Math.min(Math.max(scene.pitch + dy * 0.006, 0.05), Math.PI / 2 - 0.001);
  }
  pointers.set(event.pointerId, [event.clientX, event.clientY]);
  dirty = true;
});

function release(event) {
  pointers.delete(event.pointerId);
  if (!drag || event.type === "pointercancel")
    return;
  if (drag.from) {
    const [x, y, z] = drag.from.map((v, i) => v + scene.origin[i]);
    socket.send(JSON.stringify({ pose: [x, y, z, drag.yaw * 180 / Math.PI] }));
  }
  drag = null;
  setting = false;
  press("set", false);
  scene.setLines("wanted", []);
}
scene.canvas.addEventListener("pointerup", release);
scene.canvas.addEventListener("pointercancel", release);
scene.canvas.addEventListener("contextmenu", event => event.preventDefault());
scene.canvas.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(event.deltaY * 0.001));
}, { passive: false });

$("follow").onclick = () => press("follow", follow = !follow);
$("pause").onclick = () => press("pause", paused = !paused);
$("map").onclick = () => press("map", scene.showMap = !scene.showMap);
$("set").onclick = () => {
  press("set", setting = !setting);
  if (setting)
    note("Press where the sensor is, and drag to where it looks.");
};
$("top").onclick = () => {
  scene.pitch = Math.PI / 2 - 0.001;
  scene.yaw = -Math.PI / 2;
  dirty = true;
};
$("color").onchange = () => {
  scene.mode = Number($("color").value);
  dirty = true;
};
window.addEventListener("resize", () => { dirty = true; });

function frame() {
  if (dirty) {
    dirty = false;
    scene.draw();
    chart();
  }
  requestAnimationFrame(frame);
}

// For tests, which look where something should be.
window.viewScene = scene;
connect();
frame();
