/* Relations name their entities: offer the names that the page has, and follow when one changes. */
(() => {
  "use strict";

  const names = () => document.querySelectorAll('[name^="entities-"][name$="-ref"]');
  const ends = () => document.querySelectorAll('[name^="relations-"]:is([name$="-source"], [name$="-target"])');

  function offer() {
    let list = document.getElementById("entity-names");
    if (!list) {
      list = document.createElement("datalist");
      list.id = "entity-names";
      document.body.append(list);
    }
    const known = [...names()].filter((input) => !input.closest(".ts-removed")).map((input) => input.value);
    list.replaceChildren(
      ...[...new Set(known.filter(Boolean))].map((name) => Object.assign(document.createElement("option"), { value: name })),
    );
  }

  const before = new WeakMap();
  document.addEventListener("focusin", (event) => {
    if (event.target.matches('[list="entity-names"]')) offer();
    else if (event.target.name?.match(/^entities-.*-ref$/)) before.set(event.target, event.target.value);
  });
  document.addEventListener("change", (event) => {
    const old = before.get(event.target);
    if (!old || !event.target.name?.match(/^entities-.*-ref$/)) return;
    for (const end of ends()) if (end.value === old) end.value = event.target.value;
    before.set(event.target, event.target.value);
  });
})();
