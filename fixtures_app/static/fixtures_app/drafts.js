/* What someone types into a form is kept in this browser until it is saved: sessions end, browsers
   crash. A draft is what the form would send. To restore it, the page sends it with `_restore`: the
   server answers with the same page as after an error, and saves nothing. */
(() => {
  "use strict";

  const DRAFTS = "evalwell-draft:";
  const SAVED = "saved_draft"; // a cookie of the server: the draft that it has saved
  const LONGEST_MS = 30 * 24 * 3600 * 1000;
  const PAUSE_MS = 400;
  const NEVER = new Set(["csrfmiddlewaretoken", "_draft", "_restore", "_overwrite"]);
  const A_KEY = /^\s*(?:(?:bearer|basic|token)\s+\S{8,}|(?:sk-|gh[pousr]_|xox[abp]-|eyJ)\S{8,})\s*$/i;

  function read(key) {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  }

  const keys = () => Object.keys(localStorage).filter((key) => key.startsWith(DRAFTS));

  /** Where a form is, without what only leads back to a list. */
  function placeOf(address) {
    const url = new URL(address, location.origin);
    for (const name of ["_changelist_filters", "field"]) url.searchParams.delete(name);
    return url.pathname + url.search;
  }

  function write(key, draft) {
    try {
      localStorage.setItem(key, JSON.stringify(draft));
    } catch {
      // No room left: the draft that is most recent is worth more than all others.
      for (const other of keys()) if (other !== key) localStorage.removeItem(other);
      try {
        localStorage.setItem(key, JSON.stringify(draft));
      } catch {
        localStorage.removeItem(key);
      }
    }
  }

  /** What the form would send, without files and passwords; what looks like a key is left blank. */
  function typed(form) {
    window.evalwellRows.number(form);
    const passwords = new Set([...form.querySelectorAll("[type=password]")].map((input) => input.name));
    return [...new FormData(form)]
      .filter(([name, value]) => typeof value === "string" && !NEVER.has(name) && !passwords.has(name))
      .map(([name, value]) => [name, A_KEY.test(value) ? "" : value]);
  }

  function hidden(name, value) {
    return Object.assign(document.createElement("input"), { type: "hidden", name, value });
  }

  /** Have the server build the page from a draft. */
  function restore(form, key, draft) {
    write(key, { ...draft, isTried: true }); // a draft that breaks the page is not sent again by itself
    const sender = Object.assign(document.createElement("form"), { method: "post", hidden: true });
    const token = form.elements.csrfmiddlewaretoken.value;
    const names = [...draft.typed, ["csrfmiddlewaretoken", token], ["_draft", draft.id], ["_restore", "1"]];
    sender.append(...names.map(([name, value]) => hidden(name, value)));
    document.body.append(sender);
    sender.submit();
  }

  function tell(banner, when, draft) {
    for (const text of banner.querySelectorAll("[data-when]")) text.hidden = text.dataset.when !== when;
    const at = new Date(draft.at);
    const isToday = at.toDateString() === new Date().toDateString();
    // As pages write moments, whatever the browser would: 22:55, or 22 Nov 2026, 22:55.
    const day = isToday ? {} : { day: "numeric", month: "short", year: "numeric" };
    const words = at.toLocaleString("en-GB", { ...day, hour: "2-digit", minute: "2-digit" });
    for (const time of banner.querySelectorAll("time")) {
      time.dateTime = at.toISOString();
      time.textContent = words;
    }
    banner.hidden = false;
  }

  function keep(banner) {
    const form = banner.closest("form");
    const key = `${DRAFTS}${banner.dataset.draft}:${placeOf(location.href)}`;
    const isBound = "bound" in banner.dataset; // the page shows what was posted
    const isRestored = "restored" in banner.dataset;
    const stored = read(key);
    const version = () => form.elements.version?.value ?? "";
    const id = stored?.id ?? `${Date.now().toString(36)}.${Math.random().toString(36).slice(2)}`;
    form.append(hidden("_draft", id));

    if (stored && isRestored) {
      write(key, { ...stored, isTried: false });
      tell(banner, "restored", stored);
    } else if (stored && !isBound) {
      const isStale = stored.version !== version();
      if (isStale || stored.isTried) tell(banner, isStale ? "stale" : "offered", stored);
      else return restore(form, key, stored);
    }

    const before = isBound ? "" : JSON.stringify(typed(form));
    let timer = 0;
    let isOver = false;
    function store() {
      clearTimeout(timer);
      timer = 0;
      if (isOver) return;
      const now = typed(form);
      if (JSON.stringify(now) === before) localStorage.removeItem(key);
      else write(key, { id, at: Date.now(), version: version(), typed: now });
    }
    function soon() {
      clearTimeout(timer);
      timer = setTimeout(store, PAUSE_MS);
    }
    form.addEventListener("input", soon);
    form.addEventListener("change", soon);
    form.addEventListener("submit", () => timer && store());
    window.addEventListener("pagehide", () => timer && store());
    banner.addEventListener("click", (event) => {
      if (event.target.matches("[data-draft-restore]")) restore(form, key, stored);
      if (!event.target.matches("[data-draft-discard]")) return;
      isOver = true;
      localStorage.removeItem(key);
      if (isRestored) location.replace(location.href);
      else banner.hidden = true;
    });
  }

  /** Forget what is saved or old, and everything when someone signs out. */
  function tidy() {
    const saved = document.cookie.split("; ").find((cookie) => cookie.startsWith(`${SAVED}=`))?.slice(SAVED.length + 1);
    for (const key of keys()) {
      const draft = read(key);
      if (!draft || draft.id === saved || Date.now() - draft.at > LONGEST_MS) localStorage.removeItem(key);
    }
    if (saved) document.cookie = `${SAVED}=; path=/; max-age=0; samesite=lax`;
    document.addEventListener("submit", (event) => {
      if (event.target.action?.endsWith?.("/logout/")) keys().forEach((key) => localStorage.removeItem(key));
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    tidy();
    const banner = document.querySelector("[data-draft]");
    if (banner) setTimeout(keep, 0, banner); // after rows that pages open with
    const note = document.querySelector("[data-kept-draft]");
    const next = note && new URLSearchParams(location.search).get("next");
    if (next) note.hidden = !keys().some((key) => key.endsWith(`:${placeOf(next)}`));
  });
})();
