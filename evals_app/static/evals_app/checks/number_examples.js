/* The example under "Which number": it follows the choice and the number that is typed. */
(() => {
  "use strict";

  const NUMBER = /^-?[0-9]{1,9}(\.[0-9]{1,9})?$/;

  function show(example) {
    const options = example.closest("[data-options]");
    const chosen = example.parentElement.querySelector("select").value;
    const typed = options.querySelector('[name$="-opt-value"]')?.value.trim() ?? "";
    const number = NUMBER.test(typed) ? typed : "14";
    const text = JSON.parse(example.dataset.examples)[chosen] ?? "";
    example.textContent = text.replaceAll("{number}", number).replaceAll("{other}", number === "204" ? "305" : "204");
  }

  for (const type of ["input", "change"]) {
    document.addEventListener(type, (event) => {
      const options = event.target.closest?.("[data-options]");
      options?.querySelectorAll("[data-examples]").forEach(show);
    });
  }
})();
