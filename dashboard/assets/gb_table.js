// What every table shares: its texts, its look, its CSV, its filter, and the event of a row that is chosen.
"use strict";

(function () {
  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
  const UNITS = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };

  functions.gbText = function (params) {
    const field = (params.colDef || params.column.getColDef()).field;
    return params.data ? params.data["t" + field.slice(1)] : "";
  };

  // What is unknown stands at the end, however one sorts.
  functions.gbCompare = function (a, b, first, second, isDescending) {
    if (a === null || b === null) return a === b ? 0 : (a === null ? 1 : -1) * (isDescending ? -1 : 1);
    return a - b;
  };

  functions.gbNanoseconds = function (text) {
    const found = /^\s*([\d.]+)\s*(ns|us|µs|ms|s)?\s*$/.exec(String(text === null || text === undefined ? "" : text));
    return found ? Number(found[1]) * UNITS[found[2] || "ms"] : null;
  };

  functions.gbLeave = function () { return false; };

  functions.gbTheme = function (theme) {
    return theme.withParams({
      backgroundColor: "var(--gb-paper)", foregroundColor: "var(--gb-ink)", headerBackgroundColor: "var(--gb-band)",
      borderColor: "var(--gb-edge)", accentColor: "var(--gb-accent)", chromeBackgroundColor: "var(--gb-band)",
      headerTextColor: "var(--gb-quiet)", browserColorScheme: "inherit", fontFamily: "inherit", fontSize: 13,
      headerFontSize: 12, spacing: 6,
      selectedRowBackgroundColor: "color-mix(in srgb, var(--gb-paper), var(--gb-accent) 18%)", wrapperBorderRadius: 4, cellHorizontalPadding: 8,
    });
  };

  // A cell that begins like a formula would be run by a spreadsheet. Numbers of ours are no text, and stay numbers.
  function cell(params) {
    const value = params.value;
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return value;
    return /^[=+\-@\t\r|%]/.test(value) ? "'" + value : value;
  }

  function head(params) {
    const column = params.column.getColDef();
    const unit = column.context && column.context.unit;
    return unit ? `${column.headerName} (${unit})` : column.headerName;
  }

  // AG Grid complains of an id that is none of its tables.
  function api(id) {
    const place = document.getElementById(id);
    if (!place || !place.querySelector(".ag-root") || !window.dash_ag_grid) return null;
    return window.dash_ag_grid.getApi(id);
  }

  function csvOf(drawn) {
    const quoted = (text) => `"${String(text).replace(/"/g, '""')}"`;
    const own = (place) => {
      if (place.dataset.value !== undefined) {
        return place.classList.contains("gb-number") ? place.dataset.value : cell({ value: place.dataset.value });
      }
      const text = place.dataset.unit ? `${place.textContent} (${place.dataset.unit})` : place.textContent;
      return cell({ value: text });
    };
    return Array.from(drawn.rows, (row) => Array.from(row.cells, (one) => quoted(own(one))).join(",")).join("\r\n");
  }

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest(".gb-table-csv");
    if (!button) return;
    const grid = api(button.dataset.gbTable);
    if (!grid) {
      const drawn = document.querySelector(`#${CSS.escape(button.dataset.gbTable)} table`);
      if (drawn) save(button.dataset.gbFile + ".csv", csvOf(drawn));
    } else {
      grid.exportDataAsCsv({ fileName: button.dataset.gbFile + ".csv", processCellCallback: cell, processHeaderCallback: head });
    }
  });

  document.addEventListener("input", function (event) {
    const holder = event.target.closest("[data-gb-table]");
    const grid = holder && api(holder.dataset.gbTable);
    if (grid) grid.setGridOption("quickFilterText", event.target.value);
  });

  // What is wider than its place is a stop of the Tab key, so that the arrow keys scroll it; a browser may see to it by
  // itself, but not where the table holds a link.
  const seen = new ResizeObserver(function (changes) {
    for (const { target } of changes) {
      const place = target.closest(".gb-wide");
      if (!place) continue;
      if (place.scrollWidth > place.clientWidth) {
        place.tabIndex = 0;
        place.setAttribute("role", "region");
        if (!place.hasAttribute("aria-label")) place.setAttribute("aria-label", "table, scrolls sideways");
      } else {
        place.removeAttribute("tabindex");
        place.removeAttribute("role");
      }
    }
  });
  new MutationObserver(function (changes) {
    for (const change of changes) {
      for (const node of change.addedNodes) {
        if (node.nodeType !== Node.ELEMENT_NODE) continue;
        const found = [...node.querySelectorAll(".gb-wide")];
        for (const place of node.matches(".gb-wide") ? [node, ...found] : found) {
          seen.observe(place);
          if (place.firstElementChild) seen.observe(place.firstElementChild);
        }
      }
    }
  }).observe(document.documentElement, { childList: true, subtree: true });

  // AG Grid writes `&gt;` into the attribute row-id where a key holds `>`: the grid itself is asked.
  function keyOf(table, row) {
    if (row.dataset.rowId !== undefined) return row.dataset.rowId;
    const grid = api(table), node = grid && grid.getDisplayedRowAtIndex(Number(row.getAttribute("row-index")));
    return node ? node.id : null;
  }

  function chosen(target) {
    const row = target.closest(".gb-grid [row-id], .gb-grid [data-row-id]");
    if (!row) return;
    const table = row.closest(".gb-grid").id, key = keyOf(table, row);
    if (key !== null) window.dispatchEvent(new CustomEvent("gb-row", { detail: { table, key } }));
  }

  document.addEventListener("click", (event) => { if (!event.target.closest(".gb-table-csv, summary")) chosen(event.target); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.closest(".ag-cell, tr[data-row-id]")) chosen(event.target);
  });

  // Marks the row of a key as the chosen one, and brings it into sight. A table that is not drawn yet is waited for, and
  // one that Dash fills anew meanwhile, which forgets its selection, is marked again; a hand in the table ends it.
  const WAIT_MS = 150, TURNS = 200;  // half a minute: on a crowded machine the table takes long
  const wanted = new Map();

  function mark(table, key) {
    const row = document.querySelector(`#${table} tr[data-row-id="${CSS.escape(key)}"]`);
    if (row) {
      document.querySelectorAll(`#${table} tr[data-row-id]`).forEach((one) => {
        one.setAttribute("aria-selected", String(one === row));
      });
      return;
    }
    const grid = api(table), node = grid && grid.getRowNode(key);
    if (!node || node.isSelected()) return;
    node.setSelected(true, true);
    grid.ensureNodeVisible(node);
  }

  function keep(table, key, turns) {
    if (wanted.get(table) !== key || turns === 0) return;
    mark(table, key);
    setTimeout(() => keep(table, key, turns - 1), WAIT_MS);
  }

  function letGo(event) {
    const place = event.target.closest && event.target.closest(".gb-grid");
    if (place) wanted.delete(place.id);
  }
  document.addEventListener("pointerdown", letGo, true);
  document.addEventListener("keydown", letGo, true);

  window.graphbound.markRow = function (table, key) {
    if (wanted.get(table) === key) return;
    wanted.set(table, key);
    if (key !== null && key !== undefined) {
      keep(table, key, TURNS);
    } else {
      document.querySelectorAll(`#${table} tr[data-row-id]`).forEach((row) => row.setAttribute("aria-selected", "false"));
    }
  };
})();
