// A port that cannot be opened is one sentence that names the setting to change.
import { createServer } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { listenError } from "./listen.ts";
import { OperatorError } from "./operator-error.ts";

const settings = { host: "HOST", port: "PORT" };

describe("a failed listen", () => {
  test.each([
    ["EADDRINUSE", "1.2.3.4:80 is in use; set PORT to a free port."],
    ["EACCES", "This user must not listen on 1.2.3.4:80; set PORT to a port above 1023."],
    [
      "ENOTFOUND",
      "Cannot listen on 1.2.3.4:80: 1.2.3.4 is no address of this machine (ENOTFOUND); change HOST.",
    ],
  ])("%s names the setting", (code, sentence) => {
    const error = listenError(Object.assign(new Error(code), { code }), settings, {
      host: "1.2.3.4",
      port: 80,
    });
    expect(error).toBeInstanceOf(OperatorError);
    expect(error.message).toBe(sentence);
  });

  test("an address of another machine is HOST's fault, not PORT's", async () => {
    // Reserved for documents, so no machine has it.
    const at = { host: "203.0.113.1", port: 0 };
    const error = await new Promise<Error>((resolve) => {
      createServer()
        .once("error", (failure) => resolve(listenError(failure, settings, at)))
        .listen(at.port, at.host);
    });
    expect(error.message).toMatch(/change HOST\.$/);
  });

  test("what is no matter of settings stays as it is", () => {
    const bug = new TypeError("bug");
    expect(listenError(bug, settings, { host: "a", port: 1 })).toBe(bug);
  });
});
