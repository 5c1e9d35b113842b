/* Relations name their entities: offer the names that the page has, and follow when one changes. */
(() => {
  "use strict";

  const names = () => document.querySelectorAll('[name^="entities-"][name$="-ref"]');
  const ends = () => document.querySelectorAll('[name^="relations-"]:is([name$="-source"], [name$="-target"])');

  /** Say what an entity is: its type, and its first values. */
  function about(input) {
    const cells = input.closest("tr").querySelectorAll('[name*="-cell-"]');
    const values = [...cells].map((cell) => cell.value).filter(Boolean).slice(0, 3);
    return [input.closest("[data-sheet]").dataset.sheet, ...values].join(", ").slice(0, 80);
  }

  function offer(id, options) {
    let list = document.getElementById(id);
    if (!list) {
      list = Object.assign(document.createElement("datalist"), { id });
      document.body.append(list);
    }
    list.replaceChildren(
      ...[...options].map(([value, label]) => Object.assign(document.createElement("option"), { value, label })),
    );
  }

  function offerNames() {
    const known = [...names()].filter((input) => input.value && !input.closest(".ew-removed"));
    offer("entity-names", new Map(known.map((input) => [input.value, about(input)])));
  }

  function offerKinds() {
    const kinds = document.querySelectorAll('[name^="relations-"][name$="-type"]');
    offer("relation-kinds", new Map([...kinds].filter((input) => input.value).map((input) => [input.value, ""])));
  }

  const before = new WeakMap();
  document.addEventListener("focusin", (event) => {
    if (event.target.matches('[list="entity-names"]')) offerNames();
    else if (event.target.matches('[list="relation-kinds"]')) offerKinds();
    else if (event.target.name?.match(/^entities-.*-ref$/)) before.set(event.target, event.target.value);
  });
  document.addEventListener("change", (event) => {
    const old = before.get(event.target);
    if (!old || !event.target.name?.match(/^entities-.*-ref$/)) return;
    for (const end of ends()) if (end.value === old) end.value = event.target.value;
    before.set(event.target, event.target.value);
  });
})();
