// The endpoints with a body. Each has an accepted body, as JSON text by field, and for every field the values
// that it must refuse.
import {
  abyss,
  notBooleans,
  notChoices,
  notCounts,
  notDollars,
  notExpiries,
  notInputs,
  notJsonNumbers,
  notLists,
  notMessages,
  notModels,
  notNames,
  notPrompts,
  notSizes,
} from "./bad-values.ts";

export interface BadField {
  readonly values: readonly string[];
  /** Whether its absence is refused, too. */
  readonly required?: boolean;
  /** Other fields that the body needs for the field to have an effect. */
  readonly beside?: Readonly<Record<string, string>>;
  /** Name that the error may have instead. */
  readonly alias?: string;
  /** 400 when absent. */
  readonly status?: readonly number[];
}

export interface Endpoint {
  readonly path: string;
  /** Accepts a management key, and no unknown field. */
  readonly management?: boolean;
  /** Accepts an Idempotency-Key. */
  readonly spends: boolean;
  readonly forms: boolean;
  readonly valid: Readonly<Record<string, string>>;
  readonly bad: Readonly<Record<string, BadField>>;
}

/** Returns a body of these fields; undefined omits one. */
export function bodyOf(fields: Readonly<Record<string, string | undefined>>): string {
  const members = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${JSON.stringify(name)}:${value}`],
  );
  return `{${members.join(",")}}`;
}

const unknownModel = { required: true, status: [400, 404] };
const picture = '{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}';
const inputs = [
  '"https://example.com/a.png"',
  '"data:image/png;base64,AAAA"',
  '["a","b"]',
  "1",
  "{}",
  '[{"file_id":"a"}]',
  abyss,
];
const counts = (most: number) => ({ values: [...notCounts, String(most + 1)] });
const detours = { models: { values: ['["a"]', '"a"', "1"] }, background: { values: ["true"] } };

function images(path: string): Endpoint {
  return {
    path,
    spends: true,
    forms: true,
    valid: { model: '"sandbox/image"', prompt: '"a"', response_format: '"b64_ephemeral"' },
    bad: {
      model: { ...unknownModel, values: [...notModels, '"sandbox/chat"', '"sandbox/video"'] },
      prompt: { required: true, values: notPrompts },
      quality: { values: notChoices },
      size: { values: notSizes },
      response_format: { values: notChoices },
      output_format: { values: notChoices },
      n: counts(10),
      image: { values: inputs },
      "image[]": { values: inputs, alias: "image" },
      images: { values: inputs, alias: "image" },
      mask: { values: inputs },
      "mask[]": { values: inputs, alias: "mask" },
      stream: { values: ["1", '"true"'] },
    },
  };
}

const video = {
  model: { ...unknownModel, values: [...notModels, '"sandbox/chat"', '"sandbox/image"'] },
  prompt: { required: true, values: notPrompts },
  quality: { values: notChoices },
  size: { values: notSizes },
  audio: { values: [...notBooleans, "true"] },
  response_format: { values: notChoices },
  image: { values: inputs },
  "image[]": { values: inputs, alias: "image" },
  images: { values: inputs, alias: "image" },
};
const notSeconds = ["0", "0.5", "-1", "61", "1e400", '"long"', "true", "[]", "{}", "[5]"];
const notCallbacks = [
  '"a"',
  '"http://127.0.0.1/"',
  '"http://10.0.0.1/"',
  '"file:///etc/passwd"',
  "1",
  "[]",
  "{}",
];

export const endpoints: readonly Endpoint[] = [
  images("/v1/compat/images/generations"),
  images("/v1/compat/images/edits"),
  {
    path: "/v1/compat/videos/generations",
    spends: true,
    forms: true,
    valid: { model: '"sandbox/video"', prompt: '"a"', seconds: "1", response_format: '"b64_ephemeral"' },
    bad: {
      ...video,
      seconds: { values: [...notSeconds, '"5"'] },
      callback_url: { values: [...notCallbacks, '"https://example.com/"'] },
    },
  },
  {
    path: "/v1/compat/videos",
    spends: true,
    forms: true,
    valid: { model: '"sandbox/video"', prompt: '"a"', seconds: '"1"' },
    bad: {
      ...video,
      response_format: { values: [...notChoices, '"b64_ephemeral"'] },
      seconds: { values: [...notSeconds, '"0"', '"61"', '"1e1"'] },
      input_reference: { values: inputs, alias: "image" },
      callback_url: { values: notCallbacks },
    },
  },
  {
    path: "/v1/compat/chat/completions",
    spends: true,
    forms: false,
    valid: { model: '"sandbox/chat"', messages: '[{"role":"user","content":"a"}]', max_tokens: "5" },
    bad: {
      model: { ...unknownModel, values: [...notModels, '"sandbox/image"', '"sandbox/video"'] },
      messages: {
        required: true,
        values: [...notMessages, "[]", abyss, `[{"role":"user","content":[${picture}]}]`],
      },
      stream: { values: notBooleans },
      stream_options: { values: ["1", "true", '"a"', "[]"], beside: { stream: "true" } },
      n: counts(128),
      max_tokens: counts(100_000_000),
      max_completion_tokens: counts(100_000_000),
      ...detours,
    },
  },
  {
    path: "/v1/compat/responses",
    spends: true,
    forms: false,
    valid: { model: '"sandbox/chat"', input: '"a"', max_output_tokens: "5" },
    bad: {
      model: { ...unknownModel, values: [...notModels, '"sandbox/image"', '"sandbox/video"'] },
      input: {
        required: true,
        values: [
          ...notInputs,
          abyss,
          '[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png"}]}]',
        ],
      },
      stream: { values: notBooleans },
      max_output_tokens: counts(100_000_000),
      ...detours,
    },
  },
  {
    path: "/v1/api-keys",
    management: true,
    spends: false,
    forms: false,
    valid: { name: '"a key that is not to be"' },
    bad: {
      name: { required: true, values: notNames },
      spend_limit: { values: notDollars },
      spend_limit_period: { values: [...notChoices, '"year"', '"DAY"'], beside: { spend_limit: "1" } },
      expires_at: { values: notExpiries },
      allowed_models: { values: [...notLists, '["*x"]', '["sandbox/*e"]'] },
      allowed_providers: { values: [...notLists, '["openai*"]'] },
    },
  },
];

/**
 * A period without a limit, numbers that are no JSON, names of prototype members, a repeated field with a bad last
 * value.
 */
export function badTogether({ valid, bad }: Endpoint): string[] {
  const [name = ""] = Object.keys(valid);
  const numbers = ["n", "spend_limit", "max_output_tokens"].filter((field) => field in bad);
  return [
    ...numbers.flatMap((field) => notJsonNumbers.map((value) => bodyOf({ ...valid, [field]: value }))),
    `${bodyOf(valid).slice(0, -1)},${JSON.stringify(name)}:1}`,
    ...("spend_limit_period" in bad
      ? [
          bodyOf({ ...valid, spend_limit_period: '"day"' }),
          bodyOf({ ...valid, spend_limit_period: '"day"', spend_limit: "null" }),
        ]
      : []),
  ];
}
