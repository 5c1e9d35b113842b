/* Try a check on a reply, and show examples: the server grades what is written in the row now; nothing
   is stored. */
(() => {
  "use strict";

  const place = () => document.getElementById("ew-trying").dataset;

  /** Give the number of a turn as people count; "" for a check on the whole conversation. */
  function turnOf(row) {
    const turn = row.closest(".ew-turn");
    const kept = [...document.querySelectorAll(".ew-turn:not(.ew-removed)")];
    return turn ? kept.indexOf(turn) + 1 : "";
  }

  // The last reply loads when the part is opened for the first time; toggle events do not bubble.
  async function showLastReply(event) {
    const part = event.target;
    if (!part.matches?.("[data-trying]") || !part.open || !place().lastReply || part.dataset.asked) return;
    part.dataset.asked = "yes";
    const answer = await fetch(`${place().lastReply}?turn=${turnOf(part)}`);
    const { reply, source } = answer.ok ? await answer.json() : {};
    const area = part.querySelector("[data-reply]");
    if (!reply || area.value) return;
    area.value = reply;
    part.querySelector("[data-reply-source]").textContent = `${source} You can change it.`;
  }

  /** Collect the inputs of a row as its form would post them, and what the server needs besides. */
  function collect(row) {
    const body = new FormData();
    for (const { name, value, type, checked } of row.querySelectorAll("input, select, textarea")) {
      if (name && (type !== "checkbox" || checked)) body.append(name, value);
    }
    body.delete(`${row.dataset.prefix}-DELETE`);
    body.append("prefix", row.dataset.prefix);
    body.append("reply", row.querySelector("[data-reply]").value);
    body.append("turn", turnOf(row));
    body.append("expected", row.closest(".ew-turn")?.querySelector("[name$=-expected]")?.value ?? "");
    body.append("case", place().case ?? "");
    return body;
  }

  function send(body) {
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    return fetch(place().try, { method: "POST", body, headers: { "X-CSRFToken": token } });
  }

  async function tryCheck(button) {
    const row = button.closest("[data-row]");
    const shown = row.querySelector("[data-tried]");
    shown.textContent = "Checking…";
    try {
      const answer = await send(collect(row));
      const isTooOften = answer.status === 429; // the answer says when to try again
      if (!answer.ok && !isTooOften) throw new Error(answer.statusText);
      shown.innerHTML = await answer.text();
    } catch {
      shown.textContent = "The site did not answer. Check that you are still signed in, then try again.";
    }
  }

  /** Say below a choice what passes, and beside each of its options whether the reply would. */
  async function showExamples(example) {
    const body = collect(example.closest("[data-row]"));
    body.append("examples", "1");
    example.dataset.asked = [...body.values()].join();
    const answer = await send(body).catch(() => null);
    const isNewest = example.dataset.asked === [...body.values()].join();
    const { sentence = "", choices = {} } = answer?.ok && isNewest ? await answer.json() : {};
    if (!sentence) return;
    example.textContent = sentence;
    for (const option of example.parentElement.querySelector("select").options) {
      option.dataset.label ??= option.textContent;
      const word = choices[option.value];
      option.textContent = word ? `${option.dataset.label}: ${word}` : option.dataset.label;
    }
  }

  const waiting = new WeakMap(); // row -> timer
  function examplesLater(event) {
    const row = event.target.closest?.(".ew-check-row");
    const example = row?.querySelector("[data-examples]");
    if (!example || (event.type === "focusin" && example.dataset.asked)) return;
    clearTimeout(waiting.get(row));
    waiting.set(row, setTimeout(showExamples, 300, example));
  }
  for (const type of ["focusin", "input", "change"]) document.addEventListener(type, examplesLater);

  document.addEventListener("toggle", showLastReply, true);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-try-check]");
    if (button) tryCheck(button);
  });
})();
