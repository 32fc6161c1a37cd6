// A test file with modules of its own (scripts/jest/shared-modules.cjs) has separate globals, so errors of Node itself are not
// instances of its Error. Libraries that check it would then behave unlike production: Connect distinguishes a refused connection
// from a bug so. Here an error of any realm is an Error.
import { AssertionError } from "node:assert";

const ordinary = Function.prototype[Symbol.hasInstance];

if (!(AssertionError.prototype instanceof Error)) {
  Object.defineProperty(Error, Symbol.hasInstance, {
    // Classes that extend Error inherit this; for them nothing changes.
    value(this: unknown, value: unknown): boolean {
      return this === Error ? isError(value) : ordinary.call(this, value);
    },
  });
}

function isError(value: unknown): boolean {
  return ordinary.call(Error, value) || Object.prototype.toString.call(value) === "[object Error]";
}
