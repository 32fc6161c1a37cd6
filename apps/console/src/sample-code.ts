// A request as curl, Node and Python write it: the same path, fields, files and headers as the sent request.
import type { ModelType } from "./api/public-api.ts";
import { pathOf } from "./api/request-paths.ts";

export interface Sample {
  readonly name: "curl" | "Node" | "Python";
  readonly code: string;
}

type Body = Readonly<Record<string, unknown>>;

export interface SampleOptions {
  /** Files of a form: the body is JSON without files. */
  readonly files?: readonly { readonly field: string; readonly name: string }[];
  /** The answer is 202 at once; the request runs on. */
  readonly isAsync?: boolean;
  /** Secret of the key; undefined = the code reads the variable API_KEY of the environment. */
  readonly secret?: string | undefined;
}

interface Request extends Required<Omit<SampleOptions, "secret">>, Pick<SampleOptions, "secret"> {
  readonly origin: string;
  readonly type: ModelType;
  readonly path: string;
  readonly body: Body;
}

const ASYNC = { Prefer: "respond-async" };

/** @param body values of the request; a prompt or message is added if absent */
export function sampleCode(
  origin: string,
  type: ModelType,
  body: Body,
  { files = [], isAsync = false, secret }: SampleOptions = {},
): Sample[] {
  const asked =
    type === "text"
      ? { messages: [{ role: "user", content: "Hello" }], ...body }
      : { prompt: "A lighthouse in the evening", ...body };
  const { model, ...rest } = asked as { model?: unknown };
  const request = {
    ...{ origin, type, files, isAsync, secret },
    path: pathOf(type, files.length > 0),
    body: { model, ...rest },
  };
  return [
    { name: "curl", code: curl(request) },
    { name: "Node", code: node(request) },
    { name: "Python", code: python(request) },
  ];
}

/** A word of the shell, in single quotes. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const json = (value: unknown) => JSON.stringify(value, null, 2);
/** Indents all lines after the first by two spaces more. */
const nested = (text: string) => text.replaceAll("\n", "\n  ");
const fieldText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

function curl({ origin, path, body, files, isAsync, secret }: Request): string {
  const content =
    files.length === 0
      ? ['-H "Content-Type: application/json"', `-d ${quoted(json(body))}`]
      : [
          // --form-string also sends a value that begins with @ or <.
          ...Object.entries(body).map(
            ([name, value]) => `--form-string ${quoted(`${name}=${fieldText(value)}`)}`,
          ),
          ...files.map(({ field, name }) => `-F ${quoted(`${field}=@${JSON.stringify(name)}`)}`),
        ];
  const parts = [
    `curl ${"stream" in body ? "-N " : ""}${origin}${path}`,
    `-H "Authorization: Bearer ${secret ?? "$API_KEY"}"`,
    ...(isAsync ? ['-H "Prefer: respond-async"'] : []),
    ...content,
  ];
  return parts.join(" \\\n  ");
}

function node(request: Request): string {
  const { origin, files, secret } = request;
  return [
    ...(files.length === 0 ? [] : ['import { openAsBlob } from "node:fs";']),
    ...(secret === undefined ? ['import { env } from "node:process";'] : []),
    `import OpenAI${isEdit(request) ? ", { toFile }" : ""} from "openai";`,
    "",
    `const client = new OpenAI({ baseURL: "${origin}/v1/compat", apiKey: ${secret === undefined ? "env.API_KEY" : json(secret)} });`,
    ...nodeCall(request),
  ].join("\n");
}

const isEdit = ({ type, files }: Request) => type === "image" && files.length > 0;

function nodeCall(request: Request): string[] {
  const { type, body, files, isAsync } = request;
  if (type === "text") {
    const call = `await client.chat.completions.create(${json(body)});`;
    if (body["stream"] !== true) {
      return [`const answer = ${call}`, "console.log(answer.choices[0].message.content);"];
    }
    return [
      `const stream = ${call}`,
      "for await (const chunk of stream) {",
      '  process.stdout.write(chunk.choices[0]?.delta?.content ?? "");',
      "}",
    ];
  }
  if (isEdit(request)) {
    const file = ({ name }: { name: string }) =>
      `await toFile(await openAsBlob(${JSON.stringify(name)}), ${JSON.stringify(name)})`;
    const mask = files.find(({ field }) => field === "mask");
    const images = files.filter((each) => each !== mask).map((each) => `    ${file(each)},`);
    return [
      "const answer = await client.images.edit({",
      `  ...${nested(json(body))},`,
      "  image: [",
      ...images,
      "  ],",
      ...(mask === undefined ? [] : [`  mask: ${file(mask)},`]),
      "});",
      "console.log(answer.data[0].url);",
    ];
  }
  const shown = isAsync ? "console.log(answer.id, answer.status);" : "console.log(answer.data[0].url);";
  if (type === "image") return [`const answer = await client.images.generate(${json(body)});`, shown];
  const headers = isAsync ? `, headers: ${JSON.stringify(ASYNC)}` : "";
  if (files.length === 0) {
    return [
      `const answer = await client.post("/videos/generations", { body: ${json(body)}${headers} });`,
      shown,
    ];
  }
  return [
    "const form = new FormData();",
    ...Object.entries(body).map(
      ([name, value]) => `form.append(${JSON.stringify(name)}, ${JSON.stringify(fieldText(value))});`,
    ),
    ...files.map(
      ({ field, name }) =>
        `form.append(${JSON.stringify(field)}, await openAsBlob(${JSON.stringify(name)}), ${JSON.stringify(name)});`,
    ),
    `const answer = await client.post("/videos/generations", { body: form${headers} });`,
    shown,
  ];
}

function python(request: Request): string {
  const { origin, secret } = request;
  const key = secret === undefined ? 'os.environ["API_KEY"]' : json(secret);
  return [
    ...(secret === undefined ? ["import os"] : []),
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url="${origin}/v1/compat", api_key=${key})`,
    ...pythonCall(request),
  ].join("\n");
}

function pythonCall(request: Request): string[] {
  const { type, body, files, isAsync } = request;
  const named = Object.entries(body).map(([name, value]) => `    ${name}=${pythonOf(value)},`);
  if (type === "text") {
    const isStream = body["stream"] === true;
    return [
      `${isStream ? "stream" : "answer"} = client.chat.completions.create(`,
      ...named,
      ")",
      ...(isStream
        ? [
            "for chunk in stream:",
            "    if chunk.choices:",
            '        print(chunk.choices[0].delta.content or "", end="")',
          ]
        : ["print(answer.choices[0].message.content)"]),
    ];
  }
  const opened = ({ name }: { name: string }) => `open(${JSON.stringify(name)}, "rb")`;
  if (isEdit(request)) {
    const mask = files.find(({ field }) => field === "mask");
    const images = files.filter((each) => each !== mask).map(opened);
    return [
      "answer = client.images.edit(",
      ...named,
      `    image=[${images.join(", ")}],`,
      ...(mask === undefined ? [] : [`    mask=${opened(mask)},`]),
      ")",
      "print(answer.data[0].url)",
    ];
  }
  if (type === "image")
    return ["answer = client.images.generate(", ...named, ")", "print(answer.data[0].url)"];
  const shown = isAsync ? 'print(answer["id"], answer["status"])' : 'print(answer["data"][0]["url"])';
  const headers = {
    ...(files.length > 0 && { "Content-Type": "multipart/form-data" }),
    ...(isAsync && ASYNC),
  };
  return [
    "answer = client.post(",
    '    "/videos/generations",',
    "    cast_to=object,",
    `    body=${pythonOf(body)},`,
    ...(files.length === 0
      ? []
      : [
          `    files=[${files.map((file) => `(${JSON.stringify(file.field)}, ${opened(file)})`).join(", ")}],`,
        ]),
    ...(Object.keys(headers).length === 0 ? [] : [`    options={"headers": ${pythonOf(headers)}},`]),
    ")",
    shown,
  ];
}

function pythonOf(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null || value === undefined) return "None";
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value === "object") {
    const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonOf(each)}`);
    return `{${members.join(", ")}}`;
  }
  return JSON.stringify(value);
}
