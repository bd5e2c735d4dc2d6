// Before a page is printed: the light look, figures as narrow as the paper, tables with all of their columns; then back.
"use strict";

(function () {
  const MOST_ROWS = 300;
  let look = null;  // what was chosen before; null while nothing is printed
  let opened = [];

  function plots() {
    return Array.from(document.querySelectorAll(".js-plotly-plot")).filter(
      (plot) => window.Plotly && plot._fullLayout && plot.layout && plot.checkVisibility());
  }

  // Sideways scrolling hides columns, and only the rows in sight are drawn: a plain table has all of both.
  function plainTable(grid) {
    const columns = grid.getAllDisplayedColumns();
    const table = document.createElement("table");
    table.className = "gb-table gb-printed";
    const head = table.createTHead().insertRow();
    for (const column of columns) {
      const cell = document.createElement("th");
      cell.textContent = column.getColDef().headerName;
      head.append(cell);
    }
    const body = table.createTBody();
    let rows = 0;
    grid.forEachNodeAfterFilterAndSort(function (node) {
      if (++rows > MOST_ROWS) return;
      const row = body.insertRow();
      for (const column of columns) {
        const { field } = column.getColDef(), text = node.data["t" + field.slice(1)];
        const cell = row.insertCell();
        cell.textContent = text === undefined ? node.data[field] : text;
        if (text !== undefined) cell.className = "gb-number";
      }
    });
    if (rows > MOST_ROWS) table.createCaption().textContent = `the first ${MOST_ROWS} of ${rows.toLocaleString("en")} rows`;
    return table;
  }

  // Also in a fold that is not open: it is on paper.
  function tables() {
    for (const place of document.querySelectorAll("section:not([hidden]) .gb-grid[id]")) {
      if (!place.querySelector(".ag-root") || !window.dash_ag_grid) continue;
      const box = place.closest(".gb-table-box"), grid = window.dash_ag_grid.getApi(place.id);
      if (!box || !grid) continue;
      box.append(plainTable(grid));
      box.classList.add("gb-has-print");
    }
  }

  // Where style cannot open a fold on paper (Firefox before 143), it is opened. Code that is fetched would come too late.
  function openFolds() {
    if (CSS.supports("selector(::details-content)")) return;
    const closed = "section:not([hidden]) details:not([open], .gb-generated, .gb-long)";
    opened = Array.from(document.querySelectorAll(closed)).filter((fold) => !fold.closest(".gb-timeline"));
    for (const fold of opened) fold.open = true;
  }

  // A width that a figure is given is forgotten when Dash draws it again; that of its place is not (`gb_print.css`).
  function dress() {
    graphbound.figures.paintAll();
    for (const plot of plots()) window.Plotly.relayout(plot, { autosize: true });
    if (graphbound.shown && graphbound.shown.isPlanned()) {
      graphbound.shown.replan();
      graphbound.shown.paintNow();
    }
  }

  window.addEventListener("beforeprint", function () {
    if (look !== null) return;
    const root = document.documentElement;
    look = root.dataset.look || "";
    root.dataset.look = "light";
    root.classList.add("gb-on-paper");
    openFolds();
    tables();
    dress();
  });

  window.addEventListener("afterprint", function () {
    if (look === null) return;
    const root = document.documentElement;
    if (look) root.dataset.look = look;
    else delete root.dataset.look;
    root.classList.remove("gb-on-paper");
    look = null;
    for (const fold of opened) fold.open = false;
    opened = [];
    for (const made of document.querySelectorAll("table.gb-printed")) {
      made.parentElement.classList.remove("gb-has-print");
      made.remove();
    }
    dress();
  });
})();
