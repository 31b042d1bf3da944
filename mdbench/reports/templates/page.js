const NOTHING = "–";

// Tables are sorted by a click on a column's head; what has no value comes last, and methods that
// are not compared stay behind those that are.
const valueOf = (row, column) => {
  const cell = row.cells[column], given = cell.dataset.v;
  if (given === undefined) return cell.textContent.trim() || null;
  return given === "inf" ? Infinity : given === "-inf" ? -Infinity : given !== "" && !isNaN(given) ? Number(given) : given;
};
const empty = (value) => value === null || value === NOTHING;
const sort = (table, column, direction) => {
  const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, column), row]);
  rows.sort(([a, one], [b, other]) => (one.dataset.g ?? 0) - (other.dataset.g ?? 0) || (empty(a) || empty(b) ? empty(a) - empty(b)
    : direction * (typeof a === "number" && typeof b === "number" ? (a === b ? 0 : a - b)
      : String(a).localeCompare(String(b)))));
  table.tBodies[0].append(...rows.map(([, row]) => row));
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    if (i === column) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  });
};
const prepare = (part) => {
  for (const table of part.querySelectorAll("table.sortable"))
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () =>
        sort(table, column, head.getAttribute("aria-sort") === "ascending" ? -1 : 1));
    });
  for (const button of part.querySelectorAll("button.copy")) button.hidden = false;
};
prepare(document);

// What is wider than its place is scrolled with the keys, too.
const reachable = (part) => {
  for (const each of part.querySelectorAll(".scroll, td.eqs, td .eq, td code")) {
    const wide = each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight;
    const scrolls = getComputedStyle(each).overflowX === "auto";
    if (wide && scrolls) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
};
reachable(document);
addEventListener("resize", () => reachable(document));

// Code is copied; where the browser does not let a page do it, it is selected for Ctrl+C.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const code = document.getElementById(button.dataset.of), label = button.dataset.label ??= button.textContent;
  let text = "copied";
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    let done = false;
    try { done = document.execCommand("copy"); } catch { /* it stays selected */ }
    if (!done) text = "selected: press Ctrl+C";
  }
  button.textContent = text;
  setTimeout(() => { button.textContent = label; }, 3000);
});
