/* One run: the report goes on while the run does, and its prescription can be written. */
import { fill, get, live, post, renew, say } from "./asking.js";
import { steady } from "./steady.js";
import { tellTimes } from "./times.js";

const CURVES = "charts";
const told = JSON.parse(document.getElementById("stethoscope-data").textContent);
const here = `/run/${told.run}`;
let charts = told.charts, version = told.version, held = false, waiting = false;
let curves = null; // their markup, once another one was sent

document.documentElement.classList.add("held-steady");
live(() => `${here}.events?have=${version}`, (change) => steady(document.getElementById("content"), () => heard(change)), trouble);

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
    renew(document.getElementById("status"), change.status);
    tellTimes(document.getElementById("status"));
  }
  if (change.title) document.title = `${change.title} - Stethoscope`;
  if (change.charts) charts = patched(charts, change.charts);
  if (change.order) arrange(change.order, change.blocks);
  const sent = change.order && (change.order.includes(CURVES) ? change.blocks[CURVES] : "");
  if (typeof sent === "string") curves = sent && `<div data-block="${CURVES}">${sent}</div>`;
  if (change.charts || typeof sent === "string") redraw();
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
    const block = known.get(name) || document.createElement("div");
    block.dataset.block = name;
    if (name in blocks) renew(block, blocks[name]);
    return block;
  });
  for (const child of [...home.children]) if (!wanted.includes(child)) child.remove();
  wanted.forEach((block, at) => {
    if (home.children[at] !== block) home.insertBefore(block, home.children[at] || null);
  });
}

// --- curves: while somebody drags over a chart, it waits

addEventListener("pointerdown", (event) => { held = Boolean(event.target.closest && event.target.closest(".plot")); });
addEventListener("pointerup", release);
addEventListener("pointercancel", release);

function release() {
  held = false;
  if (waiting) setTimeout(redraw, 0); // after the chart has seen the end of the drag
}

function redraw() {
  waiting = held;
  if (held) return;
  if (curves !== null) renew(document.getElementById("report"), curves);
  stethoscope.goOn({ charts });
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
        path: "apply", told: { digest: told.digest }, done: (files) => `Written: ${files}. The next run will have it.`,
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
    const moment = new Date(when);
    button.textContent = `Undo what was written at ${isNaN(moment) ? when : moment.toLocaleString("en-GB")}`;
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
