// SPDX-License-Identifier: MIT
// What is drawn: map, scan, lines; and from where it is seen. WebGL 1, no libraries.

const POINTS = `
attribute vec3 place; attribute float intensity; attribute float ring; attribute float residual;
uniform mat4 model, view; uniform float scale, size, mode; uniform vec2 heights; uniform float dim;
varying vec3 shade;
vec3 ramp(float t) {
  t = clamp(t, 0.0, 1.0) * 4.0;
  vec3 c = mix(vec3(0.28, 0.14, 0.50), vec3(0.23, 0.32, 0.80), clamp(t, 0.0, 1.0));
  c = mix(c, vec3(0.13, 0.66, 0.65), clamp(t - 1.0, 0.0, 1.0));
  c = mix(c, vec3(0.48, 0.85, 0.35), clamp(t - 2.0, 0.0, 1.0));
  return mix(c, vec3(0.99, 0.91, 0.14), clamp(t - 3.0, 0.0, 1.0));
}
void main() {
  vec4 p = model * vec4(place * scale, 1.0);
  float t = mode < 0.5 ? (p.z - heights.x) / (heights.y - heights.x)
          : mode < 1.5 ? intensity / 255.0 : mode < 2.5 ? mod(ring, 32.0) / 31.0 : residual / 255.0;
  shade = ramp(t) * dim;
  gl_Position = view * p;
  gl_PointSize = size;
}`;
const LINES = `
attribute vec3 place; attribute vec3 color; uniform mat4 view; varying vec3 shade;
void main() { shade = color; gl_Position = view * vec4(place, 1.0); gl_PointSize = 4.0; }`;
const FRAGMENT = `
precision mediump float; varying vec3 shade;
void main() { gl_FragColor = vec4(shade, 1.0); }`;

const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

function multiply(a, b) {
  const out = new Array(16);
  for (let c = 0; c < 4; c++)
    for (let r = 0; r < 4; r++)
      out[4 * c + r] = a[r] * b[4 * c] + a[4 + r] * b[4 * c + 1] + a[8 + r] * b[4 * c + 2] + a[12 + r] * b[4 * c + 3];
  return out;
}

export function poseMatrix(position, [x, y, z, w]) {
  return [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), 0,
    2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), 0,
    2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y), 0, ...position, 1];
}

export class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    // The drawing stays, so that a picture of the page has it.
    this.gl = canvas.getContext("webgl", { antialias: true, preserveDrawingBuffer: true });
    if (!this.gl)
      throw new Error("this browser has no WebGL");
    this.points = this.program(POINTS);
    this.lines = this.program(LINES);
    this.origin = null;      // metres of the map, subtracted before floats are made
    this.target = [0, 0, 0]; // what the camera looks at, from the origin
    this.distance = 60;
    this.yaw = -Math.PI / 2; // where the camera is, seen from the target
    this.pitch = 0.7;
    this.chunks = [];
    this.scan = null;
    this.lineSets = new Map();
    this.mode = 0;
    this.showMap = true;
    this.heights = [-2, 10];
  }

  program(vertex) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS))
        throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    return program;
  }

  local(position) {
    if (!this.origin)
      this.origin = position.map(Math.round);
    return position.map((v, i) => v - this.origin[i]);
  }

  buffer(data, usage) {
    const gl = this.gl, buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, usage);
    return buffer;
  }

  clearMap() {
    for (const chunk of this.chunks)
      this.gl.deleteBuffer(chunk.buffer);
    this.chunks = [];
  }

  addMap({ xyz, scale, origin }) {
    const at = this.local(origin), heights = [];
    for (let i = 0; i < xyz.length; i += 300)
      heights.push(xyz[i + 2] * scale + at[2]);
    heights.sort((a, b) => a - b);
    this.heights = [heights[Math.floor(heights.length / 50)],
      heights[Math.floor(heights.length * 0.98)] + 0.1];
    this.chunks.push({ n: xyz.length / 3, scale, at, buffer: this.buffer(xyz, this.gl.STATIC_DRAW) });
  }

  setScan({ xyz, scale, intensity, ring, residual, position, orientation }) {
    const gl = this.gl;
    for (const key of ["places", "intensity", "ring", "residual"])
      if (this.scan && this.scan[key])
        gl.deleteBuffer(this.scan[key]);
    this.scan = {
      n: xyz.length / 3, scale, places: this.buffer(xyz, gl.STREAM_DRAW),
      intensity: intensity && this.buffer(intensity, gl.STREAM_DRAW),
      ring: ring && this.buffer(ring, gl.STREAM_DRAW),
      residual: residual && this.buffer(residual, gl.STREAM_DRAW),
      model: position ? poseMatrix(this.local(position), orientation) : poseMatrix(this.target, [0, 0, 0, 1]),
    };
  }

  // Six numbers a corner: place from the origin and colour.
  setLines(name, corners, strip = true) {
    const before = this.lineSets.get(name);
    if (before)
      this.gl.deleteBuffer(before.buffer);
    this.lineSets.set(name, { n: corners.length / 6, strip,
      buffer: this.buffer(new Float32Array(corners), this.gl.DYNAMIC_DRAW) });
  }

  eye() {
    const flat = Math.cos(this.pitch) * this.distance;
    return [this.target[0] + Math.cos(this.yaw) * flat, this.target[1] + Math.sin(this.yaw) * flat,
      this.target[2] + Math.sin(this.pitch) * this.distance];
  }

  // Right, up and back of the camera, as rows.
  axes() {
    const cy = Math.cos(this.yaw), sy = Math.sin(this.yaw), cp = Math.cos(this.pitch), sp = Math.sin(this.pitch);
    return [[-sy, cy, 0], [-cy * sp, -sy * sp, cp], [cy * cp, sy * cp, sp]];
  }

  matrix() {
    const aspect = this.canvas.width / this.canvas.height, f = 1 / Math.tan(0.45);
    const near = this.distance / 100, far = this.distance * 50 + 500, eye = this.eye(), rows = this.axes();
    const look = [...[0, 1, 2].flatMap(i => [rows[0][i], rows[1][i], rows[2][i], 0]),
      ...rows.map(r => -(r[0] * eye[0] + r[1] * eye[1] + r[2] * eye[2])), 1];
    const lens = [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1,
      0, 0, 2 * far * near / (near - far), 0];
    return multiply(lens, look);
  }

  // Where on a level the pixel lies, from the origin; null: above the horizon.
  pick(x, y, z) {
    const f = Math.tan(0.45), rect = this.canvas.getBoundingClientRect();
    const h = (2 * (x - rect.left) / rect.width - 1) * f * rect.width / rect.height;
    const v = (1 - 2 * (y - rect.top) / rect.height) * f;
    const rows = this.axes(), eye = this.eye();
    const ray = [0, 1, 2].map(i => rows[0][i] * h + rows[1][i] * v - rows[2][i]);
    const t = (z - eye[2]) / ray[2];
    return t > 0 && isFinite(t) ? [eye[0] + t * ray[0], eye[1] + t * ray[1], z] : null;
  }

  // Where on the page a place is, for tests and for labels.
  project(place) {
    const m = this.matrix(), [x, y, z] = place, rect = this.canvas.getBoundingClientRect();
    const w = m[3] * x + m[7] * y + m[11] * z + m[15];
    return [rect.left + rect.width * (1 + (m[0] * x + m[4] * y + m[8] * z + m[12]) / w) / 2,
      rect.top + rect.height * (1 - (m[1] * x + m[5] * y + m[9] * z + m[13]) / w) / 2];
  }

  attribute(program, name, buffer, size, type) {
    const gl = this.gl, at = gl.getAttribLocation(program, name);
    if (at < 0)
      return;
    if (!buffer) {
      gl.disableVertexAttribArray(at);
      gl.vertexAttrib1f(at, 128);
      return;
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, type, false, 0, 0);
  }

  drawPoints(cloud, places, model, mode, size, dim, view) {
    const gl = this.gl, p = this.points, u = name => gl.getUniformLocation(p, name);
    gl.useProgram(p);
    gl.uniformMatrix4fv(u("view"), false, view);
    gl.uniformMatrix4fv(u("model"), false, model);
    gl.uniform1f(u("scale"), cloud.scale);
    gl.uniform1f(u("size"), size);
    gl.uniform1f(u("mode"), mode);
    gl.uniform1f(u("dim"), dim);
    gl.uniform2f(u("heights"), ...this.heights);
    this.attribute(p, "place", places, 3, gl.SHORT);
    this.attribute(p, "intensity", cloud.intensity, 1, gl.UNSIGNED_BYTE);
    this.attribute(p, "ring", cloud.ring, 1, gl.UNSIGNED_BYTE);
    this.attribute(p, "residual", cloud.residual, 1, gl.UNSIGNED_BYTE);
    gl.drawArrays(gl.POINTS, 0, cloud.n);
  }

  draw() {
    const gl = this.gl, ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.canvas.clientWidth * ratio), height = Math.round(this.canvas.clientHeight * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height)
      [this.canvas.width, this.canvas.height] = [width, height];
    gl.viewport(0, 0, width, height);
    gl.clearColor(0.067, 0.082, 0.106, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    const view = this.matrix();
    if (this.showMap)
      for (const chunk of this.chunks) {
        const model = IDENTITY.slice();
        [model[12], model[13], model[14]] = chunk.at;
        this.drawPoints(chunk, chunk.buffer, model, 0, 2 * ratio, 0.75, view);
      }
    if (this.scan)
      this.drawPoints(this.scan, this.scan.places, this.scan.model, this.mode, 3.5 * ratio, 1, view);
    gl.useProgram(this.lines);
    gl.uniformMatrix4fv(gl.getUniformLocation(this.lines, "view"), false, view);
    gl.disable(gl.DEPTH_TEST);
    for (const set of this.lineSets.values()) {
      gl.bindBuffer(gl.ARRAY_BUFFER, set.buffer);
      for (const [name, offset] of [["place", 0], ["color", 12]]) {
        const at = gl.getAttribLocation(this.lines, name);
        gl.enableVertexAttribArray(at);
        gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 24, offset);
      }
      gl.drawArrays(set.strip ? gl.LINE_STRIP : gl.LINES, 0, set.n);
    }
  }
}
