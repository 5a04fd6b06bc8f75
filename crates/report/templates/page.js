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
  Plotly.newPlot(chart, data, layout, config).then(() => chart.classList.add("drawn"));
}
// The library is megabytes of script: it waits for the moment in which the text gets on the screen.
addEventListener("load", () => setTimeout(() => {
  const library = document.createElement("script");
  library.textContent = document.getElementById("plotly").textContent;
  document.head.append(library);
  drawNext();
}, 50));
