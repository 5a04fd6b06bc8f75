"use strict";
// A finger that scrolls past a chart must not zoom it.
const touch = matchMedia("(pointer: coarse)").matches;
const waiting = new Set(document.querySelectorAll(".chart"));
// One after the other, so that the text and the first charts can be read while the rest is drawn; those inside a part that is
// folded have no size, and wait until it is not.
function drawNext() {
  const chart = [...waiting].find(chart => !chart.closest("details:not([open])"));
  if (!chart) return;
  draw(chart);
  setTimeout(drawNext);
}
function draw(chart) {
  waiting.delete(chart);
  const { data, layout, config } = JSON.parse(chart.querySelector("script").textContent);
  layout.dragmode = touch ? false : "zoom";
  chart.replaceChildren();
  return Plotly.newPlot(chart, data, layout, config).then(() => {
    chart.classList.add("drawn");
    chart.whole = [...chart.layout.xaxis.range];
    const seen = shared(chart).seen;
    if (seen) Plotly.relayout(chart, seen);
    if (chart.dataset.axis) chart.on("plotly_relayout", change => follow(chart, change));
  });
}
// What is seen of the charts of a result that share an axis.
const axes = new WeakMap();
function shared(chart) {
  const article = chart.closest("article");
  if (!axes.has(article)) axes.set(article, {});
  const all = axes.get(article);
  return all[chart.dataset.axis] ??= {};
}
// Charts on one axis are one picture: what is seen of one is seen of all.
let following = false;
function follow(chart, change) {
  const seen = Object.entries(change).filter(([name]) => name.startsWith("xaxis."));
  if (following || !seen.length) return;
  following = true;
  shared(chart).seen = Object.fromEntries(seen);
  const axis = `.chart.drawn[data-axis="${chart.dataset.axis}"]`;
  const others = [...chart.closest("article").querySelectorAll(axis)].filter(other => other !== chart);
  Promise.all(others.map(other => Plotly.relayout(other, shared(chart).seen))).finally(() => { following = false; });
}
// How far the ends of the axis move with a key, in parts of what is seen.
const moves = { "+": [.15, -.15], "-": [-.25, .25], ArrowLeft: [-.1, -.1], ArrowRight: [.1, .1], "0": null };
addEventListener("keydown", event => {
  const chart = event.target.closest(".chart.drawn");
  if (!chart || !(event.key in moves) || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  const [begin, end] = chart.layout.xaxis.range.map(Number);
  const move = moves[event.key]?.map(part => part * (end - begin));
  Plotly.relayout(chart, { "xaxis.range": move ? [begin + move[0], end + move[1]] : [...chart.whole] });
});
addEventListener("toggle", () => window.Plotly && drawNext(), true);
// On paper nothing can be unfolded, and everything is as wide as the paper.
const PAPER_PX = 680;
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not([open])")) {
    part.open = true;
    part.classList.add("folded");
  }
  if (!window.Plotly) return;
  for (const chart of [...waiting]) draw(chart);
  for (const chart of document.querySelectorAll(".chart")) Plotly.relayout(chart, { width: PAPER_PX });
});
addEventListener("afterprint", () => {
  const charts = [...document.querySelectorAll(".chart")].filter(chart => chart.layout);
  for (const chart of charts) Plotly.relayout(chart, { width: null, autosize: true });
  for (const part of document.querySelectorAll("details.folded")) {
    part.open = false;
    part.classList.remove("folded");
  }
});
// The library waits for the moment in which the text gets on the screen.
addEventListener("load", () => setTimeout(async () => {
  const library = document.createElement("script");
  library.textContent = await inflated(document.getElementById("plotly").textContent);
  document.head.append(library);
  drawNext();
}, 50));
function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
