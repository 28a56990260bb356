"use strict";
// The page's charts. Colours of text and grid are the style sheet's, for both themes.
const data = JSON.parse(document.getElementById("data").textContent);
// A page of the reports folder takes Plotly from a file beside it.
if (typeof Plotly === "undefined") {
  for (const box of document.querySelectorAll(".chart")) {
    box.textContent = "The charts need the file plotly-….min.js beside this page.";
  }
  throw new Error("no Plotly");
}
const CLEAR = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
const OPTIONS = { responsive: true, displayModeBar: false };

// On a phone, the names of neighbouring axes would overlap.
const isNarrow = window.innerWidth < 640;

for (const [name, figure] of Object.entries(data.figures)) {
  if (isNarrow && figure.data[0].type === "parcoords") {
    figure.data[0].labelangle = -50;
    Object.assign(figure.layout.margin, { l: 30, r: 85, t: 130 });
  }
  Plotly.newPlot(`chart-${name}`, figure.data, { ...figure.layout, ...CLEAR }, OPTIONS);
}

const inOrder = (values) => {
  const known = [...new Set(values)];
  const numbers = known.every((value) => typeof value === "number");
  return known.sort(numbers ? (a, b) => a - b : undefined);
};

// The fastest time of each pair of values, whatever the other parameters.
function drawHeat(box) {
  const trials = data.trials[Number(box.dataset.study)];
  const [x, y] = [...box.querySelectorAll("select")].map((select) => select.value);
  const columns = inOrder(trials.map((trial) => trial.config[x]));
  const rows = inOrder(trials.map((trial) => trial.config[y]));
  const fastest = rows.map((row) => columns.map((column) => {
    const times = trials
      .filter((trial) => trial.config[x] === column && trial.config[y] === row)
      .map((trial) => trial.time_ms);
    return times.length ? Math.min(...times) : null;
  }));
  const trace = {
    type: "heatmap",
    x: columns.map(String),
    y: rows.map(String),
    z: fastest.map((row) => row.map((time) => (time === null ? null : Math.log10(time)))),
    customdata: fastest,
    text: fastest.map((row) => row.map((time) => (time === null ? "" : time.toPrecision(3)))),
    texttemplate: columns.length * rows.length <= 100 ? "%{text}" : "",
    hovertemplate: `${x}=%{x}, ${y}=%{y}: %{customdata:.4g} ms<extra></extra>`,
    hoverongaps: false,
    colorscale: "Viridis",
    reversescale: true,
    showscale: false,
  };
  const layout = {
    ...CLEAR,
    xaxis: { title: { text: x }, type: "category", automargin: true },
    yaxis: { title: { text: y }, type: "category", automargin: true },
    margin: { l: 60, r: 20, t: 10, b: 50 },
  };
  Plotly.react(box.querySelector(".chart"), [trace], layout, OPTIONS);
}

for (const box of document.querySelectorAll(".heat")) {
  for (const select of box.querySelectorAll("select")) {
    select.addEventListener("change", () => drawHeat(box));
  }
  drawHeat(box);
}
