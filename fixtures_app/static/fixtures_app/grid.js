/* Entities as grids: like a sheet, with the keyboard, by pasting, sorted, from a file. */
(() => {
  "use strict";

  const { fill, changed, appendRow, announce } = window.evalwellRows;
  const { parse, readFile, put, shown } = window.evalwellSheets;
  const INPUT = "input:not([type=hidden]), select, textarea";

  const bodyOf = (grid) => grid.tBodies[0];
  const rowsOf = (grid) => [...bodyOf(grid).rows].filter((row) => !row.classList.contains("ew-removed"));
  const inputsOf = (row) => [...row.cells].map((cell) => cell.querySelector(INPUT)).filter(Boolean);
  const namesOf = (grid) => [...grid.tHead.querySelectorAll("[data-column]")].map((head) => head.dataset.column);
  const sheetOf = (part) => part.closest("[data-sheet]");
  const refOf = (row) => row.querySelector('[name$="-ref"]');

  function report(grid, text) {
    const place = grid.querySelector("[data-report]");
    place.textContent = text;
    place.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  function recount(grid) {
    sheetOf(grid).querySelector("[data-count]").textContent = rowsOf(grid).length;
  }

  /** Change a cell as if a person had typed: relations follow a new ref. */
  function type(input, text) {
    input.dispatchEvent(new Event("focusin", { bubbles: true }));
    put(input, text);
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  /** Give a new row a ref that no entity has: order-1, order-2. */
  function nameRow(row, kind) {
    const taken = new Set(
      [...document.querySelectorAll('[name^="entities-"][name$="-ref"]')].map((input) => input.value),
    );
    let number = 1;
    while (taken.has(`${kind}-${number}`)) number += 1;
    refOf(row).value = `${kind}-${number}`;
  }

  function newRow(grid) {
    const row = appendRow(grid);
    nameRow(row, sheetOf(grid).dataset.sheet);
    row.querySelector('[name$="-position"]').value = ""; // at the end
    recount(grid);
    return row;
  }

  function addRow(grid) {
    const row = newRow(grid);
    inputsOf(row)[0].focus();
    inputsOf(row)[0].select?.();
    announce(`Entity ${rowsOf(grid).length} added.`);
    changed(row);
  }

  /** Go to the same column of another row; below the last one a new row is made. */
  function step(input, by, { makes = false } = {}) {
    const grid = input.closest("[data-grid]");
    const rows = rowsOf(grid);
    const row = input.closest("tr");
    const column = inputsOf(row).indexOf(input);
    let target = rows[rows.indexOf(row) + by];
    if (!target && makes && by > 0) {
      target = newRow(grid);
      changed(target);
    }
    if (!target) return false;
    inputsOf(target)[column].focus();
    inputsOf(target)[column].select?.();
    return true;
  }

  function paste(input, text) {
    const grid = input.closest("[data-grid]");
    const first = rowsOf(grid).indexOf(input.closest("tr"));
    const left = inputsOf(input.closest("tr")).indexOf(input);
    let cut = 0;
    const before = rowsOf(grid).length;
    parse(text, "\t").forEach((values, down) => {
      const row = rowsOf(grid)[first + down] ?? newRow(grid);
      values.forEach((value, across) => {
        const target = inputsOf(row)[left + across];
        if (target) type(target, value);
        else cut += 1;
      });
    });
    const added = rowsOf(grid).length - before;
    const lost = cut
      ? ` ${counted(cut, "cell")} to the right of the last column ${cut === 1 ? "was" : "were"} left out.`
      : "";
    report(grid, `Pasted; ${counted(added, "row")} added. Nothing is saved yet.${lost}`);
    changed(input);
  }

  function sort(button) {
    const grid = button.closest("[data-grid]");
    const head = button.closest("th");
    const column = [...head.parentElement.cells].indexOf(head);
    const isDown = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    const order = new Intl.Collator(undefined, { numeric: true });
    const value = (row) => shown(row.cells[column].querySelector(INPUT));
    const rows = [...bodyOf(grid).rows].sort((one, other) => order.compare(value(one), value(other)));
    bodyOf(grid).append(...(isDown ? rows.reverse() : rows));
    announce(`Sorted by ${head.dataset.column ?? button.title}, ${isDown ? "descending" : "ascending"}.`);
    changed(grid);
  }

  const escaped = (text) =>
    Object.assign(document.createElement("i"), { textContent: text }).innerHTML.replaceAll('"', "&quot;");

  function addColumn(grid, name) {
    const names = {
      __column__: escaped(name),
      __quoted__: encodeURIComponent(name),
      __sheet__: sheetOf(grid).dataset.sheet,
    };
    const template = (which) => fill(document.querySelector(`template[${which}]`), names);
    grid.tHead.querySelector("[data-status]").before(template("data-blank-head"));
    const blank = grid.querySelector("template[data-blank]").content.querySelector("tr");
    for (const row of [...bodyOf(grid).rows, blank]) {
      const cell = fill(document.querySelector("template[data-blank-cell]"), {
        ...names,
        "entities-__prefix__": row.dataset.prefix,
      });
      row.querySelector('[name$="-status"]').closest("td").before(cell);
    }
    for (const wide of [...grid.querySelectorAll("td[colspan]"), blank.querySelector("td[colspan]")]) wide.colSpan += 1;
    changed(grid);
  }

  function addNamedColumn(button) {
    const grid = button.closest("[data-grid]");
    const input = grid.querySelector("[data-new-column]");
    const name = input.value.trim();
    if (!name) return input.focus();
    if (namesOf(grid).includes(name)) return report(grid, `There is a column ${name} already.`);
    addColumn(grid, name);
    input.value = "";
    announce(`Column ${name} added.`);
    return (rowsOf(grid)[0]?.cells[namesOf(grid).length]?.querySelector(INPUT) ?? input).focus();
  }

  /** Find the place of each column of a file: 0 is the ref; -1 is none. */
  function places(grid, heads) {
    const names = namesOf(grid);
    const plain = (name) => name.trim().toLowerCase();
    return heads.map((head) => {
      const at = names.findIndex((name) => plain(name) === plain(head));
      if (at >= 0) return at + 1;
      if (["ref", "id", "name"].includes(plain(head))) return 0;
      return plain(head) === "status" ? names.length + 1 : -1;
    });
  }

  async function upload(grid, file, address) {
    const { rows, problem } = await readFile(file, address);
    if (problem) return report(grid, `${file.name}: ${problem}`);
    const [heads, ...lines] = rows;
    if (!heads || !lines.length) {
      return report(grid, `${file.name} has no rows. The first line has the names of the columns.`);
    }
    const unknown = heads.filter((head, at) => head.trim() && places(grid, heads)[at] < 0);
    const isOpen = Boolean(grid.querySelector("[data-new-column]"));
    if (isOpen) { for (const head of unknown) addColumn(grid, head.trim()); }
    const at = places(grid, heads);
    const refs = new Map(rowsOf(grid).map((row) => [refOf(row).value, row]));
    let added = 0;
    for (const line of lines) {
      const ref = line[at.indexOf(0)]?.trim();
      const row = refs.get(ref) ?? newRow(grid);
      if (!refs.has(ref)) added += 1;
      if (ref) refs.set(ref, row);
      line.forEach((value, column) => {
        const input = inputsOf(row)[at[column]];
        if (input && (at[column] > 0 || value.trim())) type(input, value);
      });
    }
    const left = isOpen || !unknown.length
      ? ""
      : ` Left out, because the type has no such field: ${unknown.join(", ")}.`;
    const counts = `${counted(added, "row")} added, ${lines.length - added} changed.`;
    report(grid, `${counts} Nothing is saved yet: check them, then save.${left}`);
    changed(grid);
    return undefined;
  }

  function chooseFile(button) {
    const input = Object.assign(document.createElement("input"), { type: "file", accept: ".csv,.tsv,.xlsx,text/csv" });
    input.addEventListener(
      "change",
      () => upload(button.closest("[data-grid]"), input.files[0], button.dataset.upload),
    );
    input.click();
  }

  function addToSheet(button) {
    const slug = button.parentElement.querySelector("[data-sheet-choice]").value;
    const sheet = document.querySelector(`[data-sheet="${slug}"]`);
    sheet.hidden = false;
    addRow(sheet.querySelector("[data-grid]"));
  }

  const actions = {
    "[data-sort]": sort,
    "[data-add-column]": addNamedColumn,
    "[data-upload]": chooseFile,
    "[data-add-sheet]": addToSheet,
    "[data-grid] [data-add]": (button) => addRow(button.closest("[data-grid]")),
  };

  // Before rows.js, which would add a row without a ref.
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    const selector = button && Object.keys(actions).find((name) => button.matches(name));
    if (!selector) return;
    event.stopPropagation();
    actions[selector](button);
  }, true);

  document.addEventListener("click", (event) => {
    const grid = event.target.closest?.("[data-remove], [data-undo]")?.closest("[data-grid]");
    if (grid) recount(grid);
  });

  document.addEventListener("keydown", (event) => {
    const input = event.target;
    if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" && input.matches?.("[data-new-column]")) {
      event.preventDefault();
      input.closest("[data-grid]").querySelector("[data-add-column]").click();
    } else if (input.matches?.("[data-grid] tbody :is(input, select)")) {
      const isPlain = input.matches("input:not([type=date])");
      if (event.key === "Enter") {
        event.preventDefault();
        step(input, event.shiftKey ? -1 : 1, { makes: true });
      } else if (isPlain && !input.list && ["ArrowUp", "ArrowDown"].includes(event.key)) {
        if (step(input, event.key === "ArrowUp" ? -1 : 1)) event.preventDefault();
      }
    }
  });

  document.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (!event.target.matches?.("[data-grid] tbody :is(input, select, textarea)")) return;
    const isOneCell = !text.includes("\t") && (event.target.matches("textarea") || !text.trim().includes("\n"));
    if (isOneCell) return;
    event.preventDefault();
    paste(event.target, text);
  });

  // Rows of several types share one order: the rows of a grid trade the places that they have.
  document.addEventListener("submit", (event) => {
    const positions = [...event.target.querySelectorAll('[data-grid] > tbody [name$="-position"]')];
    let next = Math.max(-1, ...positions.map((input) => Number(input.value)));
    for (const grid of event.target.querySelectorAll("[data-grid]")) {
      const own = [...bodyOf(grid).querySelectorAll('[name$="-position"]')];
      const places = own.filter((input) => input.value !== "").map((input) => Number(input.value)).sort((a, b) =>
        a - b
      );
      for (const input of own) {
        if (places.length) input.value = places.shift();
        else input.value = next += 1;
      }
    }
  }, true);
})();
