// The figures of some results, on the axes of all: the same as figures.py and svg.py.
const drawFigures = (section, type, {losses, unfit, counted, rows, entries}, data) => {
  const WIDTH = 480, HEIGHT = 330, LEFT = 58, RIGHT = 12, TOP = 14, BOTTOM = 46;
  const SMALLEST = 1e-12, LARGEST = 1e6;
  const ascending = (a, b) => a === b ? 0 : a - b;
  const middle = (values) => {
    const sorted = [...values].sort(ascending), half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  const quartiles = (values) => {
    const sorted = [...values].sort(ascending), n = sorted.length;
    return [sorted[n >> 2], sorted[Math.min(n - 1, Math.floor(3 * n / 4))]];
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

  // What a metric comes to for a method at a noise level.
  const ofNoise = (spec, m, snr) => {
    const scale = spec.aggregate === "share" ? 100 : 1, n = data.noise.indexOf(snr);
    let values;
    if (spec === primary) {
      values = [...(losses.get(m) ?? [])].filter(([id]) => !unfit.has(id)
        && Math.floor(id / data.protocols.length) % data.noise.length === n)
        .map(([, loss]) => loss === Infinity ? spec.failed : spec.loss(loss)).filter((x) => x !== null);
    } else values = counted(spec, entries.filter((i) => t.m[i] === m && t.n[i] === n)).values;
    return values.map((x) => clip(scale * x, spec.scale === "log"));
  };
  const ofTime = (m, dim, attempted) => entries.filter((i) => t.m[i] === m && t.d[i] === dim && t.w[i]
    && attempted(i)).map((i) => t.w[i]).map((x) => clip(x, true));

  const SVG = section.querySelector("svg").namespaceURI;
  const path = (name, d, dash) => {
    const made = document.createElementNS(SVG, "path");
    made.setAttribute("class", name);
    made.setAttribute("d", d);
    if (dash) made.setAttribute("stroke-dasharray", dash);
    return made;
  };
  for (const svg of section.querySelectorAll("svg[data-figure]")) {
    const told = svg.dataset, top = Number(told.top), y = axis(told.y), x = axis(told.x);
    const places = told.places ? JSON.parse(told.places) : null;
    const bottom = HEIGHT - BOTTOM, width = WIDTH - RIGHT - LEFT;
    const atY = (value) => Number.isFinite(value) ? top + (bottom - top) * (1 - y.place(value)) : TOP + 10;
    const atX = (value) => LEFT + width * (x ? x.place(value) : (value + 0.5) / places.length);
    const spec = type.specs.find((each) => each.name === told.figure), byMean = told.mean === "1";
    for (const group of svg.querySelectorAll("g[data-m]")) {
      const m = number.get(group.dataset.m), aside = Number(group.dataset.o), found = [], spreads = [];
      if (told.figure === "weighed") {
        const row = rows.find((each) => each.name === group.dataset.m);
        const k = type.specs.findIndex((each) => each.weighs);
        const size = row && row.values[k].value, score = row ? row.values[0].value : null;
        if (size && score !== null) found.push([atX(size), atY(clip(score, y.log))]);
      } else places.forEach((place, n) => {
        const values = told.figure === "time" ? ofTime(m, place, counted.attempted) : ofNoise(spec, m, place);
        if (!values.length) return;
        const at = atX(n) + aside;
        found.push([at, atY(byMean ? mean(values) : middle(values))]);
        if (!byMean) spreads.push([at, ...quartiles(values).map(atY)]);
      });
      const mark = group.querySelector(":scope > circle, :scope > path:not([class])");
      const dash = group.querySelector(":scope > .line")?.getAttribute("stroke-dasharray");
      const [x0, y0] = group.dataset.p.split(" ").map(Number), fix = (value) => value.toFixed(1);
      const made = spreads.map(([at, low, high]) => path("spread", `M${fix(at)} ${fix(low)}V${fix(high)}`));
      if (found.length > 1) made.push(path("line", "M" + found.map((p) => p.map(fix).join(" ")).join("L"), dash));
      for (const [px, py] of found) {
        const sign = mark.cloneNode();
        sign.setAttribute("transform", `translate(${fix(px - x0)} ${fix(py - y0)})`);
        made.push(sign);
      }
      group.replaceChildren(group.firstElementChild, ...made);
      group.style.display = found.length ? "" : "none";
    }
    // What was written and joined for all results would be wrong.
    for (const part of svg.querySelectorAll(":scope > .front, :scope > .halo")) part.remove();
    if (told.figure === "weighed") for (const group of svg.querySelectorAll("g[data-m]")) {
      const sign = group.querySelector(":scope > [transform]");
      if (!sign) continue;
      const [dx, dy] = sign.getAttribute("transform").slice(10, -1).split(" ").map(Number);
      const [x0, y0] = group.dataset.p.split(" ").map(Number), label = document.createElementNS(SVG, "text");
      const right = x0 + dx > 0.7 * WIDTH;
      label.setAttribute("class", "halo");
      label.setAttribute("x", x0 + dx + (right ? -9 : 9));
      label.setAttribute("y", y0 + dy - 5);
      label.setAttribute("text-anchor", right ? "end" : "start");
      label.textContent = group.dataset.m;
      svg.append(label);
    }
  }
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
