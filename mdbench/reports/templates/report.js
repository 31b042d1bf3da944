"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const FAMILY = 1, REFERENCE = 2;
  const OK = data.statuses.indexOf("ok"), PARTIAL = data.statuses.indexOf("partial");
  const SILENT = ["interrupted", "unavailable"].map((name) => data.statuses.indexOf(name));
  const ROUND_OFF = 1e-12, UNFIT = 1, RESAMPLES = 1000, COVERAGE = 0.5;
  const NOTHING = "–", NO_ANSWER = "none";

  // Numbers as text: the same as numbers.py.
  const scientific = (x) => x === null ? NOTHING : !isFinite(x) ? NO_ANSWER : x === 0 ? "0"
    : x.toExponential(1).replace("e+", "e");
  const fixed = (x, digits = 0) => x === null ? NOTHING : !isFinite(x) ? NO_ANSWER : x.toFixed(digits);
  const duration = (s) => s === null ? NOTHING : s < 0.0995 ? fixed(1000 * s) + " ms"
    : s < 10 ? fixed(s, 1) + " s" : s < 3600 ? fixed(s) + " s" : fixed(s / 3600, 1) + " h";
  const ratio = (x) => x === null || !(x > 1000 && isFinite(x)) ? fixed(x, 1) : scientific(x);

  const median = (values) => {
    if (!values.length) return null;
    const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  const mean = (values) => values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
  const known = (values) => values.filter((value) => value !== null);
  const group = (items, key) => {
    const groups = new Map();
    for (const item of items) {
      const name = key(item);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(item);
    }
    return groups;
  };
  const ranks = (values) => values.map((value) => {
    let below = 0, equal = 0;
    for (const other of values) { below += other < value; equal += other === value; }
    return below + (equal + 1) / 2;
  });

  // How often each of `size` systems is drawn: the generator Mulberry32, seed 0, as statistics.py.
  const drawn = new Map();
  const draws = (size) => {
    if (drawn.has(size)) return drawn.get(size);
    let state = 0;
    const counts = Array.from({length: RESAMPLES}, () => new Uint16Array(size));
    for (const row of counts) for (let i = 0; i < size; i++) {
      state = (state + 0x6D2B79F5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      row[Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 * size)]++;
    }
    drawn.set(size, counts);
    return counts;
  };
  const interval = (losses, places, size) => {
    const order = losses.map((_, i) => i).sort((a, b) => losses[a] === losses[b] ? 0 : losses[a] - losses[b]);
    const medians = [];
    for (const row of draws(size)) {
      let total = 0;
      for (const place of places) total += row[place];
      if (!total) continue;
      let sum = 0, lower = null, upper = null;
      for (const i of order) {
        sum += row[places[i]];
        if (lower === null && sum >= total / 2) lower = losses[i];
        if (sum > total / 2) { upper = losses[i]; break; }
      }
      medians.push((lower + upper) / 2);
    }
    medians.sort((a, b) => a === b ? 0 : a - b);
    return [medians[Math.floor(0.025 * medians.length)],
      medians[Math.min(medians.length - 1, Math.floor(0.975 * medians.length))]];
  };

  // The leaderboard of some results: the same as leaderboard.py.
  const board = (type, keep) => {
    const t = data.types[type], entries = [];
    for (let i = 0; i < t.m.length; i++) if (keep(t, i)) entries.push(i);
    const caseOf = (i) => (t.s[i] * data.noise.length + t.n[i]) * data.protocols.length + t.p[i];
    const system = (id) => Math.floor(id / data.noise.length / data.protocols.length);
    const answered = (i) => t.x[i] === OK || t.x[i] === PARTIAL;
    const attempted = (i) => !SILENT.includes(t.x[i]);
    const error = (i) => t.e[i] === null ? Infinity : t.e[i];
    const floors = new Map(), unfit = new Set();
    for (const [id, ones] of group(entries, caseOf)) {
      const floor = median(known(ones.map((i) => t.f[i]))) ?? 0;
      floors.set(id, floor);
      if (floor >= UNFIT || ones.some((i) => t.v[i] === 0 && error(i) >= UNFIT)) unfit.add(id);
    }
    const methods = group(entries, (i) => t.m[i]), losses = new Map();
    for (const [method, ones] of methods) {
      const own = new Map();
      for (const [id, seeds] of group(ones.filter(attempted), caseOf))
        own.set(id, median(seeds.map((i) => Math.max(error(i), floors.get(id), ROUND_OFF))));
      losses.set(method, own);
    }
    const candidates = [...losses].filter(([method]) => !data.methods[method][REFERENCE]);
    const most = Math.max(0, ...candidates.map(([, own]) => own.size));
    const ranked = candidates.filter(([, own]) => own.size && own.size >= COVERAGE * most).map(([m]) => m);
    const common = ranked.length ? [...losses.get(ranked[0]).keys()].filter((id) =>
      !unfit.has(id) && ranked.every((m) => losses.get(m).has(id))) : [];
    const meanRanks = new Map();
    if (ranked.length > 1 && common.length) {
      const totals = ranked.map(() => 0), systems = group(common, system);
      for (const cases of systems.values()) {
        const sums = ranked.map(() => 0);
        for (const id of cases)
          ranks(ranked.map((m) => losses.get(m).get(id))).forEach((rank, k) => { sums[k] += rank; });
        ranks(sums.map((sum) => Math.round(sum / cases.length * 1e9) / 1e9))
          .forEach((rank, k) => { totals[k] += rank; });
      }
      ranked.forEach((m, k) => meanRanks.set(m, totals[k] / systems.size));
    }
    const judgedAtAll = entries.some((i) => t.v[i] >= 0);
    const movedAtAll = entries.some((i) => t.h[i] >= 0);
    const tabledAtAll = entries.some((i) => t.a[i] >= 0);
    const comparedAtAll = entries.some((i) => t.o[i] >= 0);
    const question = (i) => t.s[i] * data.protocols.length + t.p[i];
    const withResidual = new Set(entries.filter((i) => t.q[i] !== null).map(question));
    const rows = [...methods].map(([method, ones]) => {
      const own = losses.get(method), fit = [...own.keys()].filter((id) => !unfit.has(id));
      const errors = fit.map((id) => own.get(id)), numbers = new Map();
      const places = fit.map((id) => {
        const name = system(id);
        if (!numbers.has(name)) numbers.set(name, numbers.size);
        return numbers.get(name);
      });
      const [low, high] = errors.length ? interval(errors, places, numbers.size) : [null, null];
      const above = fit.filter((id) => floors.get(id)).map((id) => own.get(id) / floors.get(id));
      const done = ones.filter(attempted), judged = done.filter((i) => t.j[i]);
      const causes = data.statuses.map((name, status) =>
        [status === OK ? 0 : ones.filter((i) => t.x[i] === status).length, name]).filter(([n]) => n);
      const failed = judged.filter((i) => !answered(i)).length;
      const of = (column, least) => done.filter((i) => column[i] >= least).length;
      const ended = data.ends.map((name, end) =>
        [end ? done.filter((i) => t.k[i] === end).length : 0, name]).filter(([n]) => n);
      const distances = [...Array(failed).fill(1), ...known(done.map((i) => t.z[i]))];
      const [name, family, reference] = data.methods[method];
      return {
        name, family, reference, rank: meanRanks.get(method) ?? null, jobs: ones.length,
        answers: ones.filter(answered).length, median: median(errors), low, high,
        above: median(above), judged: judgedAtAll ? judged.length : 0,
        identified: done.filter((i) => t.v[i] === 0).length,
        oneOff: done.filter((i) => t.v[i] === 1).length,
        f1: median(known(judged.map((i) => answered(i) ? t.g[i] : 0))),
        holds: of(t.h, 1), simulated: movedAtAll ? failed + of(t.h, 0) : 0,
        unseen: of(t.u, 1), simulatedUnseen: movedAtAll ? failed + of(t.u, 0) : 0, ended,
        residual: median(judged.filter((i) => withResidual.has(question(i))).map((i) => t.q[i] ?? Infinity)),
        accurate: of(t.a, 1), tabled: tabledAtAll ? failed + of(t.a, 0) : 0,
        solved: of(t.o, 1), compared: comparedAtAll ? failed + of(t.o, 0) : 0,
        distance: comparedAtAll ? mean(distances) : null,
        nodes: median(known(ones.map((i) => t.c[i]))), causes,
        wall: median(known(done.map((i) => t.w[i]))),
        total: ones.reduce((sum, i) => sum + (t.w[i] ?? 0), 0),
        memory: known(ones.map((i) => t.b[i])).reduce((a, b) => Math.max(a, b), -Infinity),
      };
    });
    const last = (x) => x === null ? Infinity : x;
    const compare = (a, b) => a === b ? 0 : a < b ? -1 : 1;
    rows.sort((a, b) => compare(last(a.rank), last(b.rank)) || compare(a.reference, b.reference)
      || compare(last(a.median), last(b.median)) || compare(a.name, b.name));
    return {rows, entries};
  };

  const cells = (row) => {
    const share = (count, of) => of
      ? [`${count}/${of} (${fixed(100 * count / of)}\u00a0%)`, count / of] : [NOTHING, null];
    const told = (causes) => [causes.map(([n, name]) => `${n}\u00a0${name.replaceAll("_", "\u00a0")}`).join(", ") || NOTHING,
      causes.reduce((sum, [n]) => sum + n, 0)];
    const memory = isFinite(row.memory) ? row.memory : null, f1 = row.judged ? row.f1 : null;
    return [
      [fixed(row.rank, 2), row.rank],
      [row.reference ? row.name + " (reference)" : row.name, row.name],
      [row.family, row.family],
      [scientific(row.median), row.median],
      [row.low === null ? NOTHING : `${scientific(row.low)} … ${scientific(row.high)}`, row.low],
      [ratio(row.above), row.above],
      share(row.identified, row.judged), share(row.oneOff, row.judged), [fixed(f1, 2), f1],
      share(row.holds, row.simulated), share(row.unseen, row.simulatedUnseen), told(row.ended),
      [scientific(row.residual), row.residual],
      share(row.accurate, row.tabled), share(row.solved, row.compared),
      [fixed(row.distance, 2), row.distance],
      [fixed(row.nodes), row.nodes],
      [`${row.answers}/${row.jobs}`, row.answers / row.jobs],
      [duration(row.wall), row.wall], [duration(row.total), row.total], [fixed(memory), memory],
      told(row.causes),
    ];
  };

  const show = (table, rows, shown) => {
    const body = document.createElement("tbody");
    for (const row of rows) {
      const line = body.insertRow();
      const all = cells(row);
      shown.forEach((column, place) => {
        const [text, value] = all[column], cell = line.insertCell();
        cell.className = table.tHead.rows[0].cells[place].className;
        cell.textContent = text;
        if (value !== null) cell.dataset.v = value === Infinity ? "inf" : value;
      });
    }
    table.tBodies[0].replaceWith(body);
  };

  // Tables are sorted by a click on a column's head; what has no value comes last.
  const valueOf = (row, column) => {
    const cell = row.cells[column], given = cell.dataset.v;
    if (given === undefined) return cell.textContent.trim() || null;
    return given === "inf" ? Infinity : given !== "" && !isNaN(given) ? Number(given) : given;
  };
  const empty = (value) => value === null || value === NOTHING;
  const sort = (table, column, direction) => {
    const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, column), row]);
    rows.sort(([a], [b]) => empty(a) || empty(b) ? empty(a) - empty(b)
      : direction * (typeof a === "number" && typeof b === "number" ? (a === b ? 0 : a - b)
        : String(a).localeCompare(String(b))));
    table.tBodies[0].append(...rows.map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };
  for (const table of document.querySelectorAll("table.sortable"))
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () =>
        sort(table, column, head.getAttribute("aria-sort") === "ascending" ? -1 : 1));
    });

  const form = document.getElementById("filters"), told = document.getElementById("filtered");
  const families = new Map(data.methods.map((method) => [method[0], method[FAMILY]]));
  const apply = () => {
    const chosen = Object.fromEntries(new FormData(form));
    const is = (wanted, value) => wanted === "" || wanted === String(value ?? "");
    let count = 0, all = 0;
    for (const table of document.querySelectorAll("table.board")) {
      const type = table.dataset.type;
      const {rows, entries} = board(type, (t, i) => is(chosen.noise, t.n[i]) && is(chosen.dim, t.d[i])
        && is(chosen.protocol, t.p[i]) && is(chosen.family, data.methods[t.m[i]][FAMILY]));
      const sorted = [...table.tHead.rows[0].cells].findIndex((head) => head.hasAttribute("aria-sort"));
      const down = sorted >= 0 && table.tHead.rows[0].cells[sorted].getAttribute("aria-sort") === "descending";
      show(table, rows, data.types[type].shown);
      if (sorted >= 0) sort(table, sorted, down ? -1 : 1);
      count += entries.length;
      all += data.types[type].m.length;
    }
    for (const system of document.querySelectorAll("details.system"))
      system.hidden = !is(chosen.dim, system.dataset.dim);
    for (const row of document.querySelectorAll("table.answers tbody tr"))
      row.hidden = !(is(chosen.noise, row.dataset.n) && is(chosen.protocol, row.dataset.p)
        && is(chosen.family, families.get(row.dataset.m)));
    told.textContent = count === all ? "" : `${count} of ${all} results`;
  };
  form.addEventListener("change", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  form.reset();  // browsers remember what was chosen before a reload
})();
