/* As much of a document as our scripts use, so that they run without a browser. */

const VOID = new Set(["input", "br", "img"]);
const PART = /<!--.*?-->|<(\/?)([\w-]+)((?:\s+[\w:-]+(?:="[^"]*")?)*)\s*>|[^<]+/gs;
const ATTRIBUTE = /([\w:-]+)(?:="([^"]*)")?/g;
const REFLECTED = ["id", "name", "title", "type"];

const unescaped = (text) => text.replaceAll("&lt;", "<").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

export class Element {
  nodes = [];
  attributes = new Map();
  parentElement = null;
  value = "";

  constructor(tag) {
    this.tag = tag;
    if (tag === "template") this.content = new Element("#fragment");
    this.dataset = new Proxy({}, {
      get: (_, name) => this.getAttribute(dataName(name)) ?? undefined,
      set: (_, name, value) => (this.setAttribute(dataName(name), value), true),
      deleteProperty: (_, name) => this.attributes.delete(dataName(name)) || true,
    });
    this.classList = {
      contains: (name) => this.classes.includes(name),
      toggle: (name, isOn) => {
        const others = this.classes.filter((other) => other !== name);
        this.setAttribute("class", [...others, ...(isOn ? [name] : [])].join(" "));
      },
    };
    for (const name of REFLECTED) {
      Object.defineProperty(this, name, {
        get: () => this.getAttribute(name) ?? "",
        set: (value) => this.setAttribute(name, value),
      });
    }
  }

  get classes() {
    return (this.getAttribute("class") ?? "").split(" ").filter(Boolean);
  }
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  setAttribute(name, value) {
    this.attributes.set(name, String(value));
    if (name === "value") this.value = String(value);
  }
  removeAttribute(name) {
    this.attributes.delete(name);
  }

  get children() {
    return this.nodes.filter((node) => node instanceof Element);
  }
  get firstElementChild() {
    return this.children[0] ?? null;
  }
  get nextElementSibling() {
    return sibling(this, 1);
  }
  get previousElementSibling() {
    return sibling(this, -1);
  }
  get textContent() {
    return this.nodes.map((node) => (node instanceof Element ? node.textContent : node)).join("");
  }
  set textContent(text) {
    this.nodes = [String(text)];
  }
  get innerHTML() {
    return (this.content ?? this).nodes.map((node) => (node instanceof Element ? node.outerHTML : escaped(node))).join(
      "",
    );
  }
  set innerHTML(html) {
    (this.content ?? this).nodes = [];
    (this.content ?? this).append(...parsed(html));
  }
  get outerHTML() {
    const attributes = [...this.attributes].map(([name, value]) => ` ${name}="${value}"`).join("");
    return `<${this.tag}${attributes}>` + (VOID.has(this.tag) ? "" : `${this.innerHTML}</${this.tag}>`);
  }

  append(...nodes) {
    this.insert(this.nodes.length, nodes);
  }
  before(...nodes) {
    for (const node of nodes) node.remove?.();
    this.parentElement.insert(this.parentElement.nodes.indexOf(this), nodes);
  }
  after(...nodes) {
    for (const node of nodes) node.remove?.();
    this.parentElement.insert(this.parentElement.nodes.indexOf(this) + 1, nodes);
  }
  insert(at, nodes) {
    const flat = nodes.flatMap((node) => (node.tag === "#fragment" ? node.nodes : [node]));
    for (const node of flat) node.remove?.();
    this.nodes.splice(Math.min(at, this.nodes.length), 0, ...flat);
    for (const node of flat) if (node instanceof Element) node.parentElement = this;
  }
  remove() {
    if (this.parentElement) this.parentElement.nodes = this.parentElement.nodes.filter((node) => node !== this);
    this.parentElement = null;
  }

  cloneNode() {
    return parsed(this.outerHTML)[0];
  }

  get all() {
    return this.children.flatMap((child) => [child, ...child.all]);
  }
  matches(selector) {
    return matches(this, selector, this);
  }
  closest(selector) {
    return this.matches(selector) ? this : this.parentElement?.closest(selector) ?? null;
  }
  querySelectorAll(selector) {
    return this.all.filter((element) => matches(element, selector, this));
  }
  querySelector(selector) {
    return this.querySelectorAll(selector)[0] ?? null;
  }

  get tHead() {
    return this.querySelector(":scope > thead");
  }
  get tBodies() {
    return this.querySelectorAll(":scope > tbody");
  }
  get rows() {
    return this.querySelectorAll(":scope > tr");
  }
  get cells() {
    return this.querySelectorAll(":scope > td, :scope > th");
  }

  focus() {
    globalThis.document.activeElement = this;
  }
  select() {}
  scrollIntoView() {}
  dispatchEvent(event) {
    Object.defineProperty(event, "target", { value: this });
    let isStopped = false;
    event.stopPropagation = () => {
      isStopped = true;
    };
    for (const isCapturing of [true, false]) {
      for (const [type, listener, captures] of globalThis.document.listeners) {
        if (type === event.type && captures === isCapturing && !isStopped) listener(event);
      }
    }
    return !event.defaultPrevented;
  }
  click() {
    this.dispatchEvent(new Event("click", { bubbles: true, cancelable: true }));
  }
}

const dataName = (name) => "data-" + name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function sibling(element, by) {
  const all = element.parentElement?.children ?? [];
  return all[all.indexOf(element) + by] ?? null;
}

function parsed(html) {
  const root = new Element("#fragment");
  let at = root;
  for (const [text, closing, tag, attributes] of html.matchAll(PART)) {
    if (closing) at = at.holder;
    else if (tag) {
      const element = new Element(tag);
      for (const [, name, value] of attributes.matchAll(ATTRIBUTE)) element.setAttribute(name, unescaped(value ?? ""));
      (at.content ?? at).append(element);
      element.holder = at;
      if (!VOID.has(tag)) at = element;
    } else if (!text.startsWith("<!--")) (at.content ?? at).append(unescaped(text));
  }
  return [...root.nodes];
}

/** Split at a sign that is in no brackets and quotes. */
function split(text, sign) {
  const parts = [""];
  let depth = 0;
  for (const letter of text) {
    if ("([".includes(letter)) depth += 1;
    if (")]".includes(letter)) depth -= 1;
    if (letter === sign && !depth) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}

function matches(element, selector, scope) {
  return split(selector, ",").some((path) => ends(element, split(path, " "), scope));
}

/** Whether a path of simple selectors and ">" ends at an element. */
function ends(element, path, scope) {
  if (!path.length) return true;
  if (!element || !isSimply(element, path.at(-1), scope)) return false;
  const rest = path.slice(0, -1);
  if (!rest.length) return true;
  if (rest.at(-1) === ">") return ends(element.parentElement, rest.slice(0, -1), scope);
  for (let at = element.parentElement; at; at = at.parentElement) if (ends(at, rest, scope)) return true;
  return false;
}

const SIMPLE =
  /:(not|is)\(((?:[^()]|\([^()]*\))*)\)|:scope|\[([\w-]+)(?:([$^]?)=(?:"([^"]*)"|([\w-]+)))?\]|\.([\w-]+)|\*|[\w-]+/g;

function isSimply(element, selector, scope) {
  return [...selector.matchAll(SIMPLE)].every(([all, pseudo, inner, name, how, quoted, plain, css]) => {
    if (pseudo) return matches(element, inner, scope) === (pseudo === "is");
    if (all === ":scope") return element === scope;
    if (css) return element.classes.includes(css);
    if (!name) return all === "*" || element.tag === all;
    const value = element.getAttribute(name);
    const wanted = quoted ?? plain;
    if (value === null || wanted === undefined) return value !== null;
    return how === "^" ? value.startsWith(wanted) : how === "$" ? value.endsWith(wanted) : value === wanted;
  });
}

/** Give a page with some HTML and the scripts that it loads, each run once. */
export function open(html, ...scripts) {
  const page = new Element("html");
  Object.assign(page, {
    listeners: [],
    createElement: (tag) => new Element(tag),
    getElementsByName: (name) => page.all.filter((element) => element.name === name),
    getElementById: (id) => page.all.find((element) => element.id === id) ?? null,
    addEventListener: (type, listener, captures = false) => page.listeners.push([type, listener, captures]),
  });
  page.innerHTML = html;
  const globals = {
    document: page,
    window: globalThis,
    HTMLElement: Element,
    customElements: { define() {} },
    location: { search: "" },
    setTimeout: (later) => later(), // what waits for screen readers need not wait here
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  for (const script of scripts) {
    new Function(Deno.readTextFileSync(new URL(`../../${script}`, import.meta.url)))();
  }
  page.dispatchEvent(new Event("DOMContentLoaded"));
  return page;
}
