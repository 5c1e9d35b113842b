// Reading conversations: keys of the line for a note. Groups: notes are dragged as if they were chosen and moved.
// Keys that step and answer are those of all review pages.
(() => {
  "use strict";

  const line = () => document.getElementById("note");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === line()) {
      if (event.key === "Escape") line().blur();
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        line().form.querySelector("[value=wrong]").click();
      }
    } else if (event.key === "n" && line() && !/^(input|textarea|select)$/i.test(event.target.tagName)) {
      event.preventDefault(); // else the letter is typed, too
      line().focus();
    }
  });

  // A second press would answer for the next conversation.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches(".reading-note")) return;
    if (event.target.dataset.isSent) event.preventDefault();
    event.target.dataset.isSent = "true";
  });

  // Dragging: the card, or all chosen ones if it is one of them.

  const groupOf = (event) => event.target.closest?.(".note-group");

  document.addEventListener("dragstart", (event) => {
    const card = event.target.closest?.(".note-card");
    if (!card) return;
    const box = card.querySelector("input");
    if (!box.checked) {
      for (const other of document.querySelectorAll(".note-card :checked")) other.checked = false;
      box.checked = true;
    }
    event.dataTransfer.setData("text/plain", card.dataset.note);
    event.dataTransfer.effectAllowed = "move";
  });
  document.addEventListener("dragover", (event) => {
    const group = groupOf(event);
    for (const other of document.querySelectorAll(".is-target")) other.classList.toggle("is-target", other === group);
    if (!group) return;
    event.preventDefault();
    group.classList.add("is-target");
  });
  document.addEventListener("drop", (event) => {
    const group = groupOf(event);
    const move = document.getElementById("move");
    if (!group || !move) return;
    event.preventDefault();
    move.elements.group.value = group.dataset.group;
    move.requestSubmit();
  });
  document.addEventListener("dragend", () => {
    for (const group of document.querySelectorAll(".is-target")) group.classList.remove("is-target");
  });
})();
