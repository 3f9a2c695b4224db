// Read a decision table with dmn-moddle and answer rows by its rules' tests in feelin.
//
// From JSON on stdin: {packages, document, rows, columns: a value a row, by a variable's name}.
// To JSON: {hits: the rules that fit each row, answers: each rule's outputs by name}.
import { readFileSync } from "node:fs";

const { packages, document, rows, columns } = JSON.parse(readFileSync(0, "utf8"));
const { DmnModdle } = await import(packages["dmn-moddle"]);
const { evaluate, unaryTest } = await import(packages.feelin);

const sure = ({ value, warnings }) => {
  if (warnings.length) throw new Error(JSON.stringify(warnings));
  return value;
};
const { rootElement, warnings } = await new DmnModdle().fromXML(document);
sure({ warnings });
const table = rootElement.drgElement.find((e) => e.$type === "dmn:Decision").decisionLogic;
if (table.hitPolicy !== "UNIQUE") throw new Error(`hit policy ${table.hitPolicy}`);

// A test of a value is asked once, as columns hold few values.
const asked = new Map();
const passes = (test, value) => {
  const key = JSON.stringify([test, Object.is(value, -0) ? "-0" : value, typeof value]);
  if (!asked.has(key)) asked.set(key, sure(unaryTest(test, { "?": value })) === true);
  return asked.get(key);
};
const given = table.input.map(({ inputExpression }) => columns[inputExpression.text]);
const hits = Array.from({ length: rows }, (_, row) =>
  table.rule.flatMap(({ inputEntry }, rule) =>
    inputEntry.every(({ text }, i) => passes(text, given[i][row])) ? [rule] : [],
  ),
);
const answers = table.rule.map(({ outputEntry }) =>
  Object.fromEntries(outputEntry.map(({ text }, i) => [table.output[i].name, sure(evaluate(text))])),
);
process.stdout.write(JSON.stringify({ hits, answers }));
