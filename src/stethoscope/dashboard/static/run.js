/* One run: the report goes on while the run does, and its prescription can be written. */
import { fill, get, live, post, say } from "./asking.js";
import { tellTimes } from "./times.js";

const CURVES = "charts";
const FRAMES = 6;
const told = JSON.parse(document.getElementById("stethoscope-data").textContent);
const here = `/run/${told.run}`;
let charts = told.charts, version = told.version, held = false, waiting = false;
let title = document.title;

live(() => `${here}.events?have=${version}`, heard, trouble);

function trouble(said) {
  let place = document.getElementById("trouble");
  if (!place) {
    place = document.createElement("p");
    place.id = "trouble";
    place.className = "notice bad";
    place.setAttribute("role", "alert");
    document.getElementById("status").before(place);
  }
  place.hidden = !said;
  place.textContent = said;
}

// --- what changed: blocks of text where they stand, and curves

function heard(change) {
  if (change.trouble) return trouble(change.trouble);
  if (change.version) version = change.version;
  if ("status" in change) {
    fill(document.getElementById("status"), change.status);
    tellTimes(document.getElementById("status"));
  }
  if (change.title) document.title = title = `${change.title} - Stethoscope`;
  if (change.charts) charts = patched(charts, change.charts);
  if (change.order) arrange(change.order, change.blocks);
  const curves = change.order ? change.blocks[CURVES] : undefined;
  if (change.charts || curves !== undefined) redraw(curves);
  document.documentElement.dataset.heard = String(Date.now());
}

function patched(before, [kind, ...rest]) {
  if (kind === "set") return rest[0];
  if (kind === "tail") return [...before.slice(0, rest[0]), ...rest[1]];
  const after = kind === "items" ? [...before] : { ...before };
  for (const [key, inner] of Object.entries(rest[0])) after[key] = patched(before[key], inner);
  return after;
}

function arrange(order, blocks) {
  const at = order.indexOf(CURVES), end = at < 0 ? order.length : at;
  place(document.getElementById("before"), order.slice(0, end), blocks);
  place(document.getElementById("after"), order.slice(end + 1), blocks);
}

function place(home, names, blocks) {
  const known = new Map([...home.children].filter((one) => one.dataset.block).map((one) => [one.dataset.block, one]));
  const wanted = names.map((name) => {
    const block = known.get(name) || Object.assign(document.createElement("div"), {});
    block.dataset.block = name;
    if (name in blocks) refill(block, blocks[name]);
    return block;
  });
  for (const child of [...home.children]) if (!wanted.includes(child)) child.remove();
  wanted.forEach((block, at) => {
    if (home.children[at] !== block) home.insertBefore(block, home.children[at] || null);
  });
}

function refill(block, markup) {
  const open = new Set([...block.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
  const focused = block.contains(document.activeElement) && document.activeElement.getAttribute("href");
  fill(block, markup);
  for (const summary of block.querySelectorAll("details > summary")) {
    if (open.has(summary.textContent)) summary.parentElement.open = true;
  }
  const again = focused && [...block.querySelectorAll("a[href]")].find((one) => one.getAttribute("href") === focused);
  if (again) again.focus({ preventScroll: true });
}

// --- curves: while somebody drags over a chart, it waits

addEventListener("pointerdown", (event) => { held = Boolean(event.target.closest && event.target.closest(".plot")); });
addEventListener("pointerup", release);
addEventListener("pointercancel", release);

function release() {
  held = false;
  if (waiting) setTimeout(redraw, 0); // after the chart has seen the end of the drag
}

let curvesMarkup = pristine(document.getElementById("report"));

/* The curves as they came, without what was drawn since. */
function pristine(home) {
  const copy = home.cloneNode(true);
  for (const plot of copy.querySelectorAll(".plot")) plot.replaceChildren();
  return copy.innerHTML;
}

function redraw(markup) {
  const home = document.getElementById("report");
  if (markup !== undefined) curvesMarkup = `<div data-block="${CURVES}">${markup}</div>`;
  waiting = held;
  if (held) return;
  const before = pictures(home), focus = focusedIn(home);
  stethoscope.replace({ title, markup: curvesMarkup, data: { charts } });
  for (const [id, still] of before) {
    const plot = home.querySelector(`.plot[data-chart="${id}"]`);
    if (plot && !plot.hasChildNodes()) plot.append(...still);
  }
  if (focus) refocus(focus, FRAMES);
}

/* What the charts look like, to stand in until they are drawn anew a moment later. */
function pictures(home) {
  const found = new Map();
  for (const plot of home.querySelectorAll(".plot")) {
    const copy = plot.cloneNode(true);
    const from = plot.querySelectorAll("canvas"), to = copy.querySelectorAll("canvas");
    from.forEach((canvas, at) => canvas.width && to[at].getContext("2d").drawImage(canvas, 0, 0));
    found.set(plot.dataset.chart, [...copy.childNodes]);
  }
  return found;
}

function focusedIn(home) {
  const active = document.activeElement, plot = home.contains(active) && active.closest(".plot");
  return plot && { chart: plot.dataset.chart, tool: active.dataset.tool || "" };
}

/* A chart is drawn a frame or two after it was replaced, and takes the focus away again when it is. */
function refocus({ chart, tool }, frames) {
  if (frames > 0) requestAnimationFrame(() => refocus({ chart, tool }, frames - 1));
  const plot = document.querySelector(`.plot[data-chart="${chart}"]`);
  const target = plot && plot.querySelector(tool ? `[data-tool="${tool}"]` : ".canvas");
  if (target && (document.activeElement === document.body || !document.activeElement)) target.focus({ preventScroll: true });
}

// --- the prescription

const show = document.getElementById("show-plan");
if (show) {
  const dialog = document.getElementById("dialog"), confirm = document.getElementById("confirm");
  const applied = document.getElementById("applied"), plan = document.getElementById("plan");
  const heading = document.getElementById("plan-title");
  let wanted = null; // what the dialog asks: {path, told, done}

  show.addEventListener("click", async () => {
    applied.textContent = "Looking at what would be written ...";
    show.disabled = true;
    try {
      const told = await get(`${here}.plan`);
      applied.textContent = "";
      offerUndo(told.undo, told.undo_when);
      const title = told.writable ? "Write these changes?" : told.files.length ? "These changes are not written" : "Nothing to write";
      ask(title, told.markup, "Write them", told.writable, {
        path: "apply", told: { digest: told.digest }, done: (files) => `Written: ${files}.`,
      });
    } catch (problem) {
      applied.textContent = problem.message;
    }
    show.disabled = false;
  });

  function ask(title, markup, yes, possible, next) {
    heading.textContent = title;
    fill(plan, markup);
    confirm.textContent = yes;
    confirm.hidden = !possible;
    document.getElementById("cancel").textContent = possible ? "Cancel" : "Close";
    wanted = next;
    dialog.showModal();
    document.getElementById("cancel").focus();
  }

  document.getElementById("cancel").addEventListener("click", () => dialog.close());
  confirm.addEventListener("click", async () => {
    confirm.disabled = true;
    const { path, told, done } = wanted;
    try {
      const answer = await post(`${here}/${path}`, told);
      applied.textContent = done(answer.files.join(", "));
      offerUndo(path === "apply" ? answer.files : [], answer.when);
    } catch (problem) {
      applied.textContent = problem.message;
    }
    confirm.disabled = false;
    dialog.close();
    say(applied.textContent);
    show.focus();
  });

  function offerUndo(files, when) {
    const known = document.getElementById("undo");
    if (known) known.remove();
    if (!files.length) return;
    const button = document.createElement("button");
    button.type = "button";
    button.id = "undo";
    button.textContent = `Undo what was written at ${when}`;
    button.addEventListener("click", () => {
      const list = document.createElement("ul");
      for (const file of files) list.append(Object.assign(document.createElement("li"), { textContent: file }));
      ask("Put these files back as they were?", list.outerHTML, "Put them back", true, {
        path: "undo", told: {}, done: (back) => `Put back: ${back}.`,
      });
    });
    show.after(" ", button);
  }
}
