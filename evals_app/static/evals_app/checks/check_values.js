/* Conditions of checks, and calls of tools: the names that belong to the tool or type of the same row are suggested, and
   the kind of a value follows from its schema, or else from what is typed, until a person chooses. */
(() => {
  "use strict";

  const OWNERS = { "ew-argument": "ew-tool", "ew-field": "ew-entity-type" };
  const KIND_OF = {
    string: "text",
    number: "number",
    integer: "number",
    boolean: "yes",
    array: "json",
    object: "json",
    entity: "text",
    "entity type": "text",
  };
  const NUMBER = /^\s*-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\s*$/;

  const read = {}; // id of the data -> list -> owner -> { part: its type, or its values }
  function ownersOf(list, id) {
    read[id] ??= JSON.parse(document.getElementById(id)?.textContent ?? "{}");
    return read[id][list] ?? {};
  }

  /** Return what is known of the parts that an input may name: those of its tool or type, or of all. */
  function known(input, id) {
    const list = input.getAttribute("list");
    const onPage = id === "ew-parts" ? window.evalwellOwnParts?.[list]?.() : {};
    const owners = { ...ownersOf(list, id), ...onPage };
    const around = input.closest(".ew-block") ?? input.closest("[data-options]") ?? input.closest("[data-row]");
    const owner = around?.querySelector(`[list="${OWNERS[list]}"]`)?.value.trim();
    return owners[owner] ?? Object.assign({}, ...Object.values(owners));
  }

  const partsFor = (input) => known(input, "ew-parts");

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

  /** Suggest the values that a part can have, or what it names: entities, types. */
  function suggestValues(line) {
    const [key, value] = [partOf(line, "key"), partOf(line, "value")];
    const listed = known(key, "ew-values")[key.value.trim()];
    const list = listed ? "ew-listed-value" : `ew-${typeOf(key).replace(" ", "-")}`;
    if (listed) document.getElementById(list).replaceChildren(...listed.map((text) => new Option(text, text)));
    if (document.getElementById(list)) value.setAttribute("list", list);
    else value.removeAttribute("list");
  }

  function followKind(line) {
    const [key, must, value, kind] = ["key", "must", "value", "kind"].map((name) => partOf(line, name));
    // What was stored, or sent and refused, has its kind.
    if (!kind || !value || "chosen" in kind.dataset || value.defaultValue) return;
    let next = KIND_OF[typeOf(key)] ?? (NUMBER.test(value.value) ? "number" : "text");
    if (next === "json" && must && must.value !== "equals") next = "text"; // a part of it
    if (next === kind.value || ![...kind.options].some((option) => option.value === next)) return;
    kind.value = next;
    announce(`${kind.getAttribute("aria-label")}: ${kind.selectedOptions[0].text}`);
  }

  document.addEventListener("focusin", (event) => {
    if (event.target.matches?.('[list="ew-argument"], [list="ew-field"]')) suggest(event.target);
    if (event.target.matches?.('.ew-line:has([list="ew-argument"], [list="ew-field"]) > [name$="-value"]')) {
      suggestValues(event.target.parentElement);
    }
  });

  for (const type of ["input", "change"]) {
    document.addEventListener(type, (event) => {
      const line = event.target.closest?.(".ew-line");
      if (!line) return;
      if (event.target.matches('[name$="-kind"]')) event.target.dataset.chosen = "";
      else followKind(line);
    });
  }
})();
