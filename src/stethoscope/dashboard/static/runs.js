/* The list: searching, choosing two runs, and rows that change while one looks at them. */
import { empty, fill, live, made, say } from "./asking.js";
import { tellTimes } from "./times.js";

const form = document.getElementById("filters");
const body = document.getElementById("rows");
const comparing = document.getElementById("comparing");
const chosen = new Map(); // by number: the name of the run
let page = Number(new URLSearchParams(location.search).get("page")) || 1;
let waiting = 0;

function query() {
  const asked = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value && !(name === "order" && value === "help")) asked.set(name, value);
  }
  if (page > 1) asked.set("page", String(page));
  return asked.toString();
}

const stream = live(() => `/runs.events?${query()}`, heard, (trouble) => {
  document.body.classList.toggle("cut-off", Boolean(trouble));
  if (!trouble) return;
  const said = document.createElement("p");
  said.className = "notice bad";
  said.textContent = trouble;
  empty(document.getElementById("banner"), "");
  document.getElementById("banner").append(said);
});

function search(first) {
  page = first;
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    history.replaceState(null, "", `/${query() ? "?" + query() : ""}`);
    stream.again();
  }, 150);
}

form.addEventListener("input", () => search(1));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  search(1);
});
document.getElementById("pages").addEventListener("click", (event) => {
  const link = event.target.closest("a[data-page]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  search(Number(link.dataset.page));
  window.scrollTo(0, 0);
  body.focus({ preventScroll: true });
});

// --- what changed

function heard(told) {
  if ("banner" in told) fill(document.getElementById("banner"), told.banner);
  if ("count" in told) fill(document.getElementById("count"), told.count);
  if ("pages" in told) fill(document.getElementById("pages"), told.pages);
  if (told.choices) offer(told.choices);
  if (told.order) arrange(told.order, told.rows);
  document.documentElement.dataset.heard = String(Date.now());
}

/* What there is to choose from; a list that somebody has open stays as it is. */
function offer(choices) {
  for (const [name, markup] of Object.entries(choices)) {
    const place = form.querySelector(`[data-choices="${name}"]`);
    if (!place || place === document.activeElement) continue;
    const value = place.value;
    fill(place, markup);
    if (place.tagName === "SELECT") place.value = value;
  }
}

const markups = new WeakMap();

function arrange(order, rows) {
  const focused = keyOf(document.activeElement);
  const wanted = new Set(order);
  for (const row of [...body.children]) if (!wanted.has(row.id)) row.remove();
  order.forEach((id, at) => {
    const known = document.getElementById(id);
    const row = id in rows && !(known && markups.get(known) === rows[id]) ? fresh(rows[id], known) : known;
    if (row && body.children[at] !== row) body.insertBefore(row, body.children[at] || null);
  });
  tellTimes(body);
  tick();
  if (focused) refocus(focused);
}

function fresh(markup, known) {
  const row = made(markup);
  markups.set(row, markup);
  if (known) known.replaceWith(row);
  return row;
}

function keyOf(element) {
  const row = element && element.closest("#rows > tr");
  return row && { id: row.id, pick: element.matches(".pick") };
}

function refocus({ id, pick }) {
  const row = document.getElementById(id);
  const target = row && row.querySelector(pick ? ".pick" : "a");
  if (target && document.activeElement !== target) target.focus({ preventScroll: true });
}

// --- two runs to compare

body.addEventListener("change", (event) => {
  const box = event.target.closest(".pick");
  if (!box) return;
  if (box.checked) chosen.set(box.value, box.closest("tr").querySelector(".name").textContent);
  else chosen.delete(box.value);
  while (chosen.size > 2) chosen.delete(chosen.keys().next().value);
  tick();
});

function tick() {
  for (const box of body.querySelectorAll(".pick")) box.checked = chosen.has(box.value);
  const names = [...chosen.values()];
  const said = names.length === 2 ? `${names[1]} against ${names[0]}, the good one.`
    : names.length === 1 ? `${names[0]}, the good one, against ... choose another run.`
    : "Choose two runs to compare, the good one first.";
  const place = document.getElementById("chosen");
  if (place.textContent !== said) place.textContent = said;
  comparing.querySelector("button").disabled = names.length !== 2;
}

comparing.addEventListener("submit", (event) => {
  event.preventDefault();
  const [good, bad] = chosen.keys();
  say("Comparing ...");
  comparing.querySelector("button").textContent = "Comparing ...";
  location.href = `/compare?good=${good}&bad=${bad}`;
});
window.addEventListener("pageshow", () => {
  comparing.querySelector("button").textContent = "Compare";
  tick();
});

// --- keys: / searches, j and k go through the rows

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, textarea, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("search").focus();
  } else if (event.key === "j" || event.key === "k") {
    const links = [...body.querySelectorAll(".name a")];
    const at = links.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
    const next = links[Math.max(0, Math.min(links.length - 1, at))];
    if (next) next.focus();
  }
});
