"use strict";
// A finger that scrolls past a chart must not zoom it.
const touch = matchMedia("(pointer: coarse)").matches;
const waiting = [...document.querySelectorAll(".chart")];
// One after the other, so that the text and the first charts can be read while the rest is drawn.
function drawNext() {
  const chart = waiting.shift();
  if (!chart) return;
  setTimeout(drawNext);
  const { data, layout, config } = JSON.parse(chart.querySelector("script").textContent);
  layout.dragmode = touch ? false : "zoom";
  chart.replaceChildren();
  Plotly.newPlot(chart, data, layout, config).then(() => {
    chart.classList.add("drawn");
    if ("clock" in chart.dataset) chart.on("plotly_relayout", change => follow(chart, change));
  });
}
// The charts of a run are one picture over time: what is seen of one is seen of all.
let following = false;
function follow(chart, change) {
  const seen = Object.entries(change).filter(([name]) => name.startsWith("xaxis."));
  if (following || !seen.length) return;
  following = true;
  const others = [...chart.closest("article").querySelectorAll(".chart.drawn[data-clock]")].filter(other => other !== chart);
  Promise.all(others.map(other => Plotly.relayout(other, Object.fromEntries(seen)))).finally(() => { following = false; });
}
// The library is megabytes of script: it waits for the moment in which the text gets on the screen.
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
