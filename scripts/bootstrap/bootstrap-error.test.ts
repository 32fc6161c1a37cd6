// A failed install prints one sentence for a person, which names the cause.
import { expect, test } from "@jest/globals";
import { describeFailure, describeInstallFailure } from "./bootstrap-error.mjs";

test.each([
  [
    "npm error code ENOTFOUND\nnpm error network request to https://registry.example/x failed",
    "could not install x: the npm registry cannot be reached (ENOTFOUND); check the network and npm's registry and proxy settings.",
  ],
  [
    "npm error code ENOSPC\nnpm error nospc There is not enough space",
    "could not install x: the disk is full.",
  ],
  ["npm error code EACCES\nnpm error syscall mkdir", "could not install x: permission denied."],
  [
    'Error: ERR_PNPM_OUTDATED_LOCKFILE\n\n  × installing\n  ╰─▶ Cannot install with "frozen-lockfile" because\n      the lockfile is old.\n\n  help: …\n',
    'could not install x: Cannot install with "frozen-lockfile" because the lockfile is old.',
  ],
  [
    "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/x\nnpm error A complete log of this run",
    "could not install x: npm error 404 Not Found - GET https://registry.example/x",
  ],
  ["", "could not install x: the installer gave no reason."],
])("output %j becomes one sentence", (output, sentence) => {
  expect(describeInstallFailure("x", output)).toBe(sentence);
});

test("a failure of the file system names the path and the cause", () => {
  const error = Object.assign(new Error("EROFS: read-only file system"), {
    code: "EROFS",
    path: "/c/.tools",
  });
  expect(describeFailure(error)).toBe("cannot write to /c/.tools: the file system is read-only.");
  expect(describeFailure(new Error("odd\n    at somewhere"))).toBe("unexpected failure: odd");
});
