// Jest gives each test file globals of its own, so errors made by Node itself are not instances of a test's Error, and
// libraries that ask (Connect does, to tell a refused connection from a bug) would behave as they never do in
// production. Here an error is an Error, wherever it was made.
const ordinary = Function.prototype[Symbol.hasInstance];

Object.defineProperty(Error, Symbol.hasInstance, {
  // Classes that extend Error inherit this; for them nothing changes.
  value(this: unknown, value: unknown): boolean {
    return this === Error ? isError(value) : ordinary.call(this, value);
  },
});

function isError(value: unknown): boolean {
  return ordinary.call(Error, value) || Object.prototype.toString.call(value) === "[object Error]";
}
