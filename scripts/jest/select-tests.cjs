// jest's filter selects the test files of a command. `npm test` runs all but `*.deep.test.ts`.
// `npm run test:deep` runs those, and each file with `byDepth` in its text: it has a long form.
const { readFileSync } = require("node:fs");

const onlyDeep = (file) => file.endsWith(".deep.test.ts");
const hasLongForm = (file) => /[bB]yDepth\b/.test(readFileSync(file, "utf8"));

module.exports = (files) => ({
  filtered: files.filter((file) =>
    process.env.TEST_DEPTH === "deep" ? onlyDeep(file) || hasLongForm(file) : !onlyDeep(file),
  ),
});
