/* A scripted agent needs no model, a model no rules: fold away what the chosen kind does not use,
   unless something stands in it. */
(() => {
  "use strict";
  const parts = { model: ".only-model", scripted: ".only-scripted" };

  function show() {
    const driver = document.getElementById("id_driver")?.value;
    const rules = document.getElementById("id_rules")?.value.trim();
    const model = document.getElementById("id_model")?.value.trim();
    for (const [kind, selector] of Object.entries(parts)) {
      const isUsed = kind === driver || (kind === "scripted" ? rules : model);
      for (const part of document.querySelectorAll(selector)) part.classList.toggle("ts-unused", !isUsed);
    }
  }

  document.addEventListener("change", (event) => event.target.id === "id_driver" && show());
  document.addEventListener("DOMContentLoaded", () => document.getElementById("id_driver") && show());
})();
