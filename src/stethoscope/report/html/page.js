/* Draws the charts of a report and joins them to its text. Everything that comes from a log is set as text. */
var stethoscope = (function () {
  "use strict";

  const COLOURS = 6;
  const SMOOTHINGS = [["none", 0], ["light", 0.01], ["medium", 0.03], ["strong", 0.1]];
  const HEIGHT = { least: 190, most: 300, share: 0.42 };
  const FADED = 0.45; // of the raw line behind a smoothed one
  const PAN = 0.2, ZOOM = 1.4; // shares and factors of what is seen
  const NARROWEST = 1e-9; // of the whole axis

  let charts = new Map(); // by id: what is drawn, and how
  const views = new Map(); // by axis: the steps that are seen, or none for all of them
  const manners = new Map(); // by title: log scale and smoothing, which outlive a replacement
  let highlighted = null; // {axis, first, last}

  // --- beginning, and beginning again with other data

  function start() {
    document.documentElement.classList.add("scripted");
    controls();
    document.addEventListener("click", clicked);
    window.addEventListener("hashchange", reveal);
    window.addEventListener("beforeprint", () => unfold(true));
    window.addEventListener("afterprint", () => unfold(false));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    show(JSON.parse(document.getElementById("stethoscope-data").textContent));
    reveal();
  }

  /* Replace the report: {title, markup, data}, as the server made it. Zoom, scales and smoothing stay. */
  function replace(content) {
    const open = new Set([...document.querySelectorAll("details[open] > summary")].map((s) => s.textContent));
    const at = window.scrollY;
    for (const chart of charts.values()) forget(chart);
    document.title = content.title;
    document.getElementById("report").innerHTML = content.markup;
    for (const summary of document.querySelectorAll("details > summary")) {
      summary.parentElement.open = open.has(summary.textContent);
    }
    show(content.data);
    window.scrollTo(0, at);
  }

  /* Go on with other data where the charts stand: zoom, scales, cursor and focus stay. */
  function goOn(data) {
    const before = charts;
    charts = new Map(data.charts.map((one) => [one.id, continued(before.get(one.id), decoded(one))]));
    for (const [id, chart] of before) if (charts.get(id) !== chart) forget(chart);
    settle();
  }

  /* The chart as it is drawn already, where only its points and marks are others. */
  function continued(known, fresh) {
    if (!known || shape(known) !== shape(fresh)) return fresh;
    const { place, drawn, links, marks } = known;
    const hasOtherMarks = JSON.stringify(marks) !== JSON.stringify(fresh.marks);
    return Object.assign(known, fresh, { place, drawn, links, hasOtherMarks });
  }

  function shape(chart) {
    return JSON.stringify([chart.title, chart.axis, chart.curves.map((curve) => curve.name)]);
  }

  function show(data) {
    charts = new Map(data.charts.map((one) => [one.id, decoded(one)]));
    settle();
  }

  const resized = new ResizeObserver((entries) =>
    requestAnimationFrame(() => entries.forEach((entry) => fit(entry.target))));

  function settle() {
    for (const chart of charts.values()) chart.extent = wholeAxis(chart.axis);
    for (const plot of document.querySelectorAll(".plot")) {
      const chart = charts.get(plot.dataset.chart);
      if (!chart) continue;
      const stands = chart.place === plot;
      chart.place = plot;
      if (stands && chart.drawn) renew(chart);
      else if (plot.hasChildNodes()) fit(plot); // what was drawn there is another chart by now
      resized.observe(plot); // draws it, too, as soon as it has a width
    }
  }

  function renew(chart) {
    chart.scale = scaleOf(chart);
    chart.lines = linesOf(chart);
    if (chart.hasOtherMarks) {
      for (const link of chart.links) link.remove();
      chart.links = chart.marks.map(markLink);
      chart.drawn.over.append(...chart.links);
    }
    chart.drawn.setData(tables(chart));
    placeMarks(chart);
    chart.place.lastChild.replaceWith(note(chart));
  }

  function forget(chart) {
    if (chart.drawn) chart.drawn.destroy();
    chart.drawn = null;
  }

  function decoded(chart) {
    const curves = chart.curves.map((curve) => ({
      ...curve,
      steps: summed(curve.steps),
      means: curve.means && { steps: summed(curve.means.steps), values: curve.means.values },
    }));
    const manner = manners.get(chart.title) || { log: chart.log, smoothing: 0 };
    manners.set(chart.title, manner);
    return { ...chart, curves, manner, own: extent(curves), place: null, drawn: null };
  }

  function summed(differences) {
    let step = 0;
    return differences.map((difference) => (step += difference));
  }

  /* The steps that a chart has something at; all charts of an axis show the same steps. */
  function extent(curves) {
    let first = Infinity, last = -Infinity;
    for (const curve of curves) {
      for (const step of [...ends(curve.steps), ...ends(curve.nonFinite.map(([at]) => at))]) {
        first = Math.min(first, step);
        last = Math.max(last, step);
      }
    }
    return [first, last];
  }

  function ends(steps) {
    return steps.length ? [steps[0], steps[steps.length - 1]] : [];
  }

  // --- one chart

  function fit(plot) {
    const chart = charts.get(plot.dataset.chart);
    const width = Math.floor(plot.clientWidth);
    if (!chart || width === 0) return;
    if (!chart.drawn) draw(chart);
    else if (chart.drawn.width !== width) chart.drawn.setSize({ width, height: height(width) });
  }

  function height(width) {
    return Math.round(Math.min(HEIGHT.most, Math.max(HEIGHT.least, width * HEIGHT.share)));
  }

  function draw(chart) {
    const focused = chart.place.contains(document.activeElement) && nameOf(document.activeElement);
    forget(chart);
    chart.place.replaceChildren(tools(chart));
    const canvas = make("div", {
      class: "canvas",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "chart",
      "aria-label": `Chart of ${chart.title}. Arrow keys move through its points, plus and minus zoom, ` +
        "shift and arrows pan, 0 shows everything, L changes the scale.",
      "aria-describedby": `${chart.id}-summary`,
    });
    chart.place.append(canvas);
    chart.scale = scaleOf(chart);
    chart.lines = linesOf(chart);
    const width = Math.max(200, Math.floor(chart.place.clientWidth));
    chart.links = chart.marks.map(markLink);
    chart.drawn = new uPlot(options(chart, width), tables(chart), canvas);
    for (const link of chart.links) chart.drawn.over.append(link);
    placeMarks(chart);
    chart.place.append(note(chart));
    canvas.addEventListener("keydown", (event) => pressed(chart, event));
    canvas.addEventListener("wheel", (event) => wheeled(chart, canvas, event), { passive: false });
    const again = focused && chart.place.querySelector(focused);
    if (again) again.focus({ preventScroll: true });
  }

  function nameOf(control) {
    return control.dataset.tool ? `[data-tool="${control.dataset.tool}"]` : ".canvas";
  }

  function options(chart, width) {
    const ink = colour("--faint"), grid = { stroke: colour("--grid"), width: 1 };
    return {
      width,
      height: height(width),
      padding: [8, 22, 0, 0],
      scales: {
        x: { time: false, range: () => views.get(chart.axis) || chart.extent },
        y: { range: (plot, low, high) => withHeadroom(chart.scale.range(low, high), chart.marks.length) },
      },
      axes: [
        {
          stroke: ink, grid, ticks: grid, space: 70, size: 32,
          splits: (plot, at, low, high) => roundValues(low, high, Math.max(2, plot.width / 90)),
          values: (plot, splits) => splits.map(shortStep),
        },
        {
          stroke: ink, grid, ticks: grid,
          size: (plot, values) => 22 + 7 * Math.max(3, ...(values || []).map((value) => value.length)),
          splits: (plot, at, low, high) => chart.scale.ticks(low, high, Math.max(2, plot.height / 45)),
          values: (plot, splits) => apart(splits.map((split) => chart.scale.from(split))),
        },
      ],
      series: [
        { label: chart.axis, value: (plot, step) => (step == null ? "" : whole(step)) },
        ...chart.lines.map((line) => ({
          label: line.name,
          stroke: line.colour,
          width: line.raw && line.behind ? 1 : 1.6,
          alpha: line.behind ? FADED : 1,
          points: { show: line.behind ? false : undefined, size: 4 },
          value: (plot, value) => (value == null ? "" : written(chart.scale.from(value))),
        })),
      ],
      legend: { live: true },
      cursor: {
        drag: { x: true, y: false, setScale: false },
        sync: { key: `axis ${chart.axis}`, setSeries: false, filters: { pub: isMove, sub: isMove } },
      },
      hooks: {
        drawClear: [(plot) => underlay(chart, plot)],
        draw: [(plot) => overlay(chart, plot)],
        setSelect: [(plot) => selected(chart, plot)],
      },
    };
  }

  function isMove(type) {
    return type === "mousemove" || type === "mouseleave" || type === "mouseenter";
  }

  function linesOf(chart) {
    const lines = [];
    chart.curves.forEach((curve, at) => {
      const own = colour(`--line-${at % COLOURS}`);
      const smoothed = chart.manner.smoothing > 0;
      lines.push({ name: curve.name, steps: curve.steps, values: curve.values, colour: own, behind: smoothed, raw: true });
      if (!smoothed) return;
      const means = curve.means || curve;
      const values = smooth(means.steps, means.values, chart.manner.smoothing * (chart.extent[1] - chart.extent[0]));
      lines.push({ name: `${curve.name}, smoothed`, steps: means.steps, values, colour: own, behind: false, raw: false });
    });
    return lines;
  }

  function tables(chart) {
    const own = chart.lines.map((line) => [line.steps, line.values.map((value) => (value == null ? null : chart.scale.to(value)))]);
    return uPlot.join(own);
  }

  /* The mean around each place, weighted by a bell of that width; a gap stays a gap. */
  function smooth(steps, values, width) {
    return values.map((value, at) => {
      if (value == null) return null;
      let sum = 0, weights = 0;
      for (let other = at; other >= 0 && steps[at] - steps[other] <= 3 * width; other--) add(other);
      for (let other = at + 1; other < steps.length && steps[other] - steps[at] <= 3 * width; other++) add(other);
      return weights ? sum / weights : value;
      function add(other) {
        if (values[other] == null) return;
        const far = (steps[other] - steps[at]) / width;
        const weight = Math.exp((-far * far) / 2);
        sum += weight * values[other];
        weights += weight;
      }
    });
  }

  // --- scales: values are drawn as `to` gives them, and told as `from` gives them back

  function scaleOf(chart) {
    const values = chart.curves.flatMap((curve) => curve.values).filter((value) => value != null);
    const sizes = values.map(Math.abs).filter((size) => size > 0);
    const largest = sizes.reduce((one, other) => Math.max(one, other), 0) || 1;
    const least = sizes.reduce((one, other) => Math.min(one, other), largest);
    if (!chart.manner.log) return linear(largest);
    return values.every((value) => value > 0) ? logarithmic() : twoSided(Math.max(least, largest * 1e-6));
  }

  function linear(largest) {
    const unit = largest > 1e25 || largest < 1e-25 ? largest : 1; // what is beyond has no ticks
    return {
      name: "linear",
      to: (value) => value / unit,
      from: (drawn) => drawn * unit,
      range: (low, high) => widened(low, high, 0),
      ticks: roundValues,
    };
  }

  function logarithmic() {
    return {
      name: "logarithmic",
      to: (value) => Math.log10(value),
      from: (drawn) => 10 ** drawn,
      range: (low, high) => widened(low, high, 0.1),
      ticks: (low, high, most) =>
        high - low < 1 ? withinDecade(low, high, most) : high - low < 3 ? oneTwoFive(low, high) : decades(low, high, most),
    };
  }

  /* Logarithmic on both sides of zero, and linear around it, so that zeros and losses below it can be seen. */
  function twoSided(threshold) {
    const to = (value) => Math.sign(value) * Math.log10(1 + Math.abs(value) / threshold);
    const from = (drawn) => Math.sign(drawn) * threshold * (10 ** Math.abs(drawn) - 1);
    const power = Math.ceil(Math.log10(threshold));
    return {
      name: "logarithmic on both sides of zero",
      to, from,
      range: (low, high) => widened(low, high, 0.1),
      ticks: (low, high, most) => {
        const reach = Math.ceil(Math.max(Math.abs(low), Math.abs(high)));
        const stride = Math.max(1, Math.ceil((high - low) / most));
        const found = [0];
        for (let up = 0; up <= reach; up += stride) found.push(to(10 ** (power + up)), -to(10 ** (power + up)));
        return found.filter((at) => at >= low && at <= high).sort((one, other) => one - other);
      },
    };
  }

  function widened(low, high, least) {
    if (low == null || high == null) return [0, 1];
    const span = high - low;
    if (span <= Math.max(1e-12 * Math.max(Math.abs(low), Math.abs(high)), 1e-300)) {
      const around = least || Math.abs(low) * 0.1 || 1;
      return [low - around, high + around];
    }
    return [low - span * 0.05, high + span * 0.05];
  }

  /* Room above the curve for the labels of marks, so that they do not stand on it. */
  function withHeadroom([low, high], marks) {
    return [low, marks ? high + (high - low) * 0.13 : high];
  }

  function roundValues(low, high, most) {
    const rough = (high - low) / most;
    if (!(rough > 0) || !isFinite(rough)) return [];
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999) || 10 * power;
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9); at <= high / step + 1e-9 && found.length < 40; at++) {
      found.push(Number((at * step).toPrecision(12)));
    }
    return found;
  }

  function decades(low, high, most) {
    const stride = Math.max(1, Math.ceil((high - low) / most));
    const found = [];
    for (let at = Math.ceil(low / stride) * stride; at <= high; at += stride) found.push(at);
    return found;
  }

  function oneTwoFive(low, high) {
    const found = [];
    for (let power = Math.floor(low); power <= high; power++) {
      for (const factor of high - low < 2 ? [1, 2, 5] : [1, 3]) found.push(power + Math.log10(factor));
    }
    return found.filter((at) => at >= low && at <= high);
  }

  function withinDecade(low, high, most) {
    return roundValues(10 ** low, 10 ** high, most).filter((value) => value > 0).map(Math.log10);
  }

  // --- what is drawn beside the lines

  function underlay(chart, plot) {
    const pen = plot.ctx, box = plot.bbox, dot = devicePixelRatio;
    pen.save();
    pen.beginPath();
    pen.rect(box.left, box.top, box.width, box.height);
    pen.clip();
    if (highlighted && highlighted.axis === chart.axis) {
      const left = plot.valToPos(highlighted.first, "x", true), right = plot.valToPos(highlighted.last, "x", true);
      pen.fillStyle = colour("--shown");
      pen.fillRect(left - dot, box.top, Math.max(2 * dot, right - left), box.height);
      pen.fillStyle = colour("--shown-edge");
      pen.fillRect(left - dot, box.top, Math.max(2 * dot, right - left), 3 * dot);
    }
    pen.font = `${10 * dot}px system-ui, sans-serif`;
    pen.textBaseline = "bottom";
    chart.regimes.forEach((regime, at) => {
      const left = plot.valToPos(regime.first, "x", true), right = plot.valToPos(regime.last, "x", true);
      pen.fillStyle = colour(at % 2 ? "--regime-odd" : "--regime-even");
      pen.fillRect(left, box.top, right - left, box.height);
      const room = Math.min(right, box.left + box.width) - Math.max(left, box.left) - 8 * dot;
      if (!chart.namesRegimes || pen.measureText(regime.title).width > room) return;
      pen.fillStyle = colour("--faint");
      pen.fillText(regime.title, Math.max(left, box.left) + 4 * dot, box.top + box.height - 8 * dot);
    });
    pen.restore();
  }

  function overlay(chart, plot) {
    const pen = plot.ctx, box = plot.bbox, dot = devicePixelRatio, bottom = box.top + box.height;
    pen.save();
    pen.beginPath();
    pen.rect(box.left, box.top, box.width, box.height + 1);
    pen.clip();
    pen.lineWidth = dot;
    pen.setLineDash([4 * dot, 3 * dot]);
    for (const mark of chart.marks) {
      const x = Math.round(plot.valToPos(mark.step, "x", true));
      pen.strokeStyle = colour(`--mark-${mark.kind}`) || colour("--faint");
      stroke(pen, x, box.top, bottom);
    }
    pen.setLineDash([]);
    pen.fillStyle = colour("--faint");
    for (const step of chart.saved) {
      const x = plot.valToPos(step, "x", true);
      pen.beginPath();
      pen.moveTo(x - 4 * dot, bottom);
      pen.lineTo(x + 4 * dot, bottom);
      pen.lineTo(x, bottom - 6 * dot);
      pen.fill();
    }
    pen.strokeStyle = colour("--bad");
    pen.lineWidth = 1.5 * dot;
    for (const curve of chart.curves) {
      for (const [step] of curve.nonFinite) stroke(pen, plot.valToPos(step, "x", true), bottom - 10 * dot, bottom);
    }
    pen.restore();
    placeMarks(chart, plot);
  }

  function stroke(pen, x, top, bottom) {
    pen.beginPath();
    pen.moveTo(x, top);
    pen.lineTo(x, bottom);
    pen.stroke();
  }

  function markLink(mark) {
    const link = make("a", { class: `mark ${mark.kind}`, href: `#${mark.to}`, title: mark.title });
    link.setAttribute("aria-label", `${mark.short} at ${whole(mark.step)}: ${mark.title}`);
    link.textContent = mark.short;
    link.dataset.step = mark.step;
    link.addEventListener("mousedown", (event) => event.stopPropagation()); // it begins no zoom
    return link;
  }

  /* Labels stand where their step is, one below the other where they would cover each other. */
  function placeMarks(chart, plot = chart.drawn) {
    if (!plot || !chart.links) return;
    const width = plot.over.clientWidth, ends = [];
    for (const link of chart.links) {
      const x = plot.valToPos(Number(link.dataset.step), "x");
      link.hidden = x < -1 || x > width + 1;
      if (link.hidden) continue;
      const long = 12 + 6.5 * link.textContent.length;
      const left = x + long > width ? x - long : x;
      let row = ends.findIndex((end) => end <= left);
      if (row < 0) row = ends.push(0) - 1;
      ends[row] = left + long;
      link.style.transform = `translate(${Math.round(left)}px, ${2 + 18 * row}px)`;
    }
  }

  function note(chart) {
    const kept = total(chart.curves, "kept"), points = total(chart.curves, "points");
    const bad = chart.curves.reduce((sum, curve) => sum + curve.nonFinite.reduce((s, [, n]) => s + n, 0), 0);
    const said = [];
    if (kept + bad < points) said.push(`Drawn from ${whole(kept)} of ${whole(points)} points; no extreme is left out.`);
    if (bad) said.push(`${whole(bad)} not finite: red ticks at the bottom.`);
    if (chart.saved.length) said.push("Triangles: saved checkpoints.");
    if (chart.manner.log) said.push(`Scale: ${chart.scale.name}.`);
    return make("p", { class: "note" }, said.join(" "));
  }

  function total(curves, key) {
    return curves.reduce((sum, curve) => sum + curve[key], 0);
  }

  // --- tools and controls

  function tools(chart) {
    const bar = make("div", { class: "tools" });
    const log = button("Log scale", "log", () => setManner(chart, { log: !chart.manner.log }));
    log.setAttribute("aria-pressed", String(chart.manner.log));
    const choice = make("select", { "data-tool": "smoothing" });
    for (const [name, width] of SMOOTHINGS) {
      const option = make("option", { value: String(width) }, name);
      option.selected = width === chart.manner.smoothing;
      choice.append(option);
    }
    choice.addEventListener("change", () => setManner(chart, { smoothing: Number(choice.value) }));
    const label = make("label", {}, "Smoothing ");
    label.append(choice);
    bar.append(
      log, label,
      button("\u2212", "out", () => zoomBy(chart, ZOOM), "Zoom out"),
      button("+", "in", () => zoomBy(chart, 1 / ZOOM), "Zoom in"),
      button("Whole run", "all", () => view(chart.axis, null)),
    );
    return bar;
  }

  function button(text, name, act, label) {
    const made = make("button", { type: "button", "data-tool": name }, text);
    if (label) made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  }

  function setManner(chart, change) {
    Object.assign(chart.manner, change);
    draw(chart);
  }

  function controls() {
    const theme = button("Dark mode", "theme", () => {
      setTheme(isDark() ? "light" : "dark");
      theme.setAttribute("aria-pressed", String(isDark()));
      redraw();
    });
    setTheme(remembered());
    theme.setAttribute("aria-pressed", String(isDark()));
    document.getElementById("controls").append(theme);
  }

  function isDark() {
    const asked = document.documentElement.dataset.theme;
    return asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function setTheme(theme) {
    if (theme !== "dark" && theme !== "light") return;
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("stethoscope-theme", theme); } catch { /* a page from disk may have no memory */ }
  }

  function remembered() {
    try { return localStorage.getItem("stethoscope-theme"); } catch { return null; }
  }

  function redraw() {
    for (const chart of charts.values()) if (chart.drawn) draw(chart);
  }

  // --- seeing more or less of the run

  function view(axis, steps) {
    if (steps) {
      const [first, last] = wholeAxis(axis), least = (last - first) * NARROWEST;
      let [low, high] = [Math.max(first, steps[0]), Math.min(last, steps[1])];
      if (!(high - low > least)) return;
      if (low <= first && high >= last) views.delete(axis);
      else views.set(axis, [low, high]);
    } else {
      views.delete(axis);
      highlighted = null;
    }
    for (const chart of charts.values()) {
      if (chart.axis !== axis || !chart.drawn) continue;
      const [min, max] = views.get(axis) || chart.extent;
      chart.drawn.setScale("x", { min, max });
    }
  }

  function wholeAxis(axis) {
    const own = [...charts.values()].filter((chart) => chart.axis === axis).map((chart) => chart.own);
    const first = Math.min(...own.map((one) => one[0])), last = Math.max(...own.map((one) => one[1]));
    return first < last ? [first, last] : [first - 1, first + 1];
  }

  function seen(chart) {
    return views.get(chart.axis) || chart.extent;
  }

  function selected(chart, plot) {
    const { left, width } = plot.select;
    if (width < 3) return;
    const steps = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    view(chart.axis, steps);
  }

  function zoomBy(chart, factor, around) {
    const [low, high] = seen(chart);
    const middle = around ?? (low + high) / 2;
    view(chart.axis, [middle - (middle - low) * factor, middle + (high - middle) * factor]);
  }

  function wheeled(chart, canvas, event) {
    // A page is scrolled with the same wheel: a chart takes it once it was chosen, or with a key held.
    if (!(event.ctrlKey || event.metaKey || document.activeElement === canvas)) return;
    event.preventDefault();
    const x = event.clientX - chart.drawn.over.getBoundingClientRect().left;
    zoomBy(chart, event.deltaY > 0 ? ZOOM : 1 / ZOOM, chart.drawn.posToVal(x, "x"));
  }

  function pressed(chart, event) {
    if (event.target !== event.currentTarget || event.altKey || event.ctrlKey || event.metaKey) return;
    const act = {
      ArrowLeft: () => (event.shiftKey ? pan(chart, -PAN) : move(chart, -1)),
      ArrowRight: () => (event.shiftKey ? pan(chart, PAN) : move(chart, 1)),
      Home: () => move(chart, -Infinity),
      End: () => move(chart, Infinity),
      "+": () => zoomBy(chart, 1 / ZOOM, cursorStep(chart)),
      "=": () => zoomBy(chart, 1 / ZOOM, cursorStep(chart)),
      "-": () => zoomBy(chart, ZOOM, cursorStep(chart)),
      0: () => view(chart.axis, null),
      Escape: () => view(chart.axis, null),
      l: () => again(chart, { log: !chart.manner.log }),
      L: () => again(chart, { log: !chart.manner.log }),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  function again(chart, change) {
    setManner(chart, change);
    say(`Scale: ${chart.scale.name}.`);
  }

  function pan(chart, share) {
    const [low, high] = seen(chart), by = share * (high - low), [first, last] = wholeAxis(chart.axis);
    const kept = Math.max(first - low, Math.min(last - high, by));
    view(chart.axis, [low + kept, high + kept]);
  }

  function cursorStep(chart) {
    const at = chart.drawn.cursor.idx;
    return at == null ? undefined : chart.drawn.data[0][at];
  }

  /* Move the cursor to the next point that is seen, and say what it is. */
  function move(chart, by) {
    const plot = chart.drawn, steps = plot.data[0], [low, high] = seen(chart);
    let first = steps.findIndex((step) => step >= low), last = steps.length - 1;
    while (last > first && steps[last] > high) last--;
    const from = plot.cursor.idx ?? (by > 0 ? first - 1 : last + 1);
    const at = Math.max(first, Math.min(last, from + by));
    plot.setCursor({ left: plot.valToPos(steps[at], "x"), top: plot.over.clientHeight / 2 });
    const told = chart.lines
      .map((line, row) => [line.name, plot.data[row + 1][at]])
      .filter(([, value]) => value != null)
      .map(([name, value]) => `${name} ${written(chart.scale.from(value))}`);
    say(`${chart.axis} ${whole(steps[at])}: ${told.join(", ") || "no value"}`);
  }

  // --- links between the text and the charts

  function clicked(event) {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    const chart = link && link.classList.contains("show") && charts.get(link.dataset.chart);
    if (chart) {
      event.preventDefault();
      showSteps(chart, Number(link.dataset.first), Number(link.dataset.last));
    } else if (link && location.protocol === "about:") {
      event.preventDefault(); // in a frame without an address a link would leave for the page around it
      arrive(link.getAttribute("href"));
    }
  }

  function showSteps(chart, first, last) {
    const [begin, end] = wholeAxis(chart.axis);
    const around = Math.max((last - first) * 0.15, (end - begin) * 0.04);
    openAround(chart.place);
    fit(chart.place);
    highlighted = { axis: chart.axis, first, last };
    views.delete(chart.axis);
    view(chart.axis, [first - around, last + around]);
    for (const one of charts.values()) if (one.drawn && one.axis === chart.axis) one.drawn.redraw(false, false);
    const canvas = chart.place.querySelector(".canvas");
    canvas.focus({ preventScroll: true });
    document.getElementById(chart.id).scrollIntoView({ block: "center" });
    say(`${chart.title}, ${chart.axis} ${whole(first)} to ${whole(last)}`);
  }

  function reveal() {
    arrive(location.hash);
  }

  function arrive(hash) {
    const target = hash.length > 1 && document.getElementById(hash.slice(1));
    if (!target) return;
    openAround(target);
    target.scrollIntoView({ block: "center" });
    if (target.hasAttribute("tabindex")) target.focus({ preventScroll: true });
  }

  function openAround(element) {
    for (let up = element; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  }

  function unfold(open) {
    for (const details of document.querySelectorAll("details")) {
      if (open && !details.open) details.dataset.folded = "";
      if (open) details.open = true;
      else if ("folded" in details.dataset) { details.open = false; delete details.dataset.folded; }
    }
  }

  // --- words and colours

  function say(text) {
    document.getElementById("said").textContent = text;
  }

  function make(name, attributes, text) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function whole(value) {
    return Math.round(value).toLocaleString("en-US");
  }

  function shortStep(value) {
    const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]];
    const [size, letter] = units.find(([least]) => Math.abs(value) >= least) || [1, ""];
    const unit = letter === "k" ? 1e3 : size;
    return `${Number((value / unit).toPrecision(6))}${letter}`;
  }

  /* Values with as many digits as tell them apart. */
  function apart(values) {
    for (let digits = 4; digits < 12; digits++) {
      const said = values.map((value) => written(value, digits));
      if (new Set(said).size === said.length) return said;
    }
    return values.map((value) => written(value));
  }

  function written(value, digits = 4) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    const short = Number(value.toPrecision(digits));
    return size >= 1e6 || size < 1e-4 ? short.toExponential().replace("e+", "e") : String(short);
  }

  start();
  return {
    replace,
    goOn,
    showSteps: (id, first, last) => showSteps(charts.get(id), first, last),
    view,
    seen: (id) => seen(charts.get(id)),
    drawn: (id) => charts.get(id).drawn.data,
  };
})();
