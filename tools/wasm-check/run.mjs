// Runs experiments in WebAssembly and compares their trace hashes with those of native runs:
// node run.mjs MODULE GOLDEN

import { readFileSync } from "node:fs";
import { argv, exit } from "node:process";

const [module, golden] = argv.slice(2);
// The module has no imports, so it has no access to a clock, files or random numbers.
const { instance } = await WebAssembly.instantiate(readFileSync(module), {});
const { memory, run, text, length } = instance.exports;
const told = () => Buffer.from(memory.buffer, text(), length()).toString();

try {
  run();
} catch (trap) {
  console.error(`${trap}: ${told()}`);
  exit(1);
}

const expected = readFileSync(golden, "utf8").split("\n");
const found = told().split("\n");
const differ = expected.filter((line, n) => line !== found[n]);
if (differ.length > 0 || expected.length !== found.length) {
  console.error(`trace hashes differ from native ones. Expected:\n${differ.join("\n")}\nof:\n${told()}`);
  exit(1);
}
console.log(`${expected.length - 2} runs in WebAssembly have the same trace hashes as natively`);
