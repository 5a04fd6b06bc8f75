"use strict";
// A reader who looks at the page in a frame, unfolds everything, zooms, prints, and tells the page around it what was seen.
(async () => {
  const frame = new URLSearchParams(location.search).get("frame");
  const charts = [...document.querySelectorAll(".chart")];
  const isDrawn = chart => chart.classList.contains("drawn");
  const until = isSo => new Promise(resolve => {
    const every = setInterval(() => {
      if (!isSo()) return;
      clearInterval(every);
      resolve();
    }, 50);
  });
  await until(() => charts.every(chart => isDrawn(chart) || chart.closest("details:not([open])")));
  const first = document.querySelector("article");
  const bottom = what => first.querySelector(what)?.getBoundingClientRect().bottom ?? null;
  const answers = ["verdict", "number", "limiter", "next"].map(name => [name, bottom(`.answer.${name}`)]);
  const open = document.querySelectorAll("details[open]").length;
  dispatchEvent(new Event("beforeprint"));
  const printed = document.querySelectorAll("details:not([open])").length === 0 && charts.every(chart => chart.querySelector(".main-svg"));
  dispatchEvent(new Event("afterprint"));
  document.querySelectorAll("details").forEach(part => { part.open = true; });
  await until(() => charts.every(isDrawn));
  const overflow_px = document.documentElement.scrollWidth - innerWidth;
  const curves = document.querySelectorAll(".trace.scatter").length;
  const strips = [...document.querySelectorAll(".chart image")].filter(image => image.href.baseVal.length > 60).length;
  const seen = {
    frame, answers, picture: bottom(".picture .chart"), open, printed, overflow_px, charts: charts.length, curves, strips,
    zoomed: await zoomed(), keys: await keyed(), fetched: performance.getEntriesByType("resource").map(one => one.name),
    violations: await violations(),
  };
  parent.postMessage(JSON.stringify(seen), "*");

  // For each axis that charts of the first result share: what all of them show once the first was zoomed.
  async function zoomed() {
    const axes = {};
    for (const name of new Set([...first.querySelectorAll("[data-axis]")].map(chart => chart.dataset.axis))) {
      const all = [...first.querySelectorAll(`[data-axis="${name}"]`)];
      Plotly.relayout(all[0], { "xaxis.range[0]": 1, "xaxis.range[1]": 2 });
      await new Promise(resolve => setTimeout(resolve, 300));
      axes[name] = all.map(chart => chart.layout.xaxis.range.map(Number).join());
    }
    return axes;
  }

  // What the first chart shows after a key that zooms, and after the one that shows all.
  async function keyed() {
    const chart = charts[0];
    const seen = [];
    for (const key of ["0", "+", "0"]) {
      chart.focus();
      chart.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      await new Promise(resolve => setTimeout(resolve, 200));
      seen.push(chart.layout.xaxis.range.map(Number).join());
    }
    return seen;
  }

  async function violations() {
    // Flame graphs are documents of their own, without an origin: nobody looks into them from here.
    const { violations } = await axe.run(document, { iframes: false });
    return violations.map(({ id, help, nodes }) => `${id} (${help}): ${nodes.map(node => node.html.slice(0, 120)).join(" | ")}`);
  }
})();
