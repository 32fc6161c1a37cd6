// Test files share modules under this jest runtime: Node itself loads each module once for all files of a
// worker, as in production, and its compiled code stays. With modules of its own, in a realm of its own, each file runs cold code.
// Pages, long tests and tests that replace functions keep jest's own runtime.
const { readFileSync } = require("node:fs");
const { createRequire, registerHooks } = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { default: Runtime } = require("jest-runtime");

const TEST_GLOBALS = pathToFileURL(path.join(__dirname, "test-globals.mjs")).href;
/** Keys of jest-circus in the global object. They are of one file. */
const EVENT_HANDLERS = Symbol.for("EVENT_HANDLERS");
const STATE = "JEST_STATE_SYMBOL";
const SHARING = /(?<!\.deep)\.test\.ts$/;
/** Tests of modules of the web application that import elements or parts that its builder supplies. */
const NEEDS_BUILDER = /^apps\/console\/src\/pages\/(playground\/|usage\/usage-series\.)/;
const REPLACES_FUNCTIONS = /[{,] jest\b/;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "@jest/globals" ? { url: TEST_GLOBALS, shortCircuit: true } : next(specifier, context),
});

module.exports = class SharedModules extends Runtime {
  #isShared;

  /** jest passes its configuration first, the path of the test file as seventh, and the options of the run as eighth. */
  constructor(...options) {
    super(...options);
    const [{ rootDir }, , , , , , file, { watch, watchAll }] = options;
    const name = path.relative(rootDir, file).replaceAll(path.sep, "/");
    const isShared =
      SHARING.test(name) && !NEEDS_BUILDER.test(name) && !REPLACES_FUNCTIONS.test(readFileSync(file, "utf8"));
    // A watching run needs changed modules anew.
    this.#isShared = isShared && !watch && !watchAll;
  }

  async unstable_importModule(file, name) {
    if (!this.#isShared) return await super.unstable_importModule(file, name);
    return await import(pathToFileURL(file).href);
  }

  requireInternalModule(file, name) {
    if (!this.#isShared) return super.requireInternalModule(file, name);
    // The module of jest-circus that keeps the tests of one file.
    forgetTests();
    delete require.cache[file];
    return createRequire(file)(file);
  }

  setGlobalsForRuntime(globals) {
    super.setGlobalsForRuntime(globals);
    globalThis.testGlobals = globals;
  }

  teardown() {
    super.teardown();
    forgetTests();
  }
};

function forgetTests() {
  delete globalThis.testGlobals;
  delete globalThis[EVENT_HANDLERS];
  for (const key of Object.getOwnPropertySymbols(globalThis))
    if (key.description === STATE) delete globalThis[key];
}
