import { deepStrictEqual as equal, ok } from "node:assert";
import { open } from "./dom.js";

const SCRIPTS = ["rows", "sheets", "grid"].map((name) => `fixtures_app/static/fixtures_app/${name}.js`);

const row = (at, ref, price, position) => `
  <tr data-row="Entity" data-prefix="entities-${at}">
    <td><input name="entities-${at}-ref" value="${ref}"><input type="hidden" name="entities-${at}-position" value="${position}"></td>
    <td><input name="entities-${at}-price" value="${price}"></td>
    <td><input name="entities-${at}-status" value=""></td>
    <td colspan="3"><input type="hidden" name="entities-${at}-DELETE"><button data-remove>Remove</button></td>
  </tr>`;

/** Give the page of a fixture with one sheet of orders: ref, price, status. */
const page = (...lines) =>
  open(
    `<form><p data-announce></p>
      <div data-sheet="order"><h4><span data-count></span></h4>
      <table data-formset="entities" data-grid>
        <thead><tr>
          <th><button title="Sort by ref" data-sort>Ref</button></th>
          <th data-column="price"><button data-sort>price</button></th>
          <th data-status><button data-sort>Status</button></th>
        </tr></thead>
        <tbody data-list>${
      lines.map(([ref, price, position = ""], at) => row(at, ref, price, position)).join("")
    }</tbody>
        <template data-blank>${row("__prefix__", "", "", "")}</template>
        <tfoot><tr><td><p data-report></p><input data-new-column><button data-add-column>+</button></td></tr></tfoot>
      </table></div>
      <input type="hidden" name="entities-TOTAL_FORMS" value="${lines.length}">
      <template data-blank-head><th data-column="__column__"><button data-sort>__column__</button></th></template>
      <template data-blank-cell><td><input name="entities-__prefix__-__quoted__"></td></template>
    </form>`,
    ...SCRIPTS,
  );

const cells = (html) =>
  html.querySelectorAll("tbody tr").map((line) =>
    line.querySelectorAll("input:not([type=hidden])").map((input) => input.value)
  );
const report = (html) => html.querySelector("[data-report]").textContent;
const sortBy = (html, at) => html.querySelectorAll("[data-sort]")[at].click();

function paste(html, name, text) {
  const event = new Event("paste", { cancelable: true });
  event.clipboardData = { getData: () => text };
  html.getElementsByName(name)[0].dispatchEvent(event);
  return event;
}

function press(html, name, key, more = {}) {
  const event = Object.assign(new Event("keydown", { cancelable: true }), { key, ...more });
  html.getElementsByName(name)[0].dispatchEvent(event);
  return event;
}

Deno.test("a pasted block fills cells to the right and below, and makes rows", () => {
  const html = page(["a", "1"], ["b", "2"]);

  ok(paste(html, "entities-1-ref", "x\t7\ny\t8\n").defaultPrevented);

  equal(cells(html), [["a", "1", ""], ["x", "7", ""], ["y", "8", ""]]);
  equal(html.querySelector("[data-count]").textContent, "3");
  equal(report(html), "Pasted; 1 row added. Nothing is saved yet.");
});

Deno.test("what is pasted beyond the last column is left out and counted", () => {
  const html = page(["a", "1"]);

  paste(html, "entities-0-price", "7\tnew\tlost\talso lost");

  equal(cells(html), [["a", "7", "new"]]);
  ok(report(html).endsWith("2 cells to the right of the last column were left out."));
});

Deno.test("one word is pasted by the browser itself", () => {
  equal(paste(page(["a", "1"]), "entities-0-ref", "word\n").defaultPrevented, false);
});

Deno.test("a new row gets a ref that no entity has", () => {
  const html = page(["order-1", ""], ["order-3", ""]);

  paste(html, "entities-1-price", "1\n2\n3");

  equal(cells(html).map(([ref]) => ref), ["order-1", "order-3", "order-2", "order-4"]);
});

Deno.test("numbers are sorted as numbers, and the other way round the second time", () => {
  const html = page(["a", "10"], ["b", "9"], ["c", "100"]);

  sortBy(html, 1);
  equal(cells(html).map(([ref]) => ref), ["b", "a", "c"]);
  equal(html.querySelector('[aria-sort="ascending"]').dataset.column, "price");

  sortBy(html, 1);
  equal(cells(html).map(([ref]) => ref), ["c", "a", "b"]);
  equal(html.querySelectorAll("[aria-sort]").length, 1);
});

Deno.test("Enter goes down the column and makes a row below the last one", () => {
  const html = page(["a", "1"], ["b", "2"]);

  ok(press(html, "entities-0-price", "Enter").defaultPrevented);
  equal(html.activeElement.name, "entities-1-price");

  press(html, "entities-1-price", "Enter");
  equal(html.activeElement.name, "entities-2-price");

  press(html, "entities-2-price", "Enter", { shiftKey: true });
  equal(html.activeElement.name, "entities-1-price");
});

Deno.test("arrows stay inside the grid and make no row", () => {
  const html = page(["a", "1"]);

  equal(press(html, "entities-0-price", "ArrowDown").defaultPrevented, false);
  equal(cells(html).length, 1);
});

Deno.test("a new column is added to all rows, to new ones, and only once", () => {
  const html = page(["a", "1"]);
  const add = (name) => {
    html.querySelector("[data-new-column]").value = name;
    html.querySelector("[data-add-column]").click();
  };

  add(' "size" ');
  equal(html.querySelectorAll("thead [data-column]").map((head) => head.dataset.column), ["price", '"size"']);
  equal(html.getElementsByName("entities-0-%22size%22").length, 1);

  paste(html, "entities-0-price", "1\tbig\n2\tsmall");
  equal(cells(html).map((line) => line[2]), ["big", "small"]);

  add("price");
  equal(report(html), "There is a column price already.");
});

Deno.test("the rows of a grid trade the places that they have, and new ones come last", () => {
  const html = page(["b", "2", "4"], ["a", "1", "7"]);
  sortBy(html, 0);
  paste(html, "entities-0-ref", "b\t2\nc\t3\n");

  html.querySelector("form").dispatchEvent(new Event("submit"));

  const sent = html.querySelectorAll("tbody [name$=-position]").map((input) => Number(input.value));
  equal(sent, [4, 7, 8]);
});
