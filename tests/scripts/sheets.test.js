import { deepStrictEqual as equal } from "node:assert";
import { open } from "./dom.js";

open("", "fixtures_app/static/fixtures_app/sheets.js");
const { parse, readFile } = globalThis.evalwellSheets;

for (
  const [name, text, rows] of [
    ["tabs and lines", "a\tb\nc\td", [["a", "b"], ["c", "d"]]],
    ["a last line that is ended", "a\tb\r\n", [["a", "b"]]],
    ["empty lines", "a\n\n \nb", [["a"], ["b"]]],
    ["empty cells", "\ta\t", [["", "a", ""]]],
    ["quotes around a line break and a tab", '"a\n1\t2"\tb', [["a\n1\t2", "b"]]],
    ["doubled quotes", '"say ""hi"""', [['say "hi"']]],
    ["a quote inside a cell", '5" nail', [['5" nail']]],
    ["nothing", "", []],
  ]
) {
  Deno.test(`a text with ${name} is split into cells`, () => equal(parse(text, "\t"), rows));
}

for (
  const [name, content, rows] of [
    ["commas", "ref,price\na,1", [["ref", "price"], ["a", "1"]]],
    ["semicolons, with commas in numbers", "ref;price;size\na;1,5;2", [["ref", "price", "size"], ["a", "1,5", "2"]]],
    ["UTF-8 and its mark", "\uFEFFä,b", [["ä", "b"]]],
    ["the letters of Windows", new Uint8Array([0xe4, 0x2c, 0x62]), [["ä", "b"]]],
  ]
) {
  Deno.test(`a file with ${name} is read`, async () => {
    equal(await readFile(new File([content], "orders.csv")), { rows });
  });
}
