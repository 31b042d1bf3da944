(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const FAMILY = 1, REFERENCE = 2;
  const OK = data.statuses.indexOf("ok");
  const statuses = (names) => new Set(names.map((name) => data.statuses.indexOf(name)));
  const ANSWERED = statuses(data.answered), SILENT = statuses(data.silent);
  const CUT_OFF = statuses(["timeout", "partial"]);
  const NO_ANSWER = "none", ALARM = "\u00a0⚠", CUT = "\u00a0†", ENDLESS = 1e300;
  const ABSENT = "";  // of a job that is not judged by a metric

  // Numbers as text: the same as numbers.py.
  const scientific = (x) => x === null ? NOTHING : !isFinite(x) ? NO_ANSWER : x === 0 ? "0"
    : Math.abs(x) >= ENDLESS ? (x > 0 ? "∞" : "-∞") : plain(x.toExponential(1));
  const plain = (text) => {
    const power = Number(text.split("e")[1]);
    return power < -3 || power > 2 ? text.replace("e+", "e") : Number(text).toFixed(Math.max(0, 1 - power));
  };
  const fixed = (x, digits = 0) => x === null ? NOTHING : !isFinite(x) ? NO_ANSWER : x.toFixed(digits);
  const rounded = (x, digits) => x === null || !isFinite(x) || Math.abs(x) <= (digits ? 1e3 : 1e6)
    ? fixed(x, digits) : scientific(x);
  const percent = (x) => {
    const whole = Math.round(Number((100 * x).toPrecision(15)));
    return (x > 0 && x < 1 ? Math.min(99, Math.max(1, whole)) : whole) + "\u00a0%";
  };
  const duration = (s) => s === null ? NOTHING : s < 0.0995 ? fixed(1000 * s) + " ms"
    : s < 10 ? fixed(s, 1) + " s" : s < 3600 ? fixed(s) + " s" : fixed(s / 3600, 1) + " h";

  // Parts of a large page are packed until they are opened, in the page or in files next to it.
  globalThis.mdbench = {parts: {}};
  const fetched = (address) => new Promise((arrived, failed) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => { script.remove(); arrived(mdbench.parts[address]); };
    script.onerror = failed;
    document.head.append(script);
  });
  const unpack = async ({address, text}) => {
    try {
      const packed = address ? await fetched(address) : text;
      const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      return await new Response(stream).text();
    } catch {
      throw new Error(address ? `${decodeURIComponent(address)} cannot be read: it belongs next to this page.`
        : "This browser is too old to open packed parts.");
    }
  };
  // What a filter needs of the results is read when one is chosen.
  const load = async (type) => {
    if (!type.packed || type.m) return;
    const {v, ...columns} = JSON.parse(await unpack(type.packed));
    type.specs.forEach((spec, k) => { spec.v = v[k]; });
    Object.assign(type, columns);
  };

  // What a metric's spec has: the same as spec.py, floor.py and columns.py.
  const number = (x) => x === "inf" ? Infinity : x === "-inf" ? -Infinity : x;
  for (const type of Object.values(data.types)) for (const spec of type.specs) {
    const sign = spec.better === "higher" ? -1 : 1;
    spec.loss = (x) => sign * x;
    spec.failed = number(spec.failed);
    spec.ranks = (floor) => floor === null || spec.nothing === null
      || spec.loss(floor) < spec.loss(number(spec.nothing));
    spec.raised = (x, floor) => {
      const least = floor !== null && spec.loss(x) < spec.loss(floor) ? floor : x;
      return spec.better === "lower" ? Math.max(least, spec.resolution) : least;
    };
    spec.alarming = (x) => spec.alarm !== null && isFinite(x) && spec.loss(x) > spec.loss(spec.alarm);
    spec.written = (x) => x === null ? NOTHING : !isFinite(x) ? NO_ANSWER
      : spec.kind === "flag" ? (x === 0 ? "no" : x === 1 ? "yes" : percent(x))
      : spec.scale === "log" && spec.digits ? scientific(x) : rounded(x, spec.digits);
    spec.of = (values) => !values.length ? null
      : spec.aggregate === "counts" ? values.filter((x) => x !== 0).length
      : spec.aggregate === "max" ? values.reduce((a, b) => Math.max(a, b))
      : spec.aggregate === "median" ? median(values) : mean(values);
  }

  const median = (values) => {
    if (values.length < 2) return values[0] ?? null;
    const sorted = Float64Array.from(values).sort(), half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  const mean = (values) => values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
  const present = (values) => values.filter((value) => value !== null);
  const group = (items, key) => {
    const groups = new Map();
    for (const item of items) {
      const name = key(item);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(item);
    }
    return groups;
  };
  // How often each seed of each system is drawn: the generator Mulberry32, seed 0, as statistics.py.
  const drawn = new Map();
  const draws = (having) => {
    const name = having.join(), size = having.length, most = Math.max(...having);
    if (drawn.has(name)) return drawn.get(name);
    let state = 0, all = 0;
    const share = () => {
      state = (state + 0x6D2B79F5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
    const first = having.map((own) => (all += own) - own);
    const counts = Array.from({length: data.resamples}, () => new Uint16Array(all));
    for (const row of counts) for (let i = 0; i < size; i++) {
      const system = Math.floor(share() * size);
      if (most === 1) { row[system]++; continue; }
      for (let place = 0; place < most; place++) {
        const seed = first[system] + Math.floor(share() * having[system]);
        if (place < having[system]) row[seed]++;
      }
    }
    drawn.set(name, counts);
    return counts;
  };
  const ascending = (a, b) => a === b ? 0 : a - b;
  const interval = (values, places, having, byMean) => {
    const order = values.map((_, i) => i).sort((a, b) => ascending(values[a], values[b]));
    const sorted = Float64Array.from(order, (i) => values[i]), at = Int32Array.from(order, (i) => places[i]);
    const rows = draws(having), size = sorted.length, found = new Float64Array(rows.length);
    let kept = 0;
    for (const row of rows) {
      let total = 0;
      for (let i = 0; i < size; i++) total += row[at[i]];
      if (!total) continue;
      let sum = 0, lower = null, upper = null;
      if (byMean) {
        for (let i = 0; i < size; i++) if (row[at[i]]) sum += row[at[i]] * sorted[i];
        found[kept++] = sum / total;
        continue;
      }
      for (let i = 0; i < size; i++) {
        sum += row[at[i]];
        if (lower === null && 2 * sum >= total) lower = sorted[i];
        if (2 * sum > total) { upper = sorted[i]; break; }
      }
      found[kept++] = (lower + upper) / 2;
    }
    const all = found.subarray(0, kept).sort();
    return [all[Math.floor(0.025 * kept)], all[Math.min(kept - 1, Math.floor(0.975 * kept))]];
  };

  // What is compared, and who has done it all: the same as coverage.py.
  const makePlan = (attempts, caseOf) => {
    const cases = new Map([...attempts].map(([m, jobs]) => [m, new Set([...jobs].map(caseOf))]));
    const most = Math.max(0, ...[...cases.values()].map((own) => own.size));
    const voters = [...cases].filter(([, own]) => own.size && own.size === most).map(([m]) => m);
    const votes = new Map();
    for (const m of voters) for (const job of attempts.get(m)) {
      const id = caseOf(job);
      if (!votes.has(id)) votes.set(id, new Map());
      votes.get(id).set(job, (votes.get(id).get(job) ?? 0) + 1);
    }
    const chosen = new Map();
    for (const [id, counts] of votes) {
      const half = voters.filter((m) => cases.get(m).has(id)).length / 2;
      const kept = [...counts].filter(([, count]) => count > half).map(([job]) => job);
      chosen.set(id, new Set(kept.length ? kept : counts.keys()));
    }
    const done = new Map([...attempts].map(([m, jobs]) => [m, new Set([...jobs].filter((job) =>
      !chosen.has(caseOf(job)) || chosen.get(caseOf(job)).has(job)))]));
    const jobs = new Set([...done.values()].flatMap((own) => [...own]));
    const groups = group([...done].filter(([, own]) => own.size), ([, own]) => [...own].sort(ascending).join());
    const size = Math.max(0, ...[...done.values()].map((own) => own.size));
    let compared = [];
    for (const ones of groups.values())
      if (ones[0][1].size === size && ones.length > compared.length) compared = ones;
    return {jobs, done, compared: compared.map(([m]) => m)};
  };

  const compare = (a, b) => a === b ? 0 : a < b ? -1 : 1;
  const compareAll = (a, b) => a.map((x, k) => compare(x, b[k])).find((sign) => sign) ?? 0;

  // How the amounts of a group of records become one: the same as columns.py.
  const OVER = {
    median, sum: (values) => values.reduce((a, b) => a + b, 0),
    max: (values) => values.length ? values.reduce((a, b) => Math.max(a, b)) : null, mean,
  };
  const amounts = Object.values(data.columns).filter((column) => "over" in column);

  // The leaderboard of some results: the same as leaderboard.py.
  const board = (type, keep) => {
    const t = data.types[type], [primary, ...others] = t.specs, entries = [];
    for (let i = 0; i < t.m.length; i++) if (keep(t, i)) entries.push(i);
    const caseOf = (i) => t.s[i] * data.noise.length + t.n[i], jobOf = (i) => caseOf(i) * t.repeats + t.r[i];
    const caseOfJob = (job) => Math.floor(job / t.repeats), system = (id) => Math.floor(id / data.noise.length);
    const answered = (i) => ANSWERED.has(t.x[i]), attempted = (i) => !SILENT.has(t.x[i]);
    const known = (spec, i) => spec.v[i] !== null && spec.v[i] !== ABSENT;
    const counted = (spec, ones) => {
      const judged = ones.filter((i) => attempted(i) && spec.v[i] !== ABSENT), values = [];
      for (const i of judged) {
        const unknown = answered(i) && spec.v[i] === null && spec.aggregate === "share";
        const value = answered(i) && !unknown ? spec.v[i] : spec.failed;
        if (value !== null) values.push(value);
      }
      return {values, undecided: judged.filter((i) => answered(i) && spec.v[i] === null).length};
    };
    const methods = group(entries, (i) => t.m[i]);
    const isApart = (m) => data.methods[m][REFERENCE] || data.apart.includes(data.methods[m][FAMILY]);
    const alone = [...methods.keys()].every(isApart);
    const attempts = new Map([...methods].map(([m, ones]) => [m, new Set(ones.filter(attempted).map(jobOf))]));
    const plan = makePlan(new Map([...attempts].filter(([m]) => alone || !isApart(m))), caseOfJob);
    const compared = new Set(alone ? [] : plan.compared);
    const floors = new Map(), unfit = new Set();
    for (const [id, ones] of group(entries, caseOf)) {
      const own = present(ones.filter((i) => compared.has(t.m[i])).map((i) => t.f[i]));
      const floor = median(own.length ? own : present(ones.map((i) => t.f[i])));
      floors.set(id, floor);
      if (!primary.ranks(floor)) unfit.add(id);
    }
    const byMean = ["mean", "share"].includes(primary.aggregate), losses = new Map();
    const scored = new Map([...methods].map(([method, all]) => {
      const ones = all.filter((i) => plan.jobs.has(jobOf(i)) || !attempted(i)), own = new Map();
      for (const i of ones) if (attempted(i) && (!answered(i) || known(primary, i)))
        own.set(jobOf(i), answered(i)
          ? primary.loss(primary.raised(primary.v[i], t.f[i] ?? floors.get(caseOf(i)))) : Infinity);
      losses.set(method, new Map([...group([...own], ([job]) => caseOfJob(job))].map(([id, each]) =>
        [id, median(each.map(([, loss]) => loss))])));
      const fit = [...own].filter(([job]) => !unfit.has(caseOfJob(job)));
      const scores = fit.map(([job, loss]) => [job, loss === Infinity ? primary.failed : primary.loss(loss)])
        .filter(([, score]) => score !== null);
      const value = primary.of(scores.map(([, score]) => score));
      const sorted = fit.length ? Float64Array.from(fit, ([, loss]) => loss).sort() : [Infinity];
      const parts = data.quantiles.map((part) => sorted[Math.floor(part * (sorted.length - 1))]);
      return [method, {ones, scores, order: [value === null ? Infinity : primary.loss(value), ...parts]}];
    }));
    const orders = [...compared].map((m) => scored.get(m).order).sort(compareAll);
    const rankOf = (m) => compared.size > 1 && compared.has(m)
      ? orders.findIndex((order) => !compareAll(order, scored.get(m).order)) + 1 : null;
    const covered = (m) => {
      const done = [...attempts.get(m)].filter((job) => plan.jobs.has(job)).length;
      return plan.jobs.size ? done / plan.jobs.size : 0;
    };
    const rows = [...scored].map(([method, {ones, scores, order}]) => {
      const seeds = new Map();
      for (const [job] of scores) {
        const name = system(caseOfJob(job)), seed = job % t.repeats;
        if (!seeds.has(name)) seeds.set(name, []);
        if (!seeds.get(name).includes(seed)) seeds.get(name).push(seed);
      }
      const having = [...seeds.values()].map((own) => own.length), first = new Map();
      let all = 0;
      for (const [name, own] of seeds) { first.set(name, all); all += own.length; }
      const places = scores.map(([job]) => {
        const name = system(caseOfJob(job));
        return first.get(name) + seeds.get(name).indexOf(job % t.repeats);
      });
      const of = scores.map(([, score]) => score);
      let ends = null;
      const bounds = () => seeds.size >= data.fewest ? interval(of, places, having, byMean) : [null, null];
      const above = scores.filter(([job]) => floors.get(caseOfJob(job)) > primary.resolution)
        .map(([job, score]) => score / floors.get(caseOfJob(job)));
      const done = ones.filter(attempted), [name, family, reference, origin, mark] = data.methods[method];
      const causes = data.statuses.map((cause, status) =>
        [status === OK ? 0 : ones.filter((i) => t.x[i] === status).length, cause]).filter(([n]) => n);
      const values = [{values: of, undecided: counted(primary, ones).undecided},
        ...others.map((spec) => counted(spec, ones))];
      values.forEach((found, k) => { found.value = t.specs[k].of(found.values); });
      const standing = reference ? "reference" : data.apart.includes(family) ? family
        : compared.has(method) ? "compared" : "partial";
      const own = plan.done.get(method) ?? new Set();
      return {
        cut_off: 2 * ones.filter((i) => CUT_OFF.has(t.x[i])).length > ones.length,
        method: name, family, standing, origin, mark, attempts: done.length, rank: rankOf(method), coverage: covered(method), jobs: ones.length,
        answered: ones.filter(answered).length, drawn: of.length, above_floor: median(above), values, causes,
        get low() { return (ends ??= bounds())[0]; },
        get high() { return (ends ??= bounds())[1]; },
        place: [Math.max(0, data.standings.indexOf(standing) - 1),
          -new Set([...own].map(caseOfJob)).size, -own.size, ...order, name],
        ...Object.fromEntries(amounts.map(({names, amount, over}) =>
          [names[0], OVER[over](present((["median", "mean"].includes(over) ? done : ones).map((i) => t.a[amount][i])))])),
      };
    });
    rows.sort((a, b) => compareAll(a.place, b.place));
    // Figures have the methods with all common jobs, and these jobs alone.
    const common = compared.size ? plan.done.get(plan.compared[0]) : plan.jobs;
    const cases = new Set([...common].map(caseOfJob));
    const all = (own) => new Set([...own].filter((job) => common.has(job)).map(caseOfJob)).size === cases.size;
    const whole = new Set([...attempts].filter(([m, own]) => !compared.size || compared.has(m)
      || isApart(m) && all(own)).map(([m]) => m));
    const drawing = {
      unfit, counted, attempted,
      rows: rows.filter((row) => [...whole].some((m) => data.methods[m][0] === row.method)),
      entries: entries.filter((i) => whole.has(t.m[i]) && common.has(jobOf(i))),
      losses: new Map([...losses].filter(([m]) => whole.has(m)).map(([m, own]) =>
        [m, new Map([...own].filter(([id]) => cases.has(id)))])),
    };
    return {rows, entries, drawing};
  };

  const causes = (counts) => counts.map(([n, name]) => `${n}\u00a0${name.replaceAll("_", "\u00a0")}`)
    .join(", ") || NOTHING;
  // How values are written, and what they are sorted by: the same as columns.py.
  const forms = {
    whole: fixed, tenths: (x) => rounded(x, 1), share: percent, duration, counts: causes,
    text: (text) => text || NOTHING, of: (some, whole) => `${some}/${whole}`,
    name: (name, standing, cut, mark) => name
      + ([...data.apart, "reference"].includes(standing) ? ` (${standing})` : "")
      + (mark ? `\u00a0${mark}` : "") + (cut ? CUT : ""),
    interval: (low, high) => [low, high].includes(NOTHING) ? NOTHING : `${low} … ${high}`,
  };
  const sortedBy = {
    of: (some, whole) => some / (whole || 1),
    counts: (counts) => counts.reduce((sum, [n]) => sum + n, 0),
  };
  const general = (key, row, primary) => {
    const {names, form} = data.columns[key], values = names.map((name) => row[name] ?? null);
    const shown = form === "interval" ? values.map(primary.written) : values;
    return [forms[form](...shown), form in sortedBy ? sortedBy[form](...values) : values[0]];
  };
  const ofSpec = (spec, isPrimary, {value, values}, row, best) => {
    if (value === null) return [NOTHING, null];
    if (spec.aggregate === "share" && 2 * row.not_measured > row.attempts)
      return [data.not_measured + (value && spec === best ? ` (≥ ${percent(value)})` : ""), value];
    if (spec.kind === "label") {
      const counts = spec.labels.map((name, k) => [k ? values.filter((x) => x === k).length : 0, name]);
      return [causes(counts.filter(([n]) => n)), value];
    }
    if (spec.kind === "flag" && !isPrimary) {
      const count = fixed(value * values.length);
      return [`${count}/${values.length} (${percent(value)})`, value];
    }
    const alarm = spec.alarming(value);
    return [spec.written(value) + (alarm ? ALARM : ""), value, alarm ? spec.warning : ""];
  };

  // The intervals of many results take a while: they come when all else is shown.
  const AT_ONCE = 3000;
  let later = [], waiting = false;
  const next = () => {
    later.shift()?.();
    waiting = later.length > 0;
    if (waiting) setTimeout(next);
  };
  const fillCell = (cell, [text, value, warning]) => {
    cell.textContent = text;
    if (warning) cell.title = warning;
    if (value !== null) cell.dataset.v = Math.abs(value) === Infinity ? (value > 0 ? "inf" : "-inf") : value;
  };
  const show = (table, rows, {columns, specs}) => {
    const body = document.createElement("tbody"), many = rows.reduce((sum, row) => sum + row.drawn, 0) > AT_ONCE;
    for (const row of rows) {
      const line = body.insertRow();
      line.dataset.g = data.standings.indexOf(row.standing);
      line.className = row.coverage < 1 ? "grey" : "";
      columns.forEach((column, place) => {
        const cell = line.insertCell();
        cell.className = table.tHead.rows[0].cells[place].className;
        if (column === "interval" && many) {
          cell.textContent = "…";
          later.push(() => cell.isConnected && fillCell(cell, general(column, row, specs[0])));
        } else fillCell(cell, typeof column === "string" ? general(column, row, specs[0])
          : ofSpec(specs[column], column === 0, row.values[column], row, specs.find((spec) => spec.mark)));
      });
    }
    table.tBodies[0].replaceWith(body);
    if (later.length && !waiting) {
      waiting = true;
      setTimeout(next, 50);
    }
    const undecided = specs.map((spec, k) => [spec.title, rows.reduce((sum, row) => sum + row.values[k].undecided, 0)])
      .filter(([, count]) => count).map((each) => each.join(" ")).join(", ");
    const block = table.closest(".block");
    block.querySelector(".cut").textContent = rows.some((row) => row.cut_off) ? data.cut : "";
    block.querySelector(".undecided").textContent = undecided
      ? `Values that the scorer could not decide; shares count them as not reached, means not at all: ${undecided}.` : "";
  };


  let ready = Promise.resolve();  // what was chosen is shown
  const fill = async (details) => {
    const packed = details.querySelector(":scope > script.packed:not([data-seen])");
    if (!packed) return;
    packed.dataset.seen = "";
    const made = document.createElement("template");
    try {
      made.innerHTML = await unpack({address: packed.dataset.address, text: packed.textContent});
    } catch (error) {
      made.innerHTML = "<p class=note></p>";
      made.content.firstChild.textContent = error.message;
    }
    await ready;
    const inner = [...made.content.querySelectorAll("details[open]")];
    prepare(made.content);
    packed.replaceWith(made.content);
    filter(details);
    await Promise.all(inner.map(fill));
  };
  document.addEventListener("toggle", ({target}) => {
    if (target.open) fill(target).then(() => reachable(target));
  }, true);
  // Opens parts, and is done when they can be read.
  const openParts = async (parts) => {
    for (const part of parts) part.open = true;
    await Promise.all(parts.map(fill));
  };
  mdbench.openParts = openParts;

  const form = document.getElementById("filters"), filtered = document.getElementById("filtered");
  const families = new Map(data.methods.map((method) => [method[0], method[FAMILY]]));
  const drawings = new Map();  // figures as they are of all results
  const figures = (block, type, found, active) => {
    for (const svg of block.querySelectorAll("svg[data-figure]")) {
      if (!drawings.has(svg) && active) drawings.set(svg, svg.innerHTML);
      if (drawings.has(svg)) svg.innerHTML = drawings.get(svg);
    }
    if (active) drawFigures(block, data.types[type], found.drawing, data);
    for (const each of block.querySelectorAll(".of-all")) each.hidden = active;
    block.querySelector(".whole-note").hidden = !active;
  };
  const is = (wanted, value) => wanted === "" || wanted === String(value ?? "");
  let chosen = {class: "", noise: "", dim: "", family: ""};
  // Shows of a part what is chosen: all that it is made of, or a part that was just opened.
  const filter = (root) => {
    const active = Boolean(chosen.noise || chosen.dim || chosen.family);
    const ofFamily = (method) => !families.has(method) || is(chosen.family, families.get(method));
    for (const table of active || root === document ? root.querySelectorAll("table.board") : []) {
      const type = table.dataset.type, block = table.closest(".block");
      const found = board(type, keepOf());
      const sorted = [...table.tHead.rows[0].cells].findIndex((head) => head.hasAttribute("aria-sort"));
      const down = sorted >= 0 && table.tHead.rows[0].cells[sorted].getAttribute("aria-sort") === "descending";
      show(table, found.rows, data.types[type]);
      if (sorted >= 0) sort(table, sorted, down ? -1 : 1);
      figures(block, type, found, active);
    }
    for (const map of root.querySelectorAll("details.heatmap, svg.heat")) {
      if (map.matches("details")) map.hidden = !is(chosen.noise, map.dataset.n);
      else drawHeat(map, (dim) => is(chosen.dim, dim), ofFamily);
    }
    for (const part of root.querySelectorAll(".legend [data-m], .picture g[data-m]"))
      part.style.display = ofFamily(part.dataset.m) ? "" : "none";
    for (const row of root.querySelectorAll("table.answers tbody tr"))
      row.hidden = !(is(chosen.noise, row.dataset.n) && (!row.dataset.c || is(chosen.class, row.dataset.c))
        && is(chosen.family, families.get(row.dataset.m)));
  };
  const keepOf = () => {
    const wanted = (text) => text === "" ? null : Number(text);
    const noise = wanted(chosen.noise), dim = wanted(chosen.dim);
    const inFamily = data.methods.map((method) => is(chosen.family, method[FAMILY]));
    return (t, i) => (noise === null || t.n[i] === noise) && (dim === null || t.d[i] === dim) && inFamily[t.m[i]];
  };
  const apply = () => {
    chosen = {class: "", ...Object.fromEntries(new FormData(form))};
    ready = Promise.all(Object.values(data.types).map(load)).then(applied, (error) => {
      filtered.textContent = error.message;
    });
  };
  const applied = () => {
    const number = data.classes.indexOf(chosen.class), keep = keepOf();
    let count = 0, all = 0;
    for (const block of document.querySelectorAll(".block")) {
      const t = data.types[block.dataset.type];
      block.hidden = !is(chosen.class, t.class);
      if (chosen.class && !block.hidden && "open" in block) openParts([block]);
      for (let i = 0; i < t.m.length; i++) count += !block.hidden && keep(t, i);
      all += t.m.length;
    }
    for (const system of document.querySelectorAll("details.system"))
      system.hidden = !is(chosen.dim, system.dataset.dim)
        || Boolean(chosen.class && system.dataset.classes && !system.dataset.classes.split(" ").includes(String(number)));
    later = [];
    filter(document);
    filtered.textContent = count === all ? "" : `${count} of ${all} results`;
  };

  // What is chosen is in the address, in words: #PLACE?noise=40+dB&family=linear
  const selects = [...form.querySelectorAll("select")];
  const parts = () => {
    const [place, ...rest] = location.hash.slice(1).split("?");
    return [place, new URLSearchParams(rest.join("?"))];
  };
  const written = () => {
    const query = new URLSearchParams();
    for (const select of selects) if (select.value) query.set(select.name, select.selectedOptions[0].text);
    return String(query);
  };
  const address = (place) => `#${place}${written() && "?"}${written()}`;
  const remember = () => {
    apply();
    if (address(parts()[0]) !== (location.hash || "#")) history.pushState(null, "", address(parts()[0]));
  };
  const reopen = () => {
    const [place, query] = parts(), before = written();
    for (const select of selects) {
      const wanted = query.get(select.name);
      const found = [...select.options].find((option) => option.value && option.text === wanted);
      select.value = found ? found.value : "";
    }
    if (written() !== before) apply();
    const section = place && document.getElementById(decodeURIComponent(place));
    if (!section) return;
    const around = [];
    for (let part = section.closest("details"); part; part = part.parentElement.closest("details")) around.push(part);
    const closed = around.some((part) => !part.open);
    if (query.size || closed) openParts(around).then(() => section.scrollIntoView());
  };
  // A class that is chosen is opened, and the others of its data type are closed.
  for (const link of document.querySelectorAll(".classes a")) link.addEventListener("click", () => {
    const wanted = document.getElementById(link.getAttribute("href").slice(1));
    for (const block of wanted.parentElement.querySelectorAll(":scope > .block")) block.open = block === wanted;
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || !written()) return;
    event.preventDefault();  // the place changes, and the view stays
    location.hash = address(link.getAttribute("href").slice(1));
  });
  addEventListener("hashchange", reopen);
  form.addEventListener("change", remember);
  form.addEventListener("reset", () => setTimeout(remember));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = "idle" in form.dataset;
  for (const select of selects) select.value = "";  // browsers remember what was chosen before a reload
  reopen();

  // Formulas are not broken into lines: what is too wide for the paper is written as text.
  const WIDEST_FORMULA = 420;
  const textOf = (math) => math.getAttribute("alttext") ?? math.dataset.text;
  addEventListener("beforeprint", () => {
    const wide = [...document.querySelectorAll("details[open] math")].filter((math) =>
      textOf(math) && math.getBoundingClientRect().width > WIDEST_FORMULA);
    for (const math of wide) {
      const text = document.createElement("span");
      text.className = "plain";
      text.textContent = textOf(math);
      math.after(text);
      math.setAttribute("hidden", "");  // formulas have no property of that name
    }
  });
  addEventListener("afterprint", () => {
    for (const text of document.querySelectorAll("math + .plain")) {
      text.previousElementSibling.removeAttribute("hidden");
      text.remove();
    }
  });
})();
