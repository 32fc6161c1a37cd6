// One jest project for all rings; tests are beside their code, and under test/.
// Sources run as ESM TypeScript. Where a test file has modules of its own (scripts/jest/shared-modules.cjs), jest needs
// --experimental-vm-modules, which scripts/test.ts passes.

/** @param {boolean} tsx elements are part of the syntax, and a type parameter cannot begin an arrow function */
const swc = (tsx) => [
  "@swc/jest",
  {
    jsc: {
      target: "es2024",
      parser: { syntax: "typescript", tsx },
      transform: { react: { runtime: "automatic" } },
    },
    module: { type: "es6" },
    sourceMaps: "inline",
  },
];

module.exports = {
  runtime: "<rootDir>/scripts/jest/shared-modules.cjs",
  testEnvironment: "<rootDir>/scripts/jest/environment.cjs",
  testEnvironmentOptions: { url: "http://router.test/" },
  extensionsToTreatAsEsm: [".ts", ".tsx"],
  testMatch: ["<rootDir>/**/*.test.ts", "<rootDir>/**/*.test.tsx"],
  // Parts of the web application that its builder supplies.
  moduleNameMapper: {
    "^virtual:console-addresses$": "<rootDir>/apps/console/src/test/console-addresses.ts",
    "^(@mantine/core/styles/.+|@mantine/(?:spotlight|notifications)/styles|\\./later)\\.css$":
      "<rootDir>/apps/console/src/test/no-styles.ts",
  },
  filter: "<rootDir>/scripts/jest/select-tests.cjs",
  testSequencer: "<rootDir>/scripts/jest/longest-first.cjs",
  testPathIgnorePatterns: ["/node_modules/", "/dist/", "/.tools/", "/.data/"],
  modulePathIgnorePatterns: ["/dist/", "/.tools/", "/.data/"],
  watchman: false,
  globalSetup: "<rootDir>/test/kit/src/setup/global-setup.ts",
  globalTeardown: "<rootDir>/test/kit/src/setup/global-teardown.ts",
  setupFiles: [
    "<rootDir>/test/kit/src/setup/one-error-realm.ts",
    "<rootDir>/test/kit/src/setup/property-seed.ts",
  ],
  // Ends only a test that hangs: a slow, busy machine may need many times the usual time.
  testTimeout: 600_000,
  // More than CI has cores: tests wait a lot, for processes, timers and disks. Deep ones have fewer (scripts/test.ts).
  maxWorkers: 4,
  // Modules of files that are done stay in the memory of a worker; a new one begins with none.
  workerIdleMemoryLimit: "1600MB",
  // The kernel needs more than the usual half second to free the memory of four workers on a busy machine. A worker that stays
  // longer has an open handle (scripts/jest/end-worker.cjs).
  workerGracefulExitTimeout: 120_000,
  transform: {
    "\\.ts$": swc(false),
    "\\.tsx$": swc(true),
  },
  coverageProvider: "v8",
};
