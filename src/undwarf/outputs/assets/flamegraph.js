"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const unpack = (text) => {
    const raw = atob(text);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes.buffer;
  };
  const numbers = (text) => new Uint32Array(unpack(text));
  const NONE = 0xffffffff;
  const group = numbers(data.count_group), endsIn = numbers(data.count_node), count = numbers(data.count);
  const weight = new Float64Array(unpack(data.weight));
  // Node 0 is the whole; the recorded tree follows, each number one higher.
  const plain = rooted(numbers(data.parent), numbers(data.entity));
  let tree = plain;
  // Zoomed is a function, and where `rest` is not -1, only those of its callees from that one on.
  let inverted = false, fromBottom = false, zoom = 0, rest = -1, selected = -1, matches = null, within = null, matchedNames = null;
  let total, own, samples, order, first, next, depthOf, deepest, unit;
  // Boxes narrower than NARROW are drawn as one, if that is at least LEAST wide.
  const MERGED = data.kinds.length;
  const ROW = 19, NARROW = 2, LEAST = 0.6;
  const canvas = $("canvas"), scroll = $("scroll"), space = $("space"), hover = $("hover");
  const pen = canvas.getContext("2d");
  let drawn = [];
  // Okabe and Ito's colours, told apart with any kind of colour vision; patterns say the same without colour.
  const palette = {
    light: ["#56b4e9", "#7fc8a9", "#e69f00", "#cc79a7", "#c9ccd0", "#f0e442", "#e4e5e7"],
    dark: ["#2f7fb3", "#2a7d5f", "#a86f00", "#94517a", "#5d6369", "#7a7010", "#34383c"],
  };

  function rooted(parents, entities) {
    const n = parents.length + 1;
    const parent = new Uint32Array(n), entity = new Uint32Array(n);
    parent[0] = NONE; entity[0] = NONE;
    for (let i = 1; i < n; i++) {
      parent[i] = parents[i - 1] === NONE ? 0 : parents[i - 1] + 1;
      entity[i] = entities[i - 1];
    }
    return { parent, entity };
  }

  const nameOf = (node) => (tree.entity[node] === NONE ? "all" : data.name[tree.entity[node]]);
  const dsoOf = (node) => (tree.entity[node] === NONE ? "" : data.dso[tree.entity[node]]);
  const share = (part, whole) => (whole ? (100 * part / whole).toFixed(2) + " %" : "0 %");
  const dark = () => document.documentElement.dataset.theme === "dark";

  const graph = () => data.graphs[Number($("event").value) || 0];

  function amount(value, of) {
    // What a weight is, for people: times in the unit that suits them, else a number of what was counted.
    const digits = (number) => number.toLocaleString("en", { maximumSignificantDigits: 4 });
    if (of === "ns") {
      const [size, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([least]) => value >= least) || [1, "ns"];
      return digits(value / size) + " " + name;
    }
    const [size, name] = [[1e12, " T"], [1e9, " G"], [1e6, " M"]].find(([least]) => value >= least) || [1, ""];
    return (name ? digits(value / size) + name : value.toLocaleString("en")) + " " + of;
  }

  function ownWeights() {
    // What ends in each node of the recorded tree: [its weight, its number of samples].
    const events = new Set(graph() ? graph().events : []), thread = $("thread").value;
    const chosen = data.groups.map(([name, number]) => events.has(number) && (thread === "" || name === thread));
    const counts = new Float64Array(plain.parent.length), found = new Float64Array(plain.parent.length);
    for (let i = 0; i < count.length; i++) {
      if (!chosen[group[i]]) continue;
      const node = endsIn[i] === NONE ? 0 : endsIn[i] + 1;
      counts[node] += count[i];
      found[node] += weight[i];
    }
    return [unit === "samples" ? counts : found, counts];
  }

  function invertedTree(weights, counts) {
    // Each hot function is a root, its callers stand under it; built breadth by breadth so that parents come first.
    const parent = [NONE], entity = [NONE], known = new Map(), sums = [0], ended = [0];
    const limit = 2000000;
    let steps = 0;
    for (let i = 1; i < weights.length && steps < limit; i++) {
      if (!counts[i]) continue;
      let at = 0, node = i;
      while (node !== 0 && node !== NONE && steps++ < limit) {
        const key = at * 16777216 + plain.entity[node];
        let child = known.get(key);
        if (child === undefined) {
          child = parent.length;
          known.set(key, child);
          parent.push(at); entity.push(plain.entity[node]); sums.push(0); ended.push(0);
        }
        at = child;
        node = plain.parent[node];
      }
      sums[at] += weights[i];
      ended[at] += counts[i];
    }
    sums[0] = weights[0]; ended[0] = counts[0];
    return { parent: Uint32Array.from(parent), entity: Uint32Array.from(entity), own: Float64Array.from(sums), ended: Float64Array.from(ended) };
  }

  function build() {
    const units = $("unit"), of = graph() ? graph().unit : "samples";
    if (units.dataset.of !== of) {
      units.textContent = "";
      for (const one of new Set(data.sums ? [of] : [of, "samples"])) units.append(new Option(one === "ns" ? "time" : one, one));
      units.dataset.of = of;
      units.parentElement.hidden = units.length < 2;
      if (data.by === "samples") units.value = "samples";
    }
    unit = units.value;
    let [weights, counts] = ownWeights();
    if (inverted) {
      const made = invertedTree(weights, counts);
      tree = made; weights = made.own; counts = made.ended;
    } else tree = plain;
    own = weights;
    const n = tree.parent.length;
    total = Float64Array.from(own);
    samples = Float64Array.from(counts);
    for (let i = n - 1; i > 0; i--) { total[tree.parent[i]] += total[i]; samples[tree.parent[i]] += samples[i]; }
    depthOf = new Uint16Array(n);
    deepest = 0;
    for (let i = 1; i < n; i++) {
      depthOf[i] = depthOf[tree.parent[i]] + 1;
      if (total[i] && depthOf[i] > deepest) deepest = depthOf[i];
    }
    // The heaviest of siblings comes first, equally heavy ones by name.
    const rank = new Uint32Array(data.name.length);
    [...data.name.keys()].sort((a, b) => (data.name[a] < data.name[b] ? -1 : data.name[a] > data.name[b] ? 1 : a - b)).forEach((number, place) => { rank[number] = place; });
    order = Uint32Array.from({ length: n - 1 }, (_, i) => i + 1).filter((i) => total[i] > 0);
    order.sort((a, b) => total[a] - total[b] || rank[tree.entity[b]] - rank[tree.entity[a]]);
    first = new Int32Array(n).fill(-1);
    next = new Int32Array(n).fill(-1);
    for (const node of order) { next[node] = first[tree.parent[node]]; first[tree.parent[node]] = node; }
    zoom = 0; rest = -1; selected = -1;
    match($("search").value);
    fillTable();
    layout();
  }

  function match(text) {
    matches = null; matchedNames = null;
    $("search").classList.remove("bad");
    $("matched").textContent = "";
    if (text) {
      let test;
      try { const pattern = new RegExp(text, "i"); test = (name) => pattern.test(name); }
      catch { const lower = text.toLowerCase(); test = (name) => name.toLowerCase().includes(lower); $("search").classList.add("bad"); }
      matchedNames = data.name.map((name, i) => test(name) || test(data.dso[i]));
      matches = new Uint8Array(tree.parent.length);
      let sum = 0;
      for (let i = 1; i < matches.length; i++) {
        const above = matches[tree.parent[i]] > 0;
        const here = matchedNames[tree.entity[i]];
        if (here && !above) sum += total[i];
        matches[i] = here ? 2 : above ? 1 : 0;
      }
      // Whether a function matches that is called further in.
      within = new Uint8Array(matches.length);
      for (let i = matches.length - 1; i > 0; i--) if (matches[i] || within[i]) within[tree.parent[i]] = 1;
      $("matched").textContent = share(sum, total[0]) + " matched";
    }
  }

  function ancestors(node) {
    const found = [];
    while (node !== NONE) { found.push(node); node = tree.parent[node]; }
    return found.reverse();
  }

  function layout() {
    space.style.height = Math.max((deepest + 1) * ROW + 2, scroll.clientHeight) + "px";
    if (fromBottom) scroll.scrollTop = scroll.scrollHeight;
    const path = $("path");
    path.textContent = "";
    if (zoom || rest !== -1) {
      for (const node of ancestors(zoom)) {
        const button = document.createElement("button");
        button.textContent = nameOf(node);
        button.addEventListener("click", () => zoomTo(node));
        path.append(button, " › ");
      }
      if (rest !== -1) path.append("its narrow callees");
      else path.lastChild.remove();
    }
    draw();
  }

  function colour(kind, name) {
    const base = palette[dark() ? "dark" : "light"][kind];
    let hash = 0;
    for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
    const shift = (hash % 17) - 8;
    const part = (at) => Math.max(0, Math.min(255, parseInt(base.slice(at, at + 2), 16) + shift));
    return `rgb(${part(1)},${part(3)},${part(5)})`;
  }
  const colours = new Map();
  const colourOf = (entity) => {
    const key = entity + (dark() ? "d" : "l");
    let found = colours.get(key);
    if (!found) { found = colour(data.kind[entity], data.name[entity]); colours.set(key, found); }
    return found;
  };

  const patterns = new Map();
  function patternOf(kind) {
    const key = kind + (dark() ? "d" : "l");
    if (patterns.has(key)) return patterns.get(key);
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const brush = tile.getContext("2d");
    brush.strokeStyle = brush.fillStyle = dark() ? "#ffffff2e" : "#0000002b";
    if (kind === 2) { brush.beginPath(); for (const x of [-8, 0, 8]) { brush.moveTo(x, 8); brush.lineTo(x + 8, 0); } brush.stroke(); }
    else if (kind === 4) { brush.fillRect(1, 1, 2, 2); brush.fillRect(5, 5, 2, 2); }
    else if (kind === 3) { brush.fillRect(0, 6, 8, 1); brush.fillRect(0, 2, 8, 1); }
    else if (kind === 5) { brush.fillRect(2, 0, 1, 8); brush.fillRect(6, 0, 1, 8); }
    else if (kind === MERGED) { brush.fillRect(0, 0, 1, 8); brush.fillRect(4, 0, 1, 8); brush.fillRect(0, 0, 8, 1); brush.fillRect(0, 4, 8, 1); }
    const made = kind >= 2 ? pen.createPattern(tile, "repeat") : null;
    patterns.set(key, made);
    return made;
  }

  let wait = 0;
  function draw() { if (!wait) wait = requestAnimationFrame(paint); }

  function paint() {
    wait = 0;
    const width = scroll.clientWidth, height = scroll.clientHeight, ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
      canvas.style.height = height + "px";
    }
    const style = getComputedStyle(document.documentElement);
    const text = style.getPropertyValue("--text"), back = style.getPropertyValue("--back");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = back;
    pen.fillRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    drawn = [];
    const top = scroll.scrollTop, full = Math.max((deepest + 1) * ROW + 2, height);
    const rowY = (depth) => (fromBottom ? full - (depth + 1) * ROW - 1 : depth * ROW + 1) - top;
    const box = (node, x, w) => {
      const y = rowY(depthOf[node]);
      if (y + ROW < 0 || y > height) return;
      drawn.push({ node, x, y, w, from: -1 });
      const entity = tree.entity[node];
      const dimmed = matches && !matches[node];
      pen.globalAlpha = dimmed ? 0.35 : 1;
      pen.fillStyle = entity === NONE ? style.getPropertyValue("--line") : colourOf(entity);
      pen.fillRect(x, y, Math.max(w - 0.6, 0.4), ROW - 1);
      if (entity !== NONE && w > 3) {
        const pattern = patternOf(data.kind[entity]);
        if (pattern) { pen.fillStyle = pattern; pen.fillRect(x, y, w - 0.6, ROW - 1); }
      }
      if (matches && matches[node] === 2) { pen.strokeStyle = text; pen.lineWidth = 1.4; pen.strokeRect(x + 0.7, y + 0.7, Math.max(w - 2, 0.5), ROW - 2.4); }
      if (node === selected) { pen.strokeStyle = style.getPropertyValue("--accent"); pen.lineWidth = 2.4; pen.strokeRect(x + 1.2, y + 1.2, Math.max(w - 3, 1), ROW - 3.4); }
      if (w > 26) {
        pen.fillStyle = text;
        const label = node ? nameOf(node) : `all: ${measured(total[0], samples[0])}`;
        const room = Math.floor((w - 8) / 6.2);
        let shown = label.length > room * 1.3 ? label.slice(0, Math.max(1, Math.floor(room * 1.3))) : label;
        if (pen.measureText(shown).width > w - 8) {
          let low = 0, high = shown.length;
          while (low < high) { const middle = (low + high + 1) >> 1; if (pen.measureText(shown.slice(0, middle) + "…").width <= w - 8) low = middle; else high = middle - 1; }
          shown = low ? shown.slice(0, low) + "…" : "";
        } else if (shown.length < label.length) shown = shown.slice(0, -1) + "…";
        if (shown) pen.fillText(shown, x + 4, y + ROW / 2);
      }
      pen.globalAlpha = 1;
    };
    const merged = (from, x, w) => {
      // All siblings from the first narrow one on as one hatched box, which a click spreads out.
      const y = rowY(depthOf[from]);
      if (y + ROW < 0 || y > height) return;
      drawn.push({ node: tree.parent[from], x, y, w, from });
      let found = !matches;
      for (let child = from; !found && child !== -1; child = next[child]) found = matches[child] > 0 || within[child] > 0;
      pen.globalAlpha = found ? 1 : 0.35;
      for (const fill of [palette[dark() ? "dark" : "light"][MERGED], patternOf(MERGED)]) {
        pen.fillStyle = fill;
        pen.fillRect(x, y, Math.max(w - 0.6, 0.4), ROW - 1);
      }
      pen.globalAlpha = 1;
    };
    for (const node of ancestors(zoom).slice(0, rest === -1 ? -1 : undefined)) box(node, 0, width);
    let scale = total[zoom] ? width / total[zoom] : 0;
    const stack = rest === -1 ? [[zoom, 0]] : [];
    const spread = (from, x) => {
      let at = x;
      for (let child = from; child !== -1; child = next[child]) {
        const part = total[child] * scale;
        if (part < NARROW) {
          const w = weightFrom(child) * scale;
          if (w >= LEAST) merged(child, at, w);
          return;
        }
        stack.push([child, at]);
        at += part;
      }
    };
    if (rest !== -1) { scale = width / weightFrom(rest); spread(rest, 0); }
    while (stack.length) {
      const [node, x] = stack.pop();
      box(node, x, total[node] * scale);
      spread(first[node], x);
    }
    canvas.dataset.merged = drawn.filter((one) => one.from !== -1).length;
    canvas.dataset.drawn = drawn.length;
  }

  function at(event) {
    const bounds = canvas.getBoundingClientRect();
    const x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    return drawn.findLast(({ x: left, y: upper, w }) => x >= left && x < left + w && y >= upper && y < upper + ROW);
  }

  function siblingsFrom(from) {
    const found = [];
    for (let child = from; child !== -1; child = next[child]) found.push(child);
    return found;
  }
  const weightFrom = (from) => siblingsFrom(from).reduce((sum, child) => sum + total[child], 0);

  const many = (number) => number.toLocaleString("en") + (number === 1 ? " sample" : " samples");

  function measured(weight, ended) {
    if (data.sums) return amount(weight, unit);
    return (unit === "samples" ? "" : amount(weight, unit) + ", ") + many(ended);
  }
  const measuredOfAll = (weight, ended) => `${measured(weight, ended)}, ${share(weight, total[0])} of all`;

  function lines(node) {
    const found = [measuredOfAll(total[node], samples[node])];
    if (tree.parent[node] !== NONE) found.push(`${share(total[node], total[tree.parent[node]])} of its ${inverted ? "callee" : "caller"}`);
    if (own[node]) found.push(`${unit === "samples" ? own[node].toLocaleString("en") : amount(own[node], unit)} ${inverted ? "begin" : "end"} here`);
    return found;
  }

  function mergedLines(from) {
    const nodes = siblingsFrom(from);
    const heaviest = nodes.slice(0, 5).map(nameOf).join(", ") + (nodes.length > 5 ? ", …" : "");
    const ended = nodes.reduce((sum, child) => sum + samples[child], 0);
    return [measuredOfAll(weightFrom(from), ended), heaviest, "too narrow to be drawn apart: a click spreads them out"];
  }
  const mergedName = (from) => { const found = siblingsFrom(from).length; return found === 1 ? "1 narrow function" : `${found.toLocaleString("en")} narrow functions`; };

  function describe(node) {
    $("detail").textContent = node < 0 ? "" : `${nameOf(node)}${dsoOf(node) ? " (" + dsoOf(node) + ")" : ""}: ${lines(node).join(", ")}`;
  }

  function zoomTo(node, from = -1) {
    zoom = node; rest = from; selected = node;
    describe(node);
    layout();
    const y = fromBottom ? scroll.scrollHeight - (depthOf[node] + 1) * ROW : depthOf[node] * ROW;
    if (y < scroll.scrollTop || y > scroll.scrollTop + scroll.clientHeight - ROW) scroll.scrollTop = y - scroll.clientHeight / 2;
  }

  function select(node) {
    if (node < 0) return;
    selected = node;
    describe(node);
    const y = fromBottom ? scroll.scrollHeight - (depthOf[node] + 1) * ROW : depthOf[node] * ROW;
    if (y < scroll.scrollTop || y > scroll.scrollTop + scroll.clientHeight - 2 * ROW) scroll.scrollTop = y - scroll.clientHeight / 2;
    draw();
  }

  function siblings(step) {
    const row = drawn.filter(({ node, from }) => from === -1 && depthOf[node] === depthOf[selected]).sort((a, b) => a.x - b.x);
    const place = row.findIndex(({ node }) => node === selected);
    return place < 0 || !row[place + step] ? -1 : row[place + step].node;
  }

  // The heaviest callee comes first.
  const widestChild = (node) => first[node];

  function fillTable() {
    const selfBy = new Map(), allBy = new Map(), seen = new Int32Array(data.name.length).fill(-1);
    const plainOwn = inverted ? ownWeights()[0] : own;
    for (let i = 1; i < plain.parent.length; i++) {
      if (!plainOwn[i]) continue;
      selfBy.set(plain.entity[i], (selfBy.get(plain.entity[i]) || 0) + plainOwn[i]);
      for (let node = i; node; node = plain.parent[node]) {
        const entity = plain.entity[node];
        if (seen[entity] === i) continue;
        seen[entity] = i;
        allBy.set(entity, (allBy.get(entity) || 0) + plainOwn[i]);
      }
    }
    const body = $("table").tBodies[0];
    body.textContent = "";
    const rows = [...selfBy.entries()].sort((a, b) => b[1] - a[1]).slice(0, 100);
    for (const [entity, value] of rows) {
      const row = body.insertRow();
      for (const cell of [share(value, total[0]), share(allBy.get(entity), total[0]), data.name[entity], data.dso[entity]]) row.insertCell().textContent = cell;
    }
  }

  canvas.addEventListener("mousemove", (event) => {
    const box = at(event);
    canvas.style.cursor = box ? "pointer" : "default";
    hover.hidden = !box;
    if (!box) return;
    const { node, from } = box;
    hover.textContent = "";
    const head = document.createElement("b");
    head.textContent = from === -1 ? nameOf(node) : mergedName(from);
    hover.append(head);
    for (const line of from === -1 ? [dsoOf(node), ...lines(node)] : mergedLines(from)) if (line) { const part = document.createElement("div"); part.textContent = line; hover.append(part); }
    const bounds = hover.getBoundingClientRect();
    hover.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - bounds.width - 8)) + "px";
    hover.style.top = (event.clientY + 18 + bounds.height > innerHeight ? event.clientY - bounds.height - 10 : event.clientY + 18) + "px";
  });
  canvas.addEventListener("mouseleave", () => { hover.hidden = true; });
  canvas.addEventListener("click", (event) => { const box = at(event); if (box) zoomTo(box.node, box.from); });
  scroll.addEventListener("scroll", draw);
  new ResizeObserver(() => layout()).observe(scroll);
  $("search").addEventListener("input", (event) => { match(event.target.value); draw(); });
  const zoomOut = () => zoomTo(zoom && rest === -1 ? tree.parent[zoom] : zoom);
  $("out").addEventListener("click", zoomOut);
  $("reset").addEventListener("click", () => { $("search").value = ""; match(""); zoomTo(0); });
  const turn = () => { fromBottom = !fromBottom; $("turn").setAttribute("aria-pressed", fromBottom); scroll.scrollTop = fromBottom ? scroll.scrollHeight : 0; layout(); };
  const invert = () => { inverted = !inverted; $("invert").setAttribute("aria-pressed", inverted); build(); };
  const theme = () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; legend(); draw(); };
  const help = () => { if (!$("help").open) $("help").showModal(); };
  $("turn").addEventListener("click", turn);
  $("invert").addEventListener("click", invert);
  $("theme").addEventListener("click", theme);
  $("help-button").addEventListener("click", help);
  $("event").addEventListener("change", build);
  $("unit").addEventListener("change", build);
  $("thread").addEventListener("change", build);
  addEventListener("keydown", (event) => {
    const typing = event.target.tagName === "INPUT" || event.target.tagName === "SELECT";
    if ((event.ctrlKey || event.metaKey) && event.key === "f") { event.preventDefault(); $("search").focus(); return; }
    if (event.key === "Escape") {
      if ($("search").value) { $("search").value = ""; match(""); draw(); } else { selected = -1; describe(-1); draw(); }
      scroll.focus();
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || $("help").open || event.target.closest("button, summary")) return;
    const up = fromBottom ? "ArrowDown" : "ArrowUp", down = fromBottom ? "ArrowUp" : "ArrowDown";
    const actions = {
      "/": () => $("search").focus(), "?": help, i: turn, v: invert, t: theme, 0: () => zoomTo(0), Backspace: zoomOut,
      Enter: () => { if (selected >= 0) zoomTo(selected); },
      [up]: () => select(selected < 0 ? zoom : tree.parent[selected] === NONE ? selected : tree.parent[selected]),
      [down]: () => select(selected < 0 ? zoom : widestChild(selected)),
      ArrowLeft: () => select(siblings(-1)), ArrowRight: () => select(siblings(1)),
    };
    const action = actions[event.key];
    if (action) { event.preventDefault(); action(); }
  });

  function legend() {
    const box = $("legend");
    box.textContent = "";
    [...data.kinds, "narrow ones, merged"].forEach((kind, number) => {
      if (number !== MERGED && !data.kind.includes(number)) return;
      const item = document.createElement("span"), chip = document.createElement("canvas");
      chip.width = 36; chip.height = 24;
      const brush = chip.getContext("2d");
      brush.fillStyle = palette[dark() ? "dark" : "light"][number];
      brush.fillRect(0, 0, 36, 24);
      const pattern = patternOf(number);
      if (pattern) { brush.fillStyle = pattern; brush.fillRect(0, 0, 36, 24); }
      item.append(chip, kind);
      box.append(item);
    });
  }

  function start() {
    document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    document.title = data.title + " - undwarf";
    $("title").textContent = data.title;
    const choose = (box, values) => {
      for (const [name, value] of values) box.append(new Option(name, value));
      box.parentElement.hidden = values.length < 2;
    };
    // Only what has one unit is added up: each entry is a graph of its own.
    choose($("event"), data.graphs.map(({ name, unit: of }, i) => [name + (of === "ns" ? " (time)" : of === "samples" ? " (samples)" : ""), i]));
    const threads = [...new Set(data.groups.map(([name]) => name))].sort();
    choose($("thread"), threads.length < 2 ? [["all", ""]] : [["all", ""], ...threads.map((name) => [name, name])]);
    const whole = data.whole;
    let said = `${(100 * whole.share).toFixed(1)} % of ${whole.unwound.toLocaleString("en")} user stacks are whole`;
    if (whole.inferred) said += `; ${share(whole.inferred, whole.unwound)}: with callers inferred from other dumps of the thread`;
    if (whole.share < 0.999 && whole.gaps.length) said += `; ${share(whole.gaps[0][0], whole.unwound)}: ${whole.gaps[0][1]} (${whole.gaps[0][2]})` + (whole.gaps[0][3] ? `. ${whole.gaps[0][3]}` : "");
    if (whole.other) said = `${whole.other}: nothing says if stacks are whole`;
    $("whole").textContent = whole.unwound || whole.other ? said : "no sample has a user stack";
    $("whole").classList.toggle("partial", whole.share < 0.95);
    legend();
    build();
    scroll.focus({ preventScroll: true });
    document.body.dataset.ready = "yes";
  }
  start();
})();
