/* Hide what the chosen kind of agent, tool or rule does not use, unless it is filled in, offer the
   tools that the page has where a rule calls one and tick it, and insert placeholders. Rows themselves: fixtures_app/rows.js */
(() => {
  "use strict";
  const KINDS = ["model", "http", "json", "chat", "python", "command", "connected", "scripted"];

  function hasContent(part) {
    const inputs = [...part.querySelectorAll("input:not([type=hidden]), textarea")];
    const choices = [...part.querySelectorAll("select")].filter((choice) => choice.querySelector('[value=""]'));
    const isFilledIn = (input) => (input.type === "checkbox" ? input.checked : input.value.trim());
    return [...inputs, ...choices].some(isFilledIn);
  }

  function show() {
    const driver = document.getElementById("id_driver").value;
    const isChat = document.getElementById("id_protocol").value === "openai-chat";
    const used = driver === "http" ? [driver, isChat ? "chat" : "json"] : [driver];
    for (const part of document.querySelectorAll(KINDS.map((kind) => `.only-${kind}`).join())) {
      const isUsed = used.some((kind) => part.classList.contains(`only-${kind}`));
      part.classList.toggle("ew-unused", !isUsed && !hasContent(part));
    }
  }

  /** A request by GET has no body. */
  function showBody() {
    const isGet = document.getElementById("id_method").value === "GET";
    for (const part of document.querySelectorAll(".field-request, .field-request_format")) {
      part.hidden = isGet && !hasContent(part);
    }
  }

  /** The parts of a tool that its source uses. */
  function showSource(select) {
    for (const part of select.closest("[data-row]").querySelectorAll("[data-for]")) {
      const isUsed = part.dataset.for.split(" ").includes(select.value);
      part.hidden = !isUsed && !hasContent(part);
    }
  }

  /** A rule for any message has no words. */
  function showWords(select) {
    const part = select.closest("[data-row]").querySelector("[data-words]");
    part.hidden = select.value === "always" && !hasContent(part);
  }

  /** A rule for any message stays below new ones: they would never be reached. */
  const staysLast = (row) =>
    row.matches(".ew-rule-row:not(.ew-removed)") &&
    row.querySelector("[data-match]")?.value === "always" &&
    !row.querySelector('[name$="-turn"]')?.value;

  /** Rules below one for any message never answer. */
  function showUnreached() {
    const rules = [...document.querySelectorAll(".ew-rule-row:not(.ew-removed)")];
    const last = rules.findIndex(staysLast);
    rules.forEach((rule, at) => (rule.querySelector("[data-unreached]").hidden = last < 0 || at <= last));
  }

  function showRows(root) {
    root.querySelectorAll("[data-source]").forEach(showSource);
    root.querySelectorAll("[data-match]").forEach(showWords);
  }

  const ownTools = () =>
    [...document.querySelectorAll("[data-tool-name]")].filter((input) => !input.closest(".ew-removed"));

  function offerTools() {
    const offered = [...document.querySelectorAll("[name=tools]")];
    const names = [...ownTools(), ...offered].map((input) => input.value.trim()).filter(Boolean);
    document.getElementById("ew-tool").replaceChildren(...[...new Set(names)].map((name) => new Option(name, name)));
  }

  /** The arguments of the page's own tools, with their types; see check_values.js. */
  function ownArguments() {
    const argumentsOf = (input) =>
      [...input.closest("[data-row]").querySelectorAll('[name$="-parameters-key"]')]
        .filter((key) => key.value.trim())
        .map((key) => [key.value.trim(), key.parentElement.querySelector('[name$="-parameters-kind"]').value]);
    return Object.fromEntries(
      ownTools().map((input) => [input.value.trim(), Object.fromEntries(argumentsOf(input))]),
    );
  }

  /** Give the agent the tool of test data that a rule calls. */
  function takeTool(input) {
    const box = document.querySelector(`[name=tools][value="${CSS.escape(input.value.trim())}"]:not(:checked)`);
    if (!box) return;
    box.click();
    window.evalwellRows.announce(`The agent may use ${box.value} now.`);
  }

  // Placeholders go where a person typed last in the rule, or else into its answer.
  const FILLED_IN = '[name$="-reply"], [name$="-args-value"]';
  let lastField = null;

  function insert(button) {
    const row = button.closest(".ew-rule-row");
    const field = row.contains(lastField) ? lastField : row.querySelector('[name$="-reply"]');
    field.focus();
    field.setRangeText(button.dataset.insert, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-insert]");
    if (button) insert(button);
    setTimeout(showUnreached); // a row may be removed, or moved
  });
  document.addEventListener("focusin", (event) => {
    if (event.target.matches('[list="ew-tool"]')) offerTools();
    if (event.target.matches(FILLED_IN)) lastField = event.target;
  });
  document.addEventListener("change", (event) => {
    if (["id_driver", "id_protocol"].includes(event.target.id)) show();
    if (event.target.id === "id_method") showBody();
    if (event.target.matches("[data-source]")) showSource(event.target);
    if (event.target.matches("[data-match]")) showWords(event.target);
    if (event.target.matches('[list="ew-tool"]')) takeTool(event.target);
    showUnreached();
  });
  document.addEventListener("DOMContentLoaded", () => {
    if (!document.getElementById("id_driver")) return;
    window.evalwellRows.staysLast = staysLast;
    window.evalwellOwnParts = { "ew-argument": ownArguments };
    show();
    showBody();
    showRows(document);
    showUnreached();
    const first = document.querySelector(".ew-rule-row details");
    if (first && location.pathname.endsWith("/add/")) first.open = true; // the example is there to be changed
    // A new agent may begin with a name. Its slug follows the name until someone edits the slug.
    document.getElementById("id_name").dispatchEvent(new Event("change"));
    // A row that is added later.
    new MutationObserver((changes) => {
      for (const change of changes) change.addedNodes.forEach((node) => node.querySelectorAll && showRows(node));
      showUnreached();
    }).observe(document.getElementById("agent_form"), { childList: true, subtree: true });
  });
})();
