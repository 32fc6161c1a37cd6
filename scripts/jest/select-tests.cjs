// jest's filter selects the test files of a command. `npm test` runs all but `*.deep.test.ts`.
// `npm run test:deep` runs those, and each file with `byDepth` in its text: it has a long form.
const { readFileSync } = require("node:fs");
const path = require("node:path");

/** Imports each other test of a page. */
const ALL_PAGES = path.join(__dirname, "..", "..", "apps", "console", "src", "test", "all-pages.test.tsx");

const isPage = (file) => file.endsWith(".test.tsx");
const onlyDeep = (file) => file.endsWith(".deep.test.ts");
const hasLongForm = (file) => /[bB]yDepth\b/.test(readFileSync(file, "utf8"));

function isSelected(file, files) {
  if (process.env.TEST_DEPTH === "deep") return onlyDeep(file) || hasLongForm(file);
  return !onlyDeep(file) && !(isPage(file) && file !== ALL_PAGES && files.includes(ALL_PAGES));
}

module.exports = (files) => ({ filtered: files.filter((file) => isSelected(file, files)) });
