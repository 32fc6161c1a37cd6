// Test globals are `@jest/globals` for modules that test files of a worker share. Each call reaches the functions of the running
// file, which scripts/jest/shared-modules.cjs sets.

/** @param {string} name */
function late(name) {
  return new Proxy(() => undefined, {
    apply: (_target, self, args) => Reflect.apply(current(name), self, args),
    get: (_target, key) => current(name)[key],
  });
}

/** @param {string} name */
function current(name) {
  const globals = globalThis["testGlobals"];
  if (globals === undefined) throw new Error(`${name} needs a test file that runs`);
  return globals[name];
}

export const afterAll = late("afterAll");
export const afterEach = late("afterEach");
export const beforeAll = late("beforeAll");
export const beforeEach = late("beforeEach");
export const describe = late("describe");
export const expect = late("expect");
export const test = late("test");
