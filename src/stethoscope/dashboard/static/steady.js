/* Change a page and let what somebody looks at stay where it is, whatever comes or goes above it. */
const FRAMES = 8; // charts have their height a frame or two after they came
const PLACES = [0.1, 0.25, 0.5, 0.75, 0.9]; // of the height of the window
let turn = 0;

for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) {
  addEventListener(kind, () => { turn += 1; }, { passive: true, capture: true }); // who scrolls by hand is not held
}

export function steady(main, act) {
  const anchor = window.scrollY > 0 && inSight(main);
  if (!anchor) return act();
  const top = topOf(anchor);
  act();
  turn += 1;
  hold(anchor, top, FRAMES, turn);
}

function hold(anchor, top, frames, mine) {
  if (!anchor.isConnected || turn !== mine) return;
  const by = topOf(anchor) - top;
  if (Math.abs(by) >= 1) window.scrollBy({ top: by, behavior: "instant" });
  if (frames > 0) requestAnimationFrame(() => hold(anchor, top, frames - 1, mine));
}

/* What holds the focus, where it is seen; else the first thing that is seen. */
function inSight(main) {
  const active = document.activeElement;
  if (active !== main && main.contains(active) && topOf(active) >= 0 && topOf(active) < innerHeight) return active;
  for (const place of PLACES) {
    const found = document.elementFromPoint(main.getBoundingClientRect().left + 40, place * innerHeight);
    if (found && found !== main && main.contains(found)) return found.closest(".plot") || found;
  }
  return null;
}

function topOf(element) {
  return element.getBoundingClientRect().top;
}
