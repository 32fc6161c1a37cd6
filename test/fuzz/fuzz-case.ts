// One request of the fuzzer, drawn from a seed: its operation, its caller, its content, and the conduct of its client.
// Values of a running router (keys, ids, addresses of files) are chosen by number when it is sent.
import fc from "fast-check";
import { bodyFor, formFor } from "./json-text.ts";
import { pixel } from "./known-values.ts";
import type { Description, Operation } from "./operations.ts";

/**
 * `rich` may spend any amount, `capped` a cent a day, `poor` nothing of a rich account; `broke` is of an empty account.
 */
export const CALLERS = [
  ...["rich", "capped", "poor", "broke", "stranger", "manager", "strangeManager"],
  ...["minted", "deleted", "nobody", "garbage", "malformed"],
] as const;
export type Caller = (typeof CALLERS)[number];

/**
 * patient: reads the whole answer. `leaves`: disconnects at the first byte of it. trickles: sends its body in slices,
 * without a length. `gives up`: disconnects with half of its body sent. raw: changes bytes of the request on the way.
 */
export type Conduct = "patient" | "leaves" | "trickles" | "gives up" | "raw";

export interface FuzzCase {
  /** Undefined: the description has no such method and path. */
  readonly operation: Operation | undefined;
  readonly method: string;
  /** `{id}` and the like are filled in when it is sent. */
  readonly path: string;
  readonly query: string;
  readonly caller: Caller;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly conduct: Conduct;
  /** Number that chooses among the existing values at that time. */
  readonly pick: number;
  /** Changes the bytes of the whole request. */
  readonly breakBytes: (wire: Buffer) => Buffer;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const callers: Readonly<Record<Operation["access"], Partial<Record<Caller, number>>>> = {
  normal: {
    ...{ rich: 60, capped: 6, poor: 6, broke: 5, stranger: 4, manager: 2, minted: 6, deleted: 3 },
    ...{ nobody: 3, garbage: 3, malformed: 2 },
  },
  management: {
    ...{
      manager: 60,
      strangeManager: 6,
      rich: 4,
      deleted: 2,
      minted: 2,
      nobody: 3,
      garbage: 3,
      malformed: 2,
    },
  },
  anybody: { rich: 20, nobody: 30, manager: 3, minted: 5, deleted: 5, garbage: 5, malformed: 3 },
};

const callerOf = (access: Operation["access"]) =>
  fc.oneof(
    ...Object.entries(callers[access]).map(([caller, weight]) => ({
      weight,
      arbitrary: fc.constant(caller as Caller),
    })),
  );

const conducts = fc.oneof(
  { weight: 86, arbitrary: fc.constant<Conduct>("patient") },
  { weight: 3, arbitrary: fc.constant<Conduct>("leaves") },
  { weight: 4, arbitrary: fc.constant<Conduct>("trickles") },
  { weight: 2, arbitrary: fc.constant<Conduct>("gives up") },
  { weight: 5, arbitrary: fc.constant<Conduct>("raw") },
);

const strangePiece = fc.constantFrom(
  ..."v1 models auth test api-keys credits media compat images generations . .. %2e %2f %5c \\ ; %00 %ZZ %ff a b%2Fc {id}".split(
    " ",
  ),
);
const strangePath = fc
  .array(fc.tuple(fc.constantFrom("/", "/", "/", "//"), strangePiece), { minLength: 1, maxLength: 6 })
  .map((pieces) => pieces.flat().join(""));

const strangeValue = fc.constantFrom(
  ..."0 -1 1.5 1e2 0x1 true TRUE null %00 %ZZ %20 __proto__ image video date price 3 007 2099-01-01T00:00:00Z %F0%9F%98%80".split(
    " ",
  ),
  "",
  "a".repeat(2_000),
);

function queryOf({ query }: Operation, description: Description): fc.Arbitrary<string> {
  if (query.length === 0) return fc.constantFrom("", "", "", "?unknown=1");
  const known = query.flatMap(({ name, schema }) => {
    const { enum: choices = [] } = description.resolve(schema);
    const right = choices.map((value) => encodeURIComponent(String(value)));
    const value = right.length === 0 ? fc.constantFrom("1", "2", "{id}") : fc.constantFrom(...right);
    return [
      fc
        .oneof({ weight: 3, arbitrary: value }, { weight: 1, arbitrary: strangeValue })
        .map((text) => `${name}=${text}`),
    ];
  });
  const strange = fc.tuple(fc.constantFrom("x", "limit", "x[]", "__proto__"), strangeValue);
  const pair = fc.oneof(
    ...known,
    strange.map(([name, value]) => `${name}=${value}`),
  );
  return fc.array(pair, { maxLength: 3 }).map((pairs) => (pairs.length === 0 ? "" : `?${pairs.join("&")}`));
}

/** Few keys, so that requests meet those of others. */
const idempotencyKeys = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 400 }).map((number) => `key ${number}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("", "k".repeat(255), "k".repeat(256), "k\u00fc", "a\tb", 'a "b" \\ ~'),
  },
);

const strangeHeaders = fc.dictionary(
  fc.constantFrom(
    "accept",
    "range",
    "if-none-match",
    "if-range",
    "x-request-id",
    "x-gr-principal",
    "content-encoding",
    "origin",
    "cookie",
    "x-unknown",
    "traceparent",
  ),
  fc.constantFrom(
    "*/*",
    "text/event-stream",
    "bytes=0-3",
    "bytes=9999999999-",
    "bytes=-1",
    "*",
    '"a"',
    "gzip",
    "identity",
    "null",
    "\u00ff",
    "a".repeat(3_000),
  ),
  { maxKeys: 2 },
);

const contentTypes = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom("application/json", "application/json; charset=utf-8") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "multipart/form-data; boundary=",
      "application/jsonx",
      "json",
      "",
    ),
  },
);

interface Content {
  readonly type?: string;
  readonly body?: Buffer;
}

function contentOf(operation: Operation, description: Description): fc.Arbitrary<Content> {
  const { body: schema, acceptsForms } = operation;
  if (schema === undefined) {
    const some = fc.constantFrom<Content>(
      { type: "application/json", body: Buffer.from("{") },
      { body: Buffer.from("x") },
    );
    return fc.oneof({ weight: 20, arbitrary: fc.constant<Content>({}) }, { weight: 1, arbitrary: some });
  }
  const json = fc
    .tuple(contentTypes, bodyFor(operation, schema, description))
    .map(([type, body]) => ({ type, body }));
  if (!acceptsForms) return json;
  return fc.oneof(
    { weight: 3, arbitrary: json },
    { weight: 1, arbitrary: formFor(operation, schema, description, pixel) },
  );
}

/** Weight of an operation among the requests: spending ones have the most to lose. */
function weightOf({ spends, path }: Operation): number {
  if (!spends) return 4;
  return /\/(chat|responses)/.test(path) ? 22 : 8;
}

const nothing = fc.constant<undefined>(undefined);

function caseFor(operation: Operation, description: Description): fc.Arbitrary<FuzzCase> {
  return fc
    .record({
      strange: fc.record({
        method: fc.oneof(
          { weight: 25, arbitrary: nothing },
          { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
        ),
        path: fc.oneof({ weight: 30, arbitrary: nothing }, { weight: 1, arbitrary: strangePath }),
        headers: fc.oneof(
          { weight: 6, arbitrary: fc.constant({}) },
          { weight: 1, arbitrary: strangeHeaders },
        ),
      }),
      query: queryOf(operation, description),
      caller: callerOf(operation.access),
      content: contentOf(operation, description),
      once: fc.oneof({ weight: 5, arbitrary: nothing }, { weight: 1, arbitrary: idempotencyKeys }),
      asynchronous: fc.nat(9).map((number) => number === 0 && operation.acceptsForms),
      conduct: conducts,
      pick: fc.nat(),
      // Drawn over a text of fixed length; the places of the changes are modulo the real one.
      changes: fc.array(
        fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom("change", "insert", "remove", "cut")),
        {
          minLength: 1,
          maxLength: 3,
        },
      ),
    })
    .map(({ strange, query, caller, content, once, asynchronous, conduct, pick, changes }) => {
      const { method = operation.method, path = operation.path } = strange;
      const { type, body } = content;
      return {
        operation: strange.method === undefined && strange.path === undefined ? operation : undefined,
        method,
        path,
        query,
        caller,
        headers: {
          ...(type === undefined ? {} : { "content-type": type }),
          ...(once === undefined ? {} : { "idempotency-key": once }),
          ...(asynchronous ? { prefer: "respond-async" } : {}),
          ...strange.headers,
        },
        body: method === "GET" || method === "HEAD" ? undefined : body,
        conduct,
        pick,
        breakBytes: (wire) => changed(wire, changes),
      };
    });
}

function changed(
  wire: Buffer,
  changes: readonly (readonly [at: number, byte: number, how: string])[],
): Buffer {
  let bytes = wire;
  for (const [at, byte, how] of changes) {
    const index = at % Math.max(1, bytes.length);
    const [head, tail] = [bytes.subarray(0, index), bytes.subarray(index)];
    if (how === "change") bytes = Buffer.concat([head, Buffer.from([byte]), tail.subarray(1)]);
    if (how === "insert") bytes = Buffer.concat([head, Buffer.from([byte]), tail]);
    if (how === "remove") bytes = Buffer.concat([head, tail.subarray(1)]);
    if (how === "cut") bytes = head;
  }
  return bytes;
}

/** Draws from every operation of the description, and from requests to none. */
export function fuzzCases(description: Description): fc.Arbitrary<FuzzCase> {
  return fc.oneof(
    ...description.operations.map((operation) => ({
      weight: weightOf(operation),
      arbitrary: caseFor(operation, description),
    })),
  );
}

const HANGING: readonly (readonly [path: string, body: object])[] = [
  ["chat/completions", { model: "sandbox/chat-hang", messages: [{ role: "user", content: "a" }] }],
  ["responses", { model: "sandbox/chat-hang", input: "a", stream: true }],
  ["images/generations", { model: "sandbox/image-hang", prompt: "a" }],
  ["images/generations", { model: "sandbox/image", prompt: "a #hang" }],
  ["images/generations", { model: "sandbox/image", prompt: "a #timeout-after-accept" }],
  ["videos/generations", { model: "sandbox/video-hang", prompt: "a", seconds: 1 }],
];

/** Requests that an upstream never answers. Each lasts until its time limit, so there are few of them. */
export function hangingCases({ operations }: Description): FuzzCase[] {
  return HANGING.map(([end, body]) => {
    const path = `/v1/compat/${end}`;
    return {
      operation: operations.find((operation) => operation.path === path),
      ...{ method: "POST", path, query: "", caller: "rich", conduct: "patient", pick: 2 },
      headers: { "content-type": "application/json" },
      body: Buffer.from(JSON.stringify(body)),
      breakBytes: (wire) => wire,
    };
  });
}
