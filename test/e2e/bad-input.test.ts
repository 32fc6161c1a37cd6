// Every endpoint and every field against a table of bad values. Each is refused with a reason that names the fault,
// never with a failure of ours, and nothing is written. Odd but valid values beside them must not be refused.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { notBodies } from "./bad-values.ts";
import { badTogether, bodyOf, type Endpoint, endpoints } from "./endpoints.ts";
import { type Answer, call } from "./http.ts";
import { type BadCase, expectNothingWritten, expectRefusals } from "./refusal.ts";
import { type Router, startRouter } from "./topology.ts";

const UNLIMITED = {
  RATE_LIMIT_TEXT_PER_SECOND: "0",
  RATE_LIMIT_MEDIA_PER_SECOND: "0",
  RATE_LIMIT_OTHER_PER_SECOND: "0",
  RATE_LIMIT_ANONYMOUS_PER_SECOND: "0",
};

let router: Router;
beforeAll(async () => {
  router = await startRouter("all-in-one", { inProcess: true, env: UNLIMITED });
});
afterAll(async () => {
  await router?.dispose();
});

const keyOf = ({ management }: Pick<Endpoint, "management">) =>
  management === true ? router.managementKey : router.apiKey;

async function post(
  endpoint: Endpoint,
  body: string | Buffer | FormData,
  headers: Readonly<Record<string, string>> = { "content-type": "application/json" },
): Promise<Answer> {
  const response = await fetch(router.baseUrl + endpoint.path, {
    method: "POST",
    headers: { authorization: `Bearer ${keyOf(endpoint)}`, ...headers },
    body: Buffer.isBuffer(body) ? new Uint8Array(body) : body,
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const json = (more: Readonly<Record<string, string>>) => ({ "content-type": "application/json", ...more });

describe("what is refused", () => {
  expectNothingWritten(() => router);

  describe.each(endpoints)("POST $path", (endpoint) => {
    const { valid, bad, path, spends, forms } = endpoint;

    test.each(Object.entries(bad))("%s: every bad value, and the field is named", async (field, rule) => {
      const values = rule.required === true ? [...rule.values, undefined] : rule.values;
      const names = [field, ...(rule.alias === undefined ? [] : [rule.alias])];
      await expectRefusals(
        values.map((value) => ({
          name: `${field}: ${value}`,
          send: () => post(endpoint, bodyOf({ ...valid, ...rule.beside, [field]: value })),
          refusal: { names, ...(rule.status === undefined ? {} : { status: rule.status }) },
        })),
      );
    });

    test("bodies that are none", async () => {
      const bodies = notBodies(bodyOf(valid));
      await expectRefusals(bodies.map(([name, bytes]) => ({ name, send: () => post(endpoint, bytes) })));
    });

    test("fields that are bad together, twice or not JSON", async () => {
      await expectRefusals(
        badTogether(endpoint).map((body) => ({ name: body, send: () => post(endpoint, body) })),
      );
    });

    test("content types", async () => {
      const types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "application/xml",
        "json",
        "*/*",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=x",
        "multipart/mixed; boundary=x",
      ];
      await expectRefusals(
        types.map((type) => ({
          name: type,
          send: () => post(endpoint, bodyOf(valid), { "content-type": type }),
          refusal: { status: [400, 415] },
        })),
      );
    });

    if (spends) {
      test("Idempotency-Key: empty, over-long, not printable ASCII", async () => {
        const keys = ["", "k".repeat(256), "k".repeat(8_000), "k\u00fc", "\u00ff", "a\tb"];
        await expectRefusals(
          keys.map((key) => ({
            name: JSON.stringify(key),
            send: () => post(endpoint, bodyOf(valid), json({ "idempotency-key": key })),
            refusal: { names: ["Idempotency-Key"] },
          })),
        );
      });
    }

    if (forms) {
      test("forms: bad values, fields twice, files in the place of text, forms that break off", async () => {
        await expectRefusals(badForms(endpoint));
      });
    }

    test("Authorization", async () => {
      const wrong = endpoint.management === true ? router.apiKey : router.managementKey;
      const body = bodyOf(valid);
      await expectRefusals(
        [...badAuthorizations(keyOf(endpoint)), `Bearer ${wrong}`].map((authorization) => ({
          name: JSON.stringify(authorization),
          send: () => post(endpoint, body, json({ authorization })),
          refusal: { status: [401], names: ["Authorization", "API key", "management key"] },
        })),
      );
      const unsigned = await call(router, "POST", path, { key: null, body });
      expect([unsigned.status, unsigned.body.error.type]).toEqual([401, "unauthorized"]);
    });
  });

  test.each([
    ["/v1/models", ["type", "free", "sort", "limit", "name", "provider"]],
    ["/v1/compat/models", ["type", "free", "sort", "limit", "name", "provider"]],
    ["/v1/credits", ["by_api_key"]],
  ])("GET %s: bad values of the query, by name", async (path, names) => {
    const text = new Set(["name", "provider"]);
    const values = [
      "",
      "maybe",
      "TRUE",
      "True",
      "0",
      "-1",
      "1.5",
      "1e2",
      "0x1",
      "%00",
      "%ZZ",
      "%20",
      "null",
      "NaN",
    ];
    values.push("__proto__", "constructor", "%F0%9F%98%80", "image,video", "a".repeat(2_000));
    await expectRefusals(
      names.flatMap((name) => [
        ...(text.has(name) ? [] : values.map((value) => getCase(`${path}?${name}=${value}`, name))),
        getCase(`${path}?${name}=image&${name}=video`, name),
      ]),
    );
  });

  test("GET of models that do not exist", async () => {
    const ids = [
      "no/such",
      "no%2Fsuch",
      "__proto__",
      "constructor",
      "%00",
      "%20",
      "%F0%9F%98%80",
      "a".repeat(5_000),
    ];
    const paths = ["/v1/models", "/v1/compat/models"].flatMap((path) => ids.map((id) => `${path}/${id}`));
    await expectRefusals([
      ...paths.map((path) => getCase(path, "model", [404])),
      ...["/v1/models/%ZZ", "/v1/models/%ff"].map((path) => getCase(path, "", [400, 404])),
    ]);
  });

  test("DELETE of ids that are no normal key of the account", async () => {
    const { body } = await call(router, "POST", "/v1/auth/test");
    const remove = (id: string, refusal: BadCase["refusal"]): BadCase => ({
      name: id,
      send: () => call(router, "DELETE", `/v1/api-keys/${id}`, { key: router.managementKey }),
      ...(refusal === undefined ? {} : { refusal }),
    });
    const ids = [
      "nope",
      "0",
      "-1",
      "null",
      "__proto__",
      "%00",
      "%20",
      "%F0%9F%98%80",
      "*",
      "a'--",
      "a".repeat(400),
    ];
    ids.push(
      "00000000-0000-0000-0000-000000000000",
      `${body.api_key.id}0`,
      ` ${body.api_key.id}`.replace(" ", "%20"),
    );
    await expectRefusals([
      ...ids.map((id) => remove(id, { status: [404], names: ["id"] })),
      ...["", "%ZZ", "%ff", "%2e%2e", "a/b", "a%2Fb", "a".repeat(3_000)].map((id) =>
        remove(id, { status: [400, 404, 405] }),
      ),
    ]);
  });

  function getCase(path: string, name: string, status: readonly number[] = [400]): BadCase {
    return { name: path, send: () => call(router, "GET", path), refusal: { names: [name], status } };
  }

  function badForms(endpoint: Endpoint): BadCase[] {
    const model = JSON.parse(endpoint.valid["model"] ?? "");
    const form = (fields: Readonly<Record<string, string | Blob | readonly string[]>>) => {
      const data = new FormData();
      for (const [name, value] of Object.entries({ model, prompt: "a", ...fields })) {
        for (const each of [value].flat()) data.append(name, each);
      }
      return data;
    };
    const fields: [string, string | Blob | readonly string[]][] = [
      ...["0", "-1", "11", "1.5", "1e0", "NaN", "\u0663", "1 ", "9".repeat(400)].map(
        (n): [string, string] => ["n", n],
      ),
      ...["0", "61", "5s", "1e1", "AUTO"].map((seconds): [string, string] => ["seconds", seconds]),
      ...["yes", "TRUE", "true"].map((audio): [string, string] => ["audio", audio]),
      ...["AUTO", "a\0"].flatMap((value): [string, string][] =>
        ["quality", "size", "response_format", "output_format"].map((name) => [name, value]),
      ),
      ["prompt", "a".repeat(20_001)],
      ["prompt", " "],
      ...["model", "prompt", "n", "size"].map((name): [string, string[]] => [name, ["1", "1"]]),
      ...["model", "prompt", "n", "size"].map((name): [string, Blob] => [name, new Blob(["a"])]),
      ["image[]", new Blob(["a"])],
      ["image", "https://example.com/a.png"],
      ["mask[]", new Blob(["a"])],
    ];
    const type = { "content-type": "multipart/form-data; boundary=x" };
    const part = `--x\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n`;
    return [
      ...fields
        .filter(([name]) => name in endpoint.bad)
        .map(([name, value]) => ({
          name: `${name}: ${value}`,
          send: () => post(endpoint, form({ [name]: value }), {}),
          refusal: { names: [name.replace("[]", "")], status: [400, 404] },
        })),
      ...["", "--x", part, `${part}--x`, `${part}--y--`, part.slice(0, 30), `${part}--x--`].map((body) => ({
        name: JSON.stringify(body),
        send: () => post(endpoint, body, type),
      })),
    ];
  }
});

function badAuthorizations(key: string): string[] {
  const last = key.endsWith("0") ? "1" : "0";
  return [
    "",
    "Bearer",
    "Bearer ",
    key,
    `Basic ${Buffer.from(`:${key}`).toString("base64")}`,
    `Bearer: ${key}`,
    `Bearer ${key} ${key}`,
    `Bearer ${key},`,
    `Bearer "${key}"`,
    `Bearer ${key}x`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key.slice(0, -1)}${last}`,
    `Bearer ${key.toUpperCase()}`,
    "Bearer null",
    "Bearer gr_live_",
    "Bearer sk-1234567890",
    "Bearer \u00ff",
    `Bearer ${"a".repeat(10_000)}`,
  ];
}
