"use strict";
// A finger that scrolls past a chart must not zoom it.
const touch = matchMedia("(pointer: coarse)").matches;
for (const chart of document.querySelectorAll(".chart")) {
  const { data, layout, config } = JSON.parse(chart.querySelector("script").textContent);
  layout.dragmode = touch ? false : "zoom";
  chart.replaceChildren();
  Plotly.newPlot(chart, data, layout, config).then(() => chart.classList.add("drawn"));
}
