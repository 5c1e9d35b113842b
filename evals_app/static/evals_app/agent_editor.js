/* Hide what the chosen kind of agent does not use, unless it is filled in. */
(() => {
  "use strict";
  const KINDS = ["model", "http", "chat", "python", "command", "scripted"];

  function hasContent(part) {
    const inputs = [...part.querySelectorAll("input:not([type=hidden]), textarea")];
    return inputs.some((input) => (input.type === "checkbox" ? input.checked : input.value.trim()));
  }

  function show() {
    const driver = document.getElementById("id_driver").value;
    const isChat = driver === "http" && document.getElementById("id_protocol").value === "openai-chat";
    const used = isChat ? [driver, "chat"] : [driver];
    for (const part of document.querySelectorAll(KINDS.map((kind) => `.only-${kind}`).join())) {
      const isUsed = used.some((kind) => part.classList.contains(`only-${kind}`));
      part.classList.toggle("ts-unused", !isUsed && !hasContent(part));
    }
  }

  document.addEventListener("change", (event) => ["id_driver", "id_protocol"].includes(event.target.id) && show());
  document.addEventListener("DOMContentLoaded", () => document.getElementById("id_driver") && show());
})();
