// Answer the rows of a JSON on stdin, as a JSON: leaf, the label's type and text, outputs.
import { readFileSync } from "node:fs";
import * as rules from "./rules.mjs";

const NUMBERS = { inf: Infinity, "-inf": -Infinity, nan: NaN };
const READERS = {
  number: (text) => (text in NUMBERS ? NUMBERS[text] : Number(text)),
  whole: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)),
  plain: (value) => value,
};
const { names, kinds, told, rows } = JSON.parse(readFileSync(0, "utf8"));
const answers = rows.map((cells) => {
  const row = Object.create(null);
  names.forEach((name, i) => {
    row[name] = cells[i] === null ? null : READERS[kinds[i]](cells[i]);
  });
  const label = rules.predict(row);
  const text = Object.is(label, -0) ? "-0" : String(label);
  return [rules.leaf(row), typeof label, text, told.map((name) => rules[name](row))];
});
process.stdout.write(JSON.stringify(answers));
