import { deepStrictEqual as equal, ok } from "node:assert";
import { open } from "./dom.js";

const ROWS = "fixtures_app/static/fixtures_app/rows.js";

const row = (at, extra = "") => `
  <div class="ew-row" data-row="Turn" data-prefix="turns-${at}">
    <div><h3 data-row-heading>?</h3></div>
    <input name="turns-${at}-user" value="u${at}"><input type="hidden" name="turns-${at}-position">
    <input type="hidden" name="turns-${at}-DELETE" disabled>
    <button data-move-up>Up</button><button data-move-down>Down</button><button data-remove>Remove</button>
    <p class="ew-undo"><button data-undo>Undo</button></p>${extra}
  </div>`;

const page = (count) =>
  open(
    `<form><p data-announce></p><div data-formset="turns">
      <input type="hidden" name="turns-TOTAL_FORMS" value="${count}">
      <div data-list>${Array.from({ length: count }, (_, at) => row(at)).join("")}</div>
      <template data-blank>${row("__prefix__").replaceAll("turns-", "__formset__-")}</template>
      <button data-add>Add</button>
    </div></form>`,
    ROWS,
  );

const names = (html) => html.querySelectorAll("[data-row-heading]").map((heading) => heading.textContent);
const order = (html) => html.querySelectorAll("[data-list] > [data-row]").map((line) => line.dataset.prefix);
const said = (html) => html.querySelector("[data-announce]").textContent;
const press = (html, selector, at = 0) => html.querySelectorAll(`[data-list] ${selector}`)[at].click();

Deno.test("rows are named by their place from the start", () => {
  equal(names(page(2)), ["Turn 1", "Turn 2"]);
});

Deno.test("a new row gets the next index, a name and the focus", () => {
  const html = page(1);

  html.querySelector("[data-add]").click();

  equal(order(html), ["turns-0", "turns-1"]);
  equal(names(html), ["Turn 1", "Turn 2"]);
  equal(html.querySelector("[name$=TOTAL_FORMS]").value, 2);
  equal(html.activeElement.name, "turns-1-user");
  equal(said(html), "Turn 2 added.");
});

Deno.test("a removed row keeps its index, posts DELETE and does not count", () => {
  const html = page(3);

  press(html, "[data-remove]", 1);

  equal(names(html), ["Turn 1", "Turn, removed", "Turn 2"]);
  equal(html.getElementsByName("turns-1-DELETE")[0].disabled, false);
  equal(said(html), "Turn 2 removed.");
  ok(html.activeElement.matches("[data-undo]"));

  press(html, "[data-undo]", 1);

  equal(names(html), ["Turn 1", "Turn 2", "Turn 3"]);
  equal(html.getElementsByName("turns-1-DELETE")[0].disabled, true);
});

Deno.test("rows move past each other and stop at the ends", () => {
  const html = page(3);

  press(html, "[data-move-down]", 0);
  equal(order(html), ["turns-1", "turns-0", "turns-2"]);
  equal(said(html), "Turn is now number 2.");

  press(html, "[data-move-up]", 0);
  equal(order(html), ["turns-1", "turns-0", "turns-2"]);
  equal(said(html), "Turn is already first.");
});

Deno.test("the order on the screen is what is sent", () => {
  const html = page(2);
  press(html, "[data-move-up]", 1);

  html.querySelector("form").dispatchEvent(new Event("submit"));

  const position = (at) => html.getElementsByName(`turns-${at}-position`)[0].value;
  equal([position(0), position(1)], [1, 0]);
});

Deno.test("Enter in a line adds one below it and does not save", () => {
  const html = open(
    `<div data-lines><div data-line><input name="facts" value="a"></div><div data-line><input name="facts"></div>
      <template><div data-line><input name="facts"></div></template><button data-line-add>+</button></div>`,
    ROWS,
  );
  const first = html.querySelector("[data-line] input");
  const enter = Object.assign(new Event("keydown", { cancelable: true }), { key: "Enter" });

  first.dispatchEvent(enter);

  ok(enter.defaultPrevented);
  const lines = html.querySelectorAll("[data-line]");
  equal(lines.length, 3);
  equal(html.activeElement, lines[1].querySelector("input"));
});
