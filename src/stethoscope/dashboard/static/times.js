/* Moments, told as how long ago they were; the clock's own words stay as the title. */
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

export function ago(unix) {
  const seconds = Math.max(0, Math.round(Date.now() / 1000 - unix));
  if (seconds < 2) return "just now";
  const [size, unit] = UNITS.find(([least]) => seconds >= least);
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

export function tellTimes(inside = document) {
  for (const time of inside.querySelectorAll("time[data-unix]")) {
    if (!time.title) time.title = time.textContent;
    const said = ago(Number(time.dataset.unix));
    if (time.textContent !== said) time.textContent = said;
  }
}

tellTimes();
setInterval(tellTimes, 1000);
