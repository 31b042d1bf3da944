// The figures of some results, on the axes of all: the same as figures.py and svg.py.
const drawFigures = (section, type, {losses, unfit, counted, attempted, rows, entries}, data) => {
  const WIDTH = 480, HEIGHT = 330, LEFT = 58, RIGHT = 12, TOP = 14, BOTTOM = 46;
  const SMALLEST = 1e-12, LARGEST = 1e6;
  const middle = (values) => {
    const sorted = Float64Array.from(values).sort(), half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  const quartiles = (values) => {
    const sorted = Float64Array.from(values).sort(), n = sorted.length;
    return [sorted[n >> 2], sorted[Math.min(n - 1, Math.floor(3 * n / 4))]];
  };
  const wilson = (p, n) => {
    const z = 1.959963984540054, centre = p + z * z / (2 * n);
    const half = z * Math.sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    return [-1, 1].map((sign) => Math.min(1, Math.max(0, (centre + sign * half) / (1 + z * z / n))));
  };
  const clip = (x, log) => Number.isFinite(x) ? Math.min(LARGEST, Math.max(log ? SMALLEST : -LARGEST, x)) : x;
  const axis = (text) => {
    if (!text) return null;
    const [low, high, log] = text.split(" ").map(Number), scale = log ? Math.log10 : (x) => x;
    const at = (x) => (scale(log ? Math.max(x, low) : x) - scale(low)) / (scale(high) - scale(low));
    return {log: Boolean(log), place: (x) => Math.min(1, Math.max(0, at(x)))};
  };
  const primary = type.specs[0], t = type;
  const number = new Map(data.methods.map(([name], m) => [name, m]));

  // The results of each method by the values of a column, gathered once.
  const gathered = new Map();
  const placed = (column) => {
    if (gathered.has(column)) return gathered.get(column);
    const found = new Map();
    for (const i of entries) {
      if (!found.has(t.m[i])) found.set(t.m[i], new Map());
      const own = found.get(t.m[i]);
      if (!own.has(column[i])) own.set(column[i], []);
      own.get(column[i]).push(i);
    }
    gathered.set(column, found);
    return found;
  };
  // What a metric comes to for a method at a noise level.
  const ofNoise = (spec, m, snr) => {
    const scale = spec.aggregate === "share" ? 100 : 1, n = data.noise.indexOf(snr);
    let values;
    if (spec === primary) {
      values = [...(losses.get(m) ?? [])].filter(([id]) => !unfit.has(id)
        && id % data.noise.length === n)
        .map(([, loss]) => loss === Infinity ? spec.failed : spec.loss(loss)).filter((x) => x !== null);
    } else values = counted(spec, placed(t.n).get(m)?.get(n) ?? []).values;
    return values.map((x) => clip(scale * x, spec.scale === "log"));
  };
  const wall = t.a[data.columns.time.amount];
  const ofTime = (m, dim) => (placed(t.d).get(m)?.get(dim) ?? []).filter((i) => wall[i]
    && attempted(i)).map((i) => clip(wall[i], true));

  const SVG = section.querySelector("svg").namespaceURI;
  const path = (name, d, dash) => {
    const made = document.createElementNS(SVG, "path");
    made.setAttribute("class", name);
    made.setAttribute("d", d);
    if (dash) made.setAttribute("stroke-dasharray", dash);
    return made;
  };
  for (const svg of section.querySelectorAll("svg[data-figure]")) {
    const attributes = svg.dataset, top = Number(attributes.top), y = axis(attributes.y), x = axis(attributes.x);
    const places = attributes.places ? JSON.parse(attributes.places) : null;
    const bottom = HEIGHT - BOTTOM, width = Number(attributes.end ?? WIDTH - RIGHT) - LEFT;
    const atY = (value) => Number.isFinite(value) ? top + (bottom - top) * (1 - y.place(value)) : TOP + 10;
    const atX = (value) => LEFT + width * (x ? x.place(value) : (value + 0.5) / places.length);
    const spec = type.specs.find((each) => each.name === attributes.figure), byMean = attributes.mean === "1";
    const share = attributes.share === "1", sizes = (places ?? []).map(() => []);
    for (const group of svg.querySelectorAll("g[data-m]")) {
      const m = number.get(group.dataset.m), aside = Number(group.dataset.o), found = [], spreads = [];
      if (attributes.figure === "weighed") {
        const row = rows.find((each) => each.method === group.dataset.m);
        const k = type.specs.findIndex((each) => each.weighs);
        const size = row && row.values[k].value, score = row ? row.values[0].value : null;
        if (size && score !== null) found.push([atX(size), atY(clip(score, y.log))]);  // moved aside below
      } else places.forEach((place, n) => {
        const values = attributes.figure === "time" ? ofTime(m, place) : ofNoise(spec, m, place);
        if (!values.length) return;
        const at = atX(n) + aside;
        sizes[n].push(values.length);
        found.push([at, atY(byMean ? mean(values) : middle(values)), n]);
        if (share) spreads.push([at, ...wilson(mean(values) / 100, values.length).map((x) => atY(100 * x))]);
        else if (!byMean) spreads.push([at, ...quartiles(values).map(atY)]);
      });
      const mark = group.querySelector(":scope > circle, :scope > path:not([class])");
      const dash = group.querySelector(":scope > .line")?.getAttribute("stroke-dasharray");
      const [x0, y0] = group.dataset.p.split(" ").map(Number), fix = (value) => value.toFixed(1);
      const made = spreads.map(([at, low, high]) => path("spread", `M${fix(at)} ${fix(low)}V${fix(high)}`));
      const line = found.map(([px, py, n], k) => `${k && n === found[k - 1][2] + 1 ? "L" : "M"}${fix(px)} ${fix(py)}`);
      if (found.length > 1) made.push(path("line", line.join(""), dash));
      for (const [px, py] of found) {
        const sign = mark.cloneNode();
        sign.setAttribute("transform", `translate(${fix(px - x0)} ${fix(py - y0)})`);
        made.push(sign);
      }
      group.replaceChildren(group.firstElementChild, ...made);
      group.style.display = found.length ? "" : "none";
    }
    svg.querySelectorAll("tspan.count").forEach((count, n) => {
      const low = Math.min(...sizes[n]), high = Math.max(...sizes[n]);
      count.textContent = !sizes[n].length ? "" : low === high ? `n ${low}` : `n ${low}–${high}`;
    });
    // What was written and joined for all results would be wrong.
    for (const part of svg.querySelectorAll(":scope > .front, :scope > .halo, :scope > .lead, :scope > .split")) part.remove();
    if (attributes.figure === "weighed") besides(svg, primary, rows, path);
  }
};

// Marks that hide none, names that hide none, and the front of what no other method beats.
const besides = (svg, primary, rows, path) => {
  const SIZE = 4.5, WIDTH = 480, LINE = 13, TOP = 14, LOWEST = 330 - 46 - 4, LONGEST = 16;
  const marks = [], own = [], labels = [], end = Number(svg.dataset.end) + 14;
  const families = new Map(rows.map((row) => [row.method, row]));
  const shown = [...svg.querySelectorAll("g[data-m]")].filter((group) => group.style.display !== "none");
  for (const group of shown) {
    const sign = group.querySelector(":scope > [transform]");
    const [dx, y] = sign.getAttribute("transform").slice(10, -1).split(" ").map(Number);
    const [x0, y0] = group.dataset.p.split(" ").map(Number), at = [x0 + dx, y0 + y];
    let x = at[0];
    const step = x <= WIDTH / 2 ? 2 * SIZE : -2 * SIZE;
    while (marks.some(([ox, oy]) => Math.abs(x - ox) < SIZE && Math.abs(at[1] - oy) < SIZE)) x += step;
    marks.push([x, at[1], group.dataset.m]);
    sign.setAttribute("transform", `translate(${(x - x0).toFixed(1)} ${y.toFixed(1)})`);
    const {standing} = families.get(group.dataset.m);
    if (standing === "compared" && at[1] > 24) own.push(at);
    if (standing === "reference") labels.push(path("split", `M58 ${at[1].toFixed(1)}H${end - 14}`));
  }
  // Names on the right, apart, as many as there is space for.
  const named = marks.sort((a, b) => a[1] - b[1] || b[0] - a[0]).slice(0, Math.floor((LOWEST - TOP) / LINE) + 1);
  const heights = named.map(([, y]) => y);
  for (let i = 1; i < heights.length; i++) heights[i] = Math.max(heights[i], heights[i - 1] + LINE);
  for (let i = heights.length - 1; i >= 0; i--)
    heights[i] = Math.min(heights[i], i === heights.length - 1 ? LOWEST : heights[i + 1] - LINE);
  named.forEach(([x, y, name], i) => {
    labels.push(path("lead", `M${(x + SIZE).toFixed(1)} ${y.toFixed(1)}L${end} ${heights[i].toFixed(1)}h4`));
    const label = document.createElementNS(svg.namespaceURI, "text");
    label.setAttribute("class", "halo");
    label.setAttribute("x", end + 8);
    label.setAttribute("y", heights[i] + 4);
    label.textContent = name.length > LONGEST ? name.slice(0, LONGEST - 1) + "…" : name;
    labels.push(label);
  });
  // On the picture lower is better where lower scores are, else higher.
  const sign = primary.better === "higher" ? 1 : -1, front = [];
  own.sort((a, b) => a[0] - b[0] || sign * (a[1] - b[1]));
  for (const point of own) if (!front.length || sign * (point[1] - front.at(-1)[1]) < 0) front.push(point);
  const line = front.map(([x, y], k) => k ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`);
  const first = svg.querySelector("g[data-m]");
  for (const label of labels) first.before(label);
  if (front.length) first.before(path("front", line.join("")));
};

// Lines and columns of a heat map that are kept move together.
const drawHeat = (svg, isDim, isMethod) => {
  const {left, wide, head, tall} = Object.fromEntries(Object.entries(svg.dataset).map(([k, v]) => [k, Number(v)]));
  const shift = [];
  let kept = 0;
  [...svg.querySelectorAll(":scope > text")].forEach((text, j) => {
    text.dataset.t ??= text.getAttribute("transform");
    const keep = isMethod(text.dataset.m);
    shift[j] = keep ? (kept++ - j) * wide : null;
    text.style.display = keep ? "" : "none";
    text.setAttribute("transform", (keep ? `translate(${shift[j]} 0) ` : "") + text.dataset.t);
  });
  let lines = 0;
  [...svg.querySelectorAll(":scope > g")].forEach((row, i) => {
    const keep = isDim(row.dataset.d);
    row.style.display = keep ? "" : "none";
    if (!keep) return;
    row.setAttribute("transform", `translate(0 ${(lines++ - i) * tall})`);
    for (const cell of row.querySelectorAll(":scope > g")) {
      const j = Math.round((Number(cell.querySelector("text").getAttribute("x")) - left - wide / 2) / wide);
      cell.style.display = shift[j] === null ? "none" : "";
      if (shift[j] !== null) cell.setAttribute("transform", `translate(${shift[j]} 0)`);
    }
  });
  const size = [left + wide * kept + 40, head + tall * lines + 6];
  svg.setAttribute("viewBox", `0 0 ${size.join(" ")}`);
  svg.setAttribute("width", size[0]);
  svg.setAttribute("height", size[1]);
};
