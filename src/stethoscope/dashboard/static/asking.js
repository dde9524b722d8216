/* Asking the server: changes with the page's key, and streams of what changed. */
import { morph } from "./morph.js";

const KEY = document.querySelector('meta[name="stethoscope-key"]').content;

/* Send JSON and give the answer; what the server refuses is thrown as the sentence that says why. */
export async function post(path, told) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-stethoscope": KEY },
    body: JSON.stringify(told),
  });
  return understood(answer);
}

export async function get(path) {
  return understood(await fetch(path, { headers: { accept: "application/json" } }));
}

async function understood(answer) {
  const text = await answer.text();
  let told;
  try { told = JSON.parse(text); } catch { told = { error: text.slice(0, 300) || `The server said ${answer.status}.` }; }
  if (!answer.ok) throw new Error(told.error || `The server said ${answer.status}.`);
  return told;
}

/* A stream that is open while the page is seen. A browser opens six connections to a server, and hidden pages
   need none of them. `address` is asked for anew whenever the stream begins again. */
export function live(address, heard, state) {
  let source = null;
  function open() {
    close();
    source = new EventSource(address());
    source.onopen = () => state("");
    source.onmessage = (event) => heard(JSON.parse(event.data));
    source.onerror = () => {
      state("The dashboard does not answer; what is shown is as it was last seen. Trying again ...");
      if (source && source.readyState === EventSource.CLOSED) setTimeout(() => source && open(), 2000);
    };
  }
  function close() {
    if (source) source.close();
    source = null;
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  if (!document.hidden) open();
  return { again: open, close };
}

const filled = new WeakMap();

/* The same as `fill`, with everything left alone that is so already. */
export function renew(element, markup) {
  if (filled.get(element) === markup) return;
  filled.set(element, markup);
  morph(element, markup);
}

/* Replace what is inside an element, and only where it is something else. */
export function fill(element, markup) {
  if (filled.get(element) === markup) return;
  filled.set(element, markup);
  element.innerHTML = markup;
}

export function empty(element, text) {
  filled.delete(element);
  element.textContent = text;
}

export function made(markup) {
  const template = document.createElement("template");
  template.innerHTML = markup;
  return template.content.firstElementChild;
}

export function say(text) {
  document.getElementById("said").textContent = text;
}
