/* What the expressions of pages may call and read. The build of Alpine that needs no 'unsafe-eval' reads a part of
   JavaScript: no global names, no arrow functions, one expression and no statements. */
/* global Alpine, getCurrentTab, moveRecords, searchCommand, searchForm, sortRecords, theme */
(() => {
  "use strict";

  const SIDEBAR = "sidebarDesktopOpen";

  /** Of the whole page: Unfold's own, and the global names that its templates use. */
  function page(...settings) {
    return Object.assign(theme(...settings), {
      sortRecords,
      moveRecords,
      window: {
        location: {
          get pathname() {
            return location.pathname;
          },
          get search() {
            return location.search;
          },
        },
      },
    });
  }

  /** Of the body: which tab is open, and whether the menu is. */
  function shell(tab) {
    return {
      activeTab: tab,
      sidebarMobileOpen: false,
      sidebarDesktopOpen: localStorage.getItem(SIDEBAR) !== "0",
      init() {
        this.activeTab = (tab && getCurrentTab()) || tab;
        this.$watch(SIDEBAR, (isOpen) => localStorage.setItem(SIDEBAR, isOpen ? "1" : "0"));
      },
    };
  }

  /** Of the search over everything: Unfold's own opens it and chooses with the arrows. */
  function finder() {
    return Object.assign(searchCommand(), {
      init() {
        this.$watch("currentIndex", () => this.mark());
      },
      mark() {
        const options = this.$root.querySelectorAll("[role=option]");
        options.forEach((option, index) => option.ariaSelected = String(index + 1 === this.currentIndex));
      },
      show(event) {
        this.handleContentLoaded(event);
        this.currentIndex = this.totalItems ? 1 : 0;
        this.mark();
      },
      close() {
        this.$refs.searchInputCommand.value = "";
        this.handleEscape();
      },
      closeWithKey() {
        this.close();
        document.querySelector(".ew-search-button").focus();
      },
    });
  }

  document.addEventListener("alpine:init", () => {
    Alpine.data("theme", page);
    Alpine.data("shell", shell);
    Alpine.data("searchCommand", finder);
    Alpine.data("searchForm", searchForm);
  });

  /** The templates' `data-waits`: what reloads waits while something in it has the focus. */
  document.addEventListener("htmx:beforeRequest", (event) => {
    const part = event.target;
    if (part.matches("[data-waits]") && part.contains(document.activeElement)) event.preventDefault();
  });
})();
