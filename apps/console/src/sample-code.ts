// A request as curl, Node and Python write it.
import type { ModelType } from "./api/public-api.ts";

export const PATHS = {
  text: "/v1/compat/chat/completions",
  image: "/v1/compat/images/generations",
  video: "/v1/compat/videos/generations",
} as const satisfies Record<ModelType, string>;

export interface Sample {
  readonly name: "curl" | "Node" | "Python";
  readonly code: string;
}

/** @param body values of the request; a prompt or message is added if absent */
export function sampleCode(
  origin: string,
  type: ModelType,
  body: Readonly<Record<string, unknown>>,
): Sample[] {
  const asked =
    type === "text"
      ? { messages: [{ role: "user", content: "Hello" }], ...body }
      : { prompt: "A lighthouse in the evening", ...body };
  const { model, ...rest } = asked as { model?: unknown };
  const full = { model, ...rest };
  return [
    { name: "curl", code: curl(origin, type, full) },
    { name: "Node", code: node(origin, type, full) },
    { name: "Python", code: python(origin, type, full) },
  ];
}

function curl(origin: string, type: ModelType, body: object): string {
  const text = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  return [
    `curl ${origin}${PATHS[type]} \\`,
    '  -H "Authorization: Bearer $API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${text}'`,
  ].join("\n");
}

function node(origin: string, type: ModelType, body: object): string {
  const text = JSON.stringify(body, null, 2);
  const open = [
    'import { env } from "node:process";',
    'import OpenAI from "openai";',
    "",
    `const client = new OpenAI({ baseURL: "${origin}/v1/compat", apiKey: env.API_KEY });`,
  ];
  const calls: Record<ModelType, string[]> = {
    text: [
      `const answer = await client.chat.completions.create(${text});`,
      "console.log(answer.choices[0].message.content);",
    ],
    image: [`const answer = await client.images.generate(${text});`, "console.log(answer.data[0].url);"],
    video: [
      `const answer = await client.post("/videos/generations", { body: ${text} });`,
      "console.log(answer.data[0].url);",
    ],
  };
  return [...open, ...calls[type]].join("\n");
}

function python(origin: string, type: ModelType, body: object): string {
  const open = [
    "import os",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url="${origin}/v1/compat", api_key=os.environ["API_KEY"])`,
  ];
  const named = Object.entries(body)
    .map(([name, value]) => `    ${name}=${pythonOf(value)},`)
    .join("\n");
  const calls: Record<ModelType, string[]> = {
    text: [
      "answer = client.chat.completions.create(",
      named,
      ")",
      "print(answer.choices[0].message.content)",
    ],
    image: ["answer = client.images.generate(", named, ")", "print(answer.data[0].url)"],
    video: [
      `answer = client.post("/videos/generations", cast_to=object, body=${pythonOf(body)})`,
      'print(answer["data"][0]["url"])',
    ],
  };
  return [...open, ...calls[type]].join("\n");
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
