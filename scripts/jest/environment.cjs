// jest's environment of a test file: Node, and for elements (`*.test.tsx`) a page without a browser. Libraries for pages look
// for the page while they are loaded, so it exists before the first import.
const { TestEnvironment: NodeEnvironment } = require("jest-environment-node");

/** jest calls this with `new` and uses the returned environment. */
module.exports = function environmentOf(config, context) {
  if (!context.testPath.endsWith(".test.tsx")) return new NodeEnvironment(config, context);
  const { default: PageEnvironment } = require("@happy-dom/jest-environment");
  return new PageEnvironment(config, context);
};
