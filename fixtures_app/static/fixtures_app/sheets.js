/* Cells of spreadsheets: text that was copied from one, CSV files, and workbooks, which the server reads. */
(() => {
  "use strict";

  /** Give the rows of a text with separators; cells in quotes may have newlines. */
  function parse(text, separator) {
    const rows = [[]];
    let cell = "";
    let isQuoted = false;
    for (let at = 0; at < text.length; at += 1) {
      const sign = text[at];
      if (isQuoted) {
        if (sign === '"' && text[at + 1] === '"') {
          cell += sign;
          at += 1;
        } else if (sign === '"') isQuoted = false;
        else cell += sign;
      } else if (sign === '"' && cell === "") isQuoted = true;
      else if (sign === separator) {
        rows.at(-1).push(cell);
        cell = "";
      } else if (sign === "\n") {
        rows.at(-1).push(cell);
        cell = "";
        rows.push([]);
      } else if (sign !== "\r") cell += sign;
    }
    rows.at(-1).push(cell);
    return rows.filter((row) => row.some((value) => value.trim()));
  }

  /** Read a file: UTF-8, or what Excel writes in western countries. */
  async function readCsv(file) {
    const bytes = await file.arrayBuffer();
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      text = new TextDecoder("windows-1252").decode(bytes);
    }
    const head = text.split("\n", 1)[0];
    const count = (separator) => head.split(separator).length;
    const separator = [",", ";", "\t"].reduce((best, other) => (count(other) > count(best) ? other : best));
    return parse(text, separator);
  }

  /** Send a workbook to an address, which answers with the rows of its first sheet. */
  async function readWorkbook(file, address) {
    const body = new FormData();
    body.append("file", file);
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    try {
      const answer = await fetch(address, { method: "POST", body, headers: { "X-CSRFToken": token } });
      return await answer.json();
    } catch {
      return { problem: "The site did not answer. Check that you are still signed in, then try again." };
    }
  }

  /** Give the rows of a file, or what is wrong with it. */
  async function readFile(file, address) {
    return /\.xls[xm]?$/i.test(file.name) ? readWorkbook(file, address) : { rows: await readCsv(file) };
  }

  /** Put a text into an input of any kind, so that it can be seen even if it does not fit. */
  function put(input, text) {
    if (input.type === "checkbox") {
      input.checked = /^(true|yes|x|1)$/i.test(text.trim());
    } else if (input.matches("select")) {
      const wanted = text.trim().toLowerCase();
      const options = [...input.options];
      const meant = options.find((option) => [option.value, option.text].some((name) => name.toLowerCase() === wanted));
      if (!meant) input.add(new Option(text, text));
      input.value = meant ? meant.value : text;
    } else if (input.matches("input") && text.includes("\n")) {
      const area = document.createElement("textarea");
      for (const { name, value } of input.attributes) {
        if (!["type", "value"].includes(name)) area.setAttribute(name, value);
      }
      area.rows = 2;
      area.value = text;
      input.replaceWith(area);
    } else {
      input.value = text;
      if (input.type === "date" && input.value === "" && text.trim()) {
        input.type = "text"; // a browser drops a date that is none
        input.value = text;
      }
    }
  }

  const shown = (input) => (input.type === "checkbox" ? String(input.checked) : input.value);

  window.evalwellSheets = { parse, readFile, put, shown };
})();
