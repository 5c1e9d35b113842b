// Review pages: stepping with keys, reviews of grades, quotes shown in the conversation, copying, charts.
// Everything is delegated, so that parts which HTMX swaps in need no setup.
(() => {
  "use strict";

  function announce(text) {
    const status = document.querySelector("[role=status]");
    if (status) status.textContent = text;
  }

  // Stepping

  const isTyping = (element) => element.isContentEditable || /^(input|textarea|select)$/i.test(element.tagName);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.repeat) return;
    if (isTyping(event.target) || document.getElementById("dialog")?.offsetParent) return;
    // Enter presses what has the focus.
    const isPressing = event.key === "Enter" && event.target.closest("a, button, summary");
    const button = !isPressing && document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (button) return button.click();
    if (/^[np]$/.test(event.key)) return stepReview(event, event.key === "n" ? 1 : -1);
    if (/^[xy]$/.test(event.key)) return sayOfGrade(event);
    const link = /^[jk]$/.test(event.key) && document.querySelector(`[data-step="${event.key}"]`);
    if (link) link.click();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches(".checking-reason textarea")) event.target.blur();
  });
  // A check names its turn, which may be folded.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#turn-']");
    if (link) openFolds(document.querySelector(link.hash));
  });
  document.addEventListener("click", (event) => {
    const reason = event.target.closest(".checking-reason summary")?.parentElement;
    // It opens after this click.
    if (reason && !reason.open) setTimeout(() => reason.querySelector("textarea").focus());
  });
  // A second answer would look like a change of mind.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches(".checking-answer")) return;
    if (event.target.dataset.isSent) event.preventDefault();
    event.target.dataset.isSent = "true";
  });

  // Reviews: n and p go from grade to grade, y and x say whether it is right.

  function openFolds(element) {
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      fold.open = true;
    }
  }

  function stepReview(event, step) {
    const blocks = [...document.querySelectorAll("[data-people]")];
    if (!blocks.length) return;
    const here = blocks.indexOf(document.activeElement.closest("[data-people]"));
    const next = blocks[here < 0 ? 0 : Math.max(0, Math.min(here + step, blocks.length - 1))];
    event.preventDefault();
    openFolds(next);
    next.focus({ preventScroll: true, focusVisible: true });
    next.scrollIntoView({ block: "center" });
  }

  function sayOfGrade(event) {
    const block = document.activeElement.closest("[data-people]");
    const button = block?.querySelector(`[data-say="${event.key}"]`);
    if (!button) return;
    event.preventDefault();
    button.click();
  }

  function closeForm(form) {
    const block = form.closest(".people");
    form.remove();
    block.focus({ focusVisible: true });
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-people-close]")) closeForm(event.target.closest(".people-fields"));
  });
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.(".people-fields");
    if (!form) return;
    if (event.key === "Escape") closeForm(form);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  // Who opened a form writes in it next, and who said something is still at the same grade. Only once
  // it is settled: before that, its buttons and keys do nothing yet.
  document.addEventListener("htmx:afterSettle", (event) => {
    const { target, elt } = event.detail;
    const form = target.closest?.(".people-form");
    if (form) return form.querySelector("select, textarea")?.focus();
    if (elt.matches?.(".people") || target.matches?.(".people")) {
      document.getElementById(target.id)?.focus({ preventScroll: true, focusVisible: true });
    }
  });

  // Quotes

  function unmark() {
    for (const mark of document.querySelectorAll("mark.shown-quote")) {
      const parent = mark.parentNode;
      mark.replaceWith(...mark.childNodes);
      parent.normalize();
    }
  }

  // A judge may change white space and capitals when quoting.
  function pattern(quote) {
    const words = quote.trim().split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(words.join("\\s+"), "iu");
  }

  // Marks of differing words divide a text into several nodes; what only screen readers read is none of it.
  function textNodes(element) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) {
      if (!walker.currentNode.parentElement.closest(".sr-only")) nodes.push(walker.currentNode);
    }
    return nodes;
  }

  function findIn(scope, wanted) {
    for (const kind of [".bubble.is-agent .written", ".bubble .written", ".call pre, .chunks .written"]) {
      for (const element of scope.querySelectorAll(kind)) {
        const nodes = textNodes(element);
        const match = wanted.exec(nodes.map((node) => node.data).join(""));
        if (match) return { nodes, start: match.index, end: match.index + match[0].length };
      }
    }
    return null;
  }

  function show({ nodes, start, end }) {
    openFolds(nodes[0].parentElement);
    const marks = [];
    let place = 0;
    for (const node of nodes) {
      const [from, to] = [Math.max(start - place, 0), Math.min(end - place, node.data.length)];
      place += node.data.length;
      if (from >= to) continue;
      const range = document.createRange();
      range.setStart(node, from);
      range.setEnd(node, to);
      const mark = document.createElement("mark");
      mark.className = "shown-quote";
      mark.tabIndex = -1;
      range.surroundContents(mark);
      marks.push(mark);
    }
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    marks[0].scrollIntoView({ block: "center", behavior: isCalm ? "auto" : "smooth" });
    return marks[0];
  }

  function showQuote(button) {
    unmark();
    const wanted = pattern(button.dataset.quote);
    const turn = button.dataset.quoteTurn && document.getElementById(`turn-${button.dataset.quoteTurn}`);
    const chat = document.querySelector(".review-chat");
    const place = (turn && findIn(turn, wanted)) || (chat && findIn(chat, wanted));
    if (!place) {
      announce("This exact quote does not appear in the conversation.");
      button.classList.add("is-missing");
      return;
    }
    const shown = show(place).closest("[data-turn]");
    announce(shown ? `Highlighted in turn ${shown.dataset.turn}.` : "Highlighted in the conversation.");
  }

  // Copying

  function copyManually(text) {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("The browser refused.");
  }

  async function fetchText(url) {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    return answer.text();
  }

  async function copyFrom(button) {
    const label = button.querySelector("[data-copy-label]");
    try {
      const shown = document.getElementById(button.dataset.copyOf);
      const text = shown ? shown.value : await fetchText(button.dataset.copyFrom);
      // Browsers offer the clipboard only over HTTPS or on localhost.
      if (navigator.clipboard) await navigator.clipboard.writeText(text);
      else copyManually(text);
      label.textContent = "Copied";
    } catch {
      label.textContent = button.dataset.copyOf
        ? "Could not copy. Select the text"
        : "Could not copy. Use the download";
    }
    button.focus();
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches("[data-quote]")) showQuote(button);
    if (button.matches("[data-copy-from], [data-copy-of]")) copyFrom(button);
    if (button.matches("[data-unfold]")) {
      for (const turn of document.querySelectorAll("details.turn")) {
        turn.open = button.dataset.unfold === "all";
      }
    }
  });

  // Menus close when something else is wanted.

  function closeMenus(but) {
    for (const menu of document.querySelectorAll("details.review-menu[open]")) {
      if (menu !== but) menu.open = false;
    }
  }
  document.addEventListener("click", (event) => {
    closeMenus(event.target.closest("a, [hx-get]") ? null : event.target.closest(".review-menu"));
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector("details.review-menu[open]");
    if (!menu) return;
    closeMenus(null);
    menu.querySelector("summary").focus();
  });

  // Live parts: never swap what has the focus, and announce nothing twice.

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr } = event.detail;
    const isLive = target.id === "run-live" || target.id === "execution-live";
    if (isLive && target.contains(document.activeElement) && xhr.status === 200) {
      event.detail.shouldSwap = false;
    }
  });
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    const isSame = target.textContent.trim() === fragment.textContent.trim();
    if (target.contains(document.activeElement) || isSame) {
      event.detail.shouldSwap = false;
    }
  });

  // Charts: their text follows the theme.

  addEventListener("load", () => {
    if (!window.Chart) return;
    const root = document.documentElement;
    const tint = () => {
      const name = root.classList.contains("dark") ? "--color-base-300" : "--color-base-600";
      const color = getComputedStyle(root).getPropertyValue(name).trim();
      Chart.defaults.color = color;
      for (const chart of Object.values(Chart.instances)) {
        // Axes of a chart that is drawn already keep the colour that they began with.
        for (const axis of Object.values(chart.options.scales)) {
          axis.ticks.color = axis.title.color = color;
        }
        chart.update();
      }
    };
    tint();
    new MutationObserver(tint).observe(root, { attributeFilter: ["class"] });
  });

  // Keys work from here on; browser tests wait for this.
  document.documentElement.dataset.review = "ready";
})();
