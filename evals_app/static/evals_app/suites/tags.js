/* Suggest tags where several are separated by commas: what is typed before stays. */
(() => {
  "use strict";

  let known; // asked once
  const tagsAt = (address) => (known ??= fetch(address)
    .then((answer) => (answer.ok ? answer.json() : { tags: [] }))
    .then(({ tags }) => tags)
    .catch(() => []));

  function listOf(input) {
    let list = document.getElementById("known-tags");
    if (!list) {
      list = Object.assign(document.createElement("datalist"), { id: "known-tags" });
      document.body.append(list);
    }
    input.setAttribute("list", list.id);
    return list;
  }

  async function suggest(input) {
    const tags = await tagsAt(input.dataset.tags);
    const [, before, space] = input.value.match(/^(.*,|)(\s*)/s);
    const typed = before.split(",").map((tag) => tag.trim());
    const left = tags.filter((tag) => !typed.includes(tag));
    listOf(input).replaceChildren(
      ...left.map((tag) => Object.assign(document.createElement("option"), { value: before + space + tag })),
    );
  }

  for (const type of ["focusin", "input"]) {
    document.addEventListener(type, (event) => event.target.matches?.("[data-tags]") && suggest(event.target));
  }
})();
