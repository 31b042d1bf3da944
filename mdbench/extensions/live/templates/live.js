// Asks whether there is a newer page, and when there is, loads it and puts everything back to where it was.
(() => {
  "use strict";
  const EVERY = 2000, ANCHORS = 50, KEY = `mdbench ${location.pathname}`;
  const version = document.currentScript.dataset.version;

  const strip = document.createElement("div");
  strip.id = "live";
  strip.setAttribute("role", "status");
  strip.style.cssText = "position:fixed;right:0;bottom:0;max-width:100%;box-sizing:border-box;padding:.2rem .6rem;"
    + "font:.8rem/1.4 system-ui,sans-serif;background:Canvas;color:CanvasText;border:1px solid GrayText;"
    + "overflow-wrap:anywhere;z-index:9";
  const style = document.createElement("style");
  style.textContent = "@media print { #live { display: none } }";
  document.head.append(style);
  document.body.append(strip);
  const show = (text) => { if (strip.textContent !== text) strip.textContent = text; };
  const live = `live, as of ${new Date().toLocaleTimeString()}`;
  show(live);

  // What an element is called that comes again in the next page: by its id, or by the text of its part.
  const named = (elements, text) => {
    const counts = new Map(), found = new Map();
    for (const element of elements) {
      const base = element.id ? `#${element.id}`
        : `${element.parentElement.closest("[id]")?.id ?? ""} ${text(element)}`;
      const count = counts.get(base) ?? 0;
      counts.set(base, count + 1);
      found.set(`${base} ${count}`, element);
    }
    return found;
  };
  const folds = () => named(document.querySelectorAll("details"),
    (fold) => (fold.querySelector("summary")?.textContent ?? "").replace(/[0-9]+/g, ""));
  const controls = () => named(document.querySelectorAll("input, select, textarea"),
    (one) => `${one.name} ${one.type === "radio" || one.type === "checkbox" ? one.value : ""}`);
  // What is chosen is known by its text: the numbers behind the texts change as records come.
  const chosen = (one) => one.tagName === "SELECT" ? one.selectedOptions[0]?.textContent ?? ""
    : one.type === "radio" || one.type === "checkbox" ? one.checked : one.value;
  const choose = (one, value) => {
    if (chosen(one) === value) return false;
    if (one.tagName === "SELECT") {
      const option = [...one.options].find((each) => each.textContent === value);
      if (option) one.selectedIndex = option.index;
    } else if (typeof value === "boolean") one.checked = value;
    else one.value = value;
    return chosen(one) === value;
  };
  const heads = () => named(document.querySelectorAll("th"), (head) => head.textContent.trim());
  const places = () => [...document.querySelectorAll("[id]")].filter((one) => one !== strip && one.getClientRects().length);

  const save = () => {
    // The nearest places above what is looked at: some may be gone, or closed, in the next page.
    const above = places().map((one) => [one.id, one.getBoundingClientRect().top]).filter(([, top]) => top <= 1);
    const saved = {
      folds: [...folds()].map(([name, fold]) => [name, fold.open]),
      controls: [...controls()].map(([name, one]) => [name, chosen(one)]),
      sorted: [...heads()].filter(([, head]) => head.hasAttribute("aria-sort"))
        .map(([name, head]) => [name, head.getAttribute("aria-sort")]),
      anchors: above.reverse().slice(0, ANCHORS),
      x: scrollX, y: scrollY,
    };
    try { sessionStorage.setItem(KEY, JSON.stringify(saved)); } catch { /* the page begins at its top */ }
  };
  const restore = async () => {
    let saved = null;
    try {
      saved = JSON.parse(sessionStorage.getItem(KEY));
      sessionStorage.removeItem(KEY);
    } catch { /* nothing is kept */ }
    if (!saved) return;
    history.scrollRestoration = "manual";
    // Parts may be made when they are opened, and then have parts.
    for (let known = 0, fresh = folds(); fresh.size > known; fresh = folds()) {
      known = fresh.size;
      const open = saved.folds.filter(([name, isOpen]) => isOpen && fresh.has(name)).map(([name]) => fresh.get(name));
      for (const [name, isOpen] of saved.folds) if (!isOpen && fresh.has(name)) fresh.get(name).open = false;
      await (globalThis.mdbench?.openParts(open) ?? open.forEach((fold) => { fold.open = true; }));
    }
    const now = controls(), columns = heads();
    for (const [name, value] of saved.controls)
      if (now.has(name) && choose(now.get(name), value))
        now.get(name).dispatchEvent(new Event("change", {bubbles: true}));
    for (const [name, direction] of saved.sorted)
      for (let i = 0; i < 3 && columns.has(name) && columns.get(name).getAttribute("aria-sort") !== direction; i++)
        columns.get(name).querySelector("button")?.click();
    const back = () => {
      const seen = (id) => document.getElementById(id)?.getClientRects().length;
      const anchor = saved.anchors.find(([id]) => seen(id));
      if (anchor)
        scrollTo(saved.x, scrollY + document.getElementById(anchor[0]).getBoundingClientRect().top - anchor[1]);
      else scrollTo(saved.x, saved.y);
    };
    back();
    addEventListener("load", back, {once: true});
  };
  restore();

  const ask = async () => {
    if (!document.hidden)
      try {
        const answer = await fetch("state", {cache: "no-store"});
        if (!answer.ok) throw new Error(answer.statusText);
        const state = await answer.json();
        if (state.version !== version) {
          save();
          location.reload();
          return;
        }
        show(state.trouble ? `The newest records cannot be shown: ${state.trouble}` : live);
      } catch { show("mdbench watch has ended; this is the last page"); }
    setTimeout(ask, EVERY);
  };
  setTimeout(ask, EVERY);
})();
