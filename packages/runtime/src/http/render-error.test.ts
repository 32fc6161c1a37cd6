// Guarantees of rendered errors: each row of the error table is rendered accordingly, and docs/errors.md contains the
// same.
import { readFile } from "node:fs/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorRow, errorTable, type Reason, ServiceError, toConnectError } from "@gr/proto";
import { describe, expect, test } from "@jest/globals";
import { renderError, renderRawHttp } from "./render-error.ts";

const reasons = Object.keys(errorTable) as Reason[];

describe("rendering", () => {
  test.each(reasons)("%s has the status, type, code and headers of its row", (reason) => {
    const row = errorRow(reason);
    const error = new ServiceError(reason, "A sentence.", { param: "field", retryAfterMs: 1_001 });
    const rendered = renderError(error, "id");
    expect(rendered).toEqual({
      status: row.status,
      headers: {
        ...(row.status === 401 ? { "www-authenticate": "Bearer" } : {}),
        ...(row.retry === undefined ? {} : { "x-should-retry": String(row.retry === "helps") }),
        "retry-after": "2",
        "retry-after-ms": "1001",
      },
      body: {
        error: {
          message: "A sentence.",
          type: row.type,
          param: "field",
          ...(row.code === undefined ? {} : { code: row.code }),
        },
      },
      unexpected: false,
    });
    expect(renderError(toConnectError(error), "id")).toEqual(rendered);
  });

  test("fields that an error does not have are left out", () => {
    const { body, headers } = renderError(new ServiceError("rate_limit_exceeded", "Slow down."), "id");
    expect(Object.keys(body.error).sort()).toEqual(["code", "message", "type"]);
    expect(headers).toEqual({ "x-should-retry": "true" });
  });

  test.each([
    ["an ordinary error", new TypeError("the password is hunter2")],
    ["a wire error without a reason", new ConnectError("hunter2", Code.NotFound)],
    ["a string", "hunter2"],
    ["nothing", undefined],
    ["an object with a code", { code: "hunter2", statusCode: 418 }],
  ])("%s is a 500 that keeps its text inside", (_name, thrown) => {
    const rendered = renderError(thrown, "the-id");
    expect(rendered).toMatchObject({ status: 500, unexpected: true });
    expect(rendered.body.error).toEqual({
      message: expect.stringContaining("the-id"),
      type: "internal_error",
    });
    expect(JSON.stringify(rendered)).not.toContain("hunter2");
  });

  test("as raw HTTP it says the same, counts its bytes and closes", () => {
    const error = new ServiceError("headers_too_large", "Zu groß.");
    const [head = "", payload = ""] = renderRawHttp(error, { "x-request-id": "the-id" }).split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(head).toContain("x-request-id: the-id");
    expect(head).toContain("connection: close");
    expect(head).toContain(`content-length: ${Buffer.byteLength(payload)}`);
    expect(JSON.parse(payload)).toEqual(renderError(error, "the-id").body);
  });
});

describe("docs/errors.md", () => {
  test("has one row for each reason, with its status, type, code and retry, and no other", async () => {
    const text = await readFile(new URL("../../../../docs/errors.md", import.meta.url), "utf8");
    const written = text.split("\n").flatMap((line) => {
      const cells = line.split("|").map((cell) => cell.trim().replaceAll("`", ""));
      return /^\| `\w+` +\|/.test(line) ? [cells.slice(1, -1)] : [];
    });
    expect(
      written.map(([reason, status, type, code, retry]) => ({ reason, status, type, code, retry })),
    ).toEqual(
      reasons.map((reason) => {
        const { status, type, code, retry } = errorRow(reason);
        return { reason, status: String(status), type, code: code ?? "", retry: retry ?? "" };
      }),
    );
    for (const [reason, , , , , when, remedy] of written) {
      expect([reason, (when ?? "").length > 10, (remedy ?? "").length > 10]).toEqual([reason, true, true]);
    }
  });
});
