// The theme, copying, drawings moved to what goes wrong, and the matrix: opening families, filtering and sorting, with the state in the address's fragment.
"use strict";
const page = document.documentElement;
page.classList.add("js");
const kept = {
  read() { try { return localStorage.getItem("theme") || "auto"; } catch { return "auto"; } },
  write(theme) { try { localStorage.setItem("theme", theme); } catch { /* a page without storage keeps nothing */ } },
};
const wear = (theme) => { if (theme === "auto") delete page.dataset.theme; else page.dataset.theme = theme; };
wear(kept.read());

function say(text) {
  const place = document.querySelector(".said");
  place.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { place.textContent = ""; }, 2500);
}

async function copy(text, what) {
  let done = false;
  try { await navigator.clipboard.writeText(text); done = true; } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  say(done ? `Copied ${what}.` : "This browser does not let the page copy; select the text instead.");
}

function themes() {
  const button = document.querySelector(".theme"), order = ["auto", "light", "dark"];
  const show = () => { button.querySelector("span").textContent = kept.now; };
  kept.now = kept.read();
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    kept.now = order[(order.indexOf(kept.now) + 1) % order.length];
    kept.write(kept.now);
    wear(kept.now);
    show();
  });
}

function copying() {
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    const code = button.parentElement.querySelector("code");
    button.addEventListener("click", () => copy(code.textContent + "\n", button.querySelector(".hidden").textContent.trim()));
  }
}

function matrix(table) {
  const form = document.querySelector("form.filters"), count = document.querySelector(".count");
  const families = [...table.tBodies].map((body, at) => ({
    body, at, name: body.dataset.family, head: body.rows[0], button: body.querySelector("button"),
    rules: [...body.rows].slice(1).map((row, place) => {
      const link = row.querySelector("th a");
      return { row, place, level: row.dataset.level, groups: row.dataset.groups.split("|"), passing: Number(row.dataset.passing),
        name: link.textContent, text: `${link.textContent} ${link.title}`.toLowerCase() };
    }),
  }));
  const heads = [...table.tHead.rows[0].cells].slice(3).map((cell) => ({ at: Number(cell.dataset.at), name: cell.textContent,
    older: "older" in cell.dataset, passed: Number(cell.dataset.passed), failed: Number(cell.dataset.failed) }));
  const every = [...table.rows].map((row) => ({ row, cells: [...row.cells].slice(3) }));
  const all = families.reduce((sum, family) => sum + family.rules.length, 0);
  const open = new Set();
  let columns = "", versions = "all";

  const rowOrders = {
    "": (a, b) => a.place - b.place,
    name: (a, b) => a.name.localeCompare(b.name),
    fewest: (a, b) => a.passing - b.passing || a.place - b.place,
    most: (a, b) => b.passing - a.passing || a.place - b.place,
  };
  const columnOrders = {
    "": (a, b) => a.at - b.at,
    passed: (a, b) => b.passed - a.passed || a.at - b.at,
    failed: (a, b) => b.failed - a.failed || a.at - b.at,
  };
  const sum = (family) => family.rules.reduce((total, rule) => total + rule.passing, 0) / (family.rules.length || 1);
  const familyOrders = {
    "": (a, b) => a.at - b.at,
    name: (a, b) => a.name.localeCompare(b.name),
    fewest: (a, b) => sum(a) - sum(b) || a.at - b.at,
    most: (a, b) => sum(b) - sum(a) || a.at - b.at,
  };

  function arrange(rows, wanted) {
    if (arrange.rows !== rows) {
      families.sort(familyOrders[rows]);
      for (const family of families) {
        family.rules.sort(rowOrders[rows]);
        family.body.append(...family.rules.map((rule) => rule.row));
      }
      table.append(...families.map((family) => family.body));
      arrange.rows = rows;
    }
    if (columns !== wanted) {
      const order = heads.toSorted(columnOrders[wanted]).map((head) => head.at);
      for (const { row, cells } of every) row.append(...order.map((at) => cells[at]));
      columns = wanted;
    }
  }

  function narrow(wanted) {
    if (versions === wanted) return;
    for (const head of heads) if (head.older) for (const { cells } of every) cells[head.at].hidden = wanted !== "all";
    versions = wanted;
  }

  const value = (name) => form.elements[name].value;
  function show() {
    const words = value("text").toLowerCase().split(/\s+/).filter(Boolean);
    const verdict = value("verdict"), level = value("level"), chosen = value("family");
    const filtered = Boolean(words.length || verdict || level || chosen);
    arrange(value("rows"), value("columns"));
    narrow(form.elements.versions ? value("versions") : "all");
    let shown = 0;
    for (const family of families) {
      let here = 0;
      for (const rule of family.rules) {
        const fits = (!chosen || family.name === chosen) && (!level || rule.level === level)
          && (!verdict || rule.groups.includes(verdict)) && words.every((word) => rule.text.includes(word));
        rule.row.hidden = !fits;
        here += fits;
      }
      const wide = filtered || open.has(family.name);
      family.body.hidden = here === 0;
      family.body.classList.toggle("shut", !wide);
      family.button.setAttribute("aria-expanded", String(wide));
      shown += here;
    }
    table.classList.add("ready");
    count.textContent = filtered ? `${shown} of ${all} rules` : `${all} rules in ${families.length} families`;
  }

  function write() {
    const state = new URLSearchParams();
    for (const field of form.elements) if (field.name && field.value) state.set(field.name, field.value);
    if (open.size) state.set("open", families.filter((family) => open.has(family.name)).map((family) => family.name).join(","));
    const text = state.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  function read() {
    if (table.classList.contains("ready") && document.getElementById(location.hash.slice(1))) return; // a place on the page
    const state = new URLSearchParams(location.hash.slice(1));
    for (const field of form.elements) {
      if (!field.name) continue;
      const wanted = state.get(field.name) || "";
      field.value = wanted;
      if (field.value !== wanted) field.value = "";
    }
    open.clear();
    for (const name of (state.get("open") || "").split(",")) if (name) open.add(name);
    show();
  }

  const act = {
    open() { families.forEach((family) => open.add(family.name)); },
    close() { open.clear(); },
    reset() { form.reset(); open.clear(); },
    link() { copy(location.href, "the link to this view"); },
  };
  form.hidden = count.hidden = false;
  form.addEventListener("input", () => { show(); write(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("click", (event) => {
    const what = event.target.dataset.do;
    if (what) { act[what](); show(); write(); }
  });
  for (const family of families) {
    family.button.addEventListener("click", () => {
      if (!open.delete(family.name)) open.add(family.name);
      show();
      write();
    });
  }
  addEventListener("hashchange", read);
  read();
}

function drawings() {
  for (const figure of document.querySelectorAll(".figure")) {
    const bad = figure.querySelector(".bad");
    if (!bad) continue;
    const box = bad.getBoundingClientRect(), frame = figure.getBoundingClientRect();
    figure.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
  }
}

addEventListener("DOMContentLoaded", () => {
  themes();
  copying();
  drawings();
  const table = document.querySelector(".matrix");
  if (table) matrix(table);
});
