// Variant environment runs copies of test files, each with its own modules of this repository and with a changed text of at most one
// module. A worker loads packages of others once for all copies, and no file of production code changes on disk.
const { readFileSync } = require("node:fs");
const { registerHooks } = require("node:module");
const { fileURLToPath, pathToFileURL } = require("node:url");
const { TestEnvironment: NodeEnvironment } = require("jest-environment-node");

const COPY = /\.variant-(\d+)\.test\.ts$/;
/** Part of the address of each module that a variant loads for itself. */
const QUERY = "?variant=";

/** @type {readonly { readonly name?: string, readonly path?: string, readonly text?: string }[]} */
const variants = JSON.parse(readFileSync(process.env.TEST_VARIANTS, "utf8"));
/** @type {string | undefined} */
let root;

registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context);
    const { parentURL = "" } = context;
    const [, number = parentURL.split(QUERY)[1]] = COPY.exec(parentURL) ?? [];
    const isOwn =
      root !== undefined && resolved.url.startsWith(root) && !resolved.url.includes("/node_modules/");
    return number !== undefined && isOwn
      ? { ...resolved, url: `${resolved.url}${QUERY}${number}` }
      : resolved;
  },
  load: (url, context, next) => {
    const loaded = next(url, context);
    const [address, number] = url.split(QUERY);
    if (number === undefined) return loaded;
    const { path, text } = variants[Number(number)];
    return path === fileURLToPath(address) ? { ...loaded, source: text } : loaded;
  },
});

module.exports = class VariantEnvironment extends NodeEnvironment {
  #name;

  constructor(config, context) {
    super(config, context);
    root = pathToFileURL(`${config.projectConfig.rootDir}/`).href;
    const [, number] = COPY.exec(context.testPath);
    this.#name = variants[Number(number)].name;
  }

  /** jest's own option selects the same names in all files. */
  handleTestEvent({ name }, state) {
    if (name === "run_start" && this.#name !== undefined) state.testNamePattern = new RegExp(this.#name, "i");
  }
};
