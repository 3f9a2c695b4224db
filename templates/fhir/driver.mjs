// Answer rows by a bundle's library in cql-execution, and by the conditions of its plan.
//
// From JSON on stdin: {packages, bundle, rows, columns: a value a row, by a parameter's name,
// outputs: names of definitions}.
// To JSON: {answers: the outputs of each row, fits: the conditions of the plan that it meets}.
import { readFileSync } from "node:fs";

const { packages, bundle, rows, columns, outputs } = JSON.parse(readFileSync(0, "utf8"));
const { default: cql } = await import(packages["cql-execution"]);

const resource = (type) =>
  bundle.entry.map((entry) => entry.resource).find((own) => own.resourceType === type);
const library = resource("Library"), plan = resource("PlanDefinition");
if (!plan.library.includes(`${library.url}|${library.version}`)) throw new Error("another library");
const { data } = library.content.find((own) => own.contentType === "application/elm+json");
const elm = new cql.Library(JSON.parse(Buffer.from(data, "base64").toString("utf8")));
const conditions = plan.action.map(({ condition }) => condition[0].expression.expression);
for (const name of [...outputs, ...conditions])
  if (!elm.expressions[name]) throw new Error(`no definition ${name}`);

const answers = [], fits = [];
for (let row = 0; row < rows; row++) {
  const parameters = Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [name, column[row]]),
  );
  const executor = new cql.Executor(elm, null, parameters);
  const told = (await executor.exec(new cql.PatientSource([]))).unfilteredResults;
  answers.push(outputs.map((name) => told[name]));
  fits.push(conditions.filter((name) => told[name] === true));
}
process.stdout.write(JSON.stringify({ answers, fits }));
