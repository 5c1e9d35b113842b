/* Conditions of checks: the names that belong to the tool or type of the same row are suggested, and
   the kind of a value follows from its schema, or else from what is typed, until a person chooses. */
(() => {
  "use strict";

  const OWNERS = { "ts-argument": "ts-tool", "ts-field": "ts-entity-type" };
  const KIND_OF = { string: "text", number: "number", integer: "number", boolean: "yes", array: "json", object: "json", entity: "text", "entity type": "text" };
  const NUMBER = /^\s*-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\s*$/;

  let read; // list -> owner -> { part: type }
  function partsOf(list) {
    read ??= JSON.parse(document.getElementById("ts-parts")?.textContent ?? "{}");
    return read[list] ?? {};
  }

  /** Return the parts that an input may name: those of its tool or type, or of all of them. */
  function partsFor(input) {
    const list = input.getAttribute("list");
    const parts = partsOf(list);
    const around = input.closest(".ts-block") ?? input.closest("[data-options]");
    const owner = around?.querySelector(`[list="${OWNERS[list]}"]`)?.value.trim();
    return parts[owner] ?? Object.assign({}, ...Object.values(parts));
  }

  function suggest(input) {
    const list = document.getElementById(input.getAttribute("list"));
    if (!list) return;
    list.replaceChildren(...Object.keys(partsFor(input)).sort().map((name) => new Option(name, name)));
  }

  function announce(text) {
    const region = document.querySelector("[data-announce]");
    if (region) region.textContent = text;
  }

  const partOf = (line, name) => line.querySelector(`:scope > [name$="-${name}"]`);
  const typeOf = (key) => (key?.hasAttribute("list") ? partsFor(key)[key.value.trim()] : "") ?? "";

  /** Suggest what the value of an argument names: entities, types. */
  function suggestValues(line) {
    const value = partOf(line, "value");
    const list = `ts-${typeOf(partOf(line, "key")).replace(" ", "-")}`;
    if (document.getElementById(list)) value.setAttribute("list", list);
    else value.removeAttribute("list");
  }

  function followKind(line) {
    const [key, must, value, kind] = ["key", "must", "value", "kind"].map((name) => partOf(line, name));
    // What was stored, or sent and refused, has its kind.
    if (!kind || !value || "chosen" in kind.dataset || value.defaultValue) return;
    let next = KIND_OF[typeOf(key)] ?? (NUMBER.test(value.value) ? "number" : "text");
    if (next === "json" && must && must.value !== "equals") next = "text"; // a part of it
    if (next === kind.value) return;
    kind.value = next;
    announce(`${kind.getAttribute("aria-label")}: ${kind.selectedOptions[0].text}`);
  }

  document.addEventListener("focusin", (event) => {
    if (event.target.matches?.('[list="ts-argument"], [list="ts-field"]')) suggest(event.target);
    if (event.target.matches?.('.ts-line:has([list="ts-argument"]) > [name$="-value"]')) suggestValues(event.target.parentElement);
  });

  for (const type of ["input", "change"]) {
    document.addEventListener(type, (event) => {
      const line = event.target.closest?.(".ts-line");
      if (!line) return;
      if (event.target.matches('[name$="-kind"]')) event.target.dataset.chosen = "";
      else followKind(line);
    });
  }
})();
