// Values of fields without good ones in their schema: models, prompts, messages. They are JSON text, so that some of
// them are values that no parser returns. Models and words of the simulator's faults are here, too.
import fc from "fast-check";

/** Parts of a body that cause an answer of 5xx: models and words of the simulator, by the statuses that follow. */
const FAULTS: readonly (readonly [marker: RegExp, statuses: readonly number[]])[] = [
  [/sandbox\/(chat|image|video)-error/, [502]],
  [/sandbox\/chat-reset/, [502]],
  [/sandbox\/(chat|image|video)-hang/, [504]],
  [/#fail/, [502]],
  [/#429/, [502, 503]],
  [/#5xx-once/, [502]],
  [/#expired-url/, [502]],
  [/#hang|#timeout-after-accept/, [504]],
  // Of several jobs some succeed and others fail; if none succeeds, the request has failed.
  [/#partial/, [502]],
];

/** Whether a request contains the cause of this failure. */
export function isAskedFor(status: number, sent: string): boolean {
  return FAULTS.some(([marker, statuses]) => statuses.includes(status) && marker.test(sent));
}

type Weighted = readonly (readonly [weight: number, text: string])[];

const oneOf = (values: Weighted) =>
  fc.oneof(...values.map(([weight, text]) => ({ weight, arbitrary: fc.constant(text) })));

const strangeModels: Weighted = [
  [1, '"no/such"'],
  [1, '"sandbox/chat\\u0000"'],
  [1, '"SANDBOX/CHAT"'],
  [1, '"__proto__"'],
  [1, '"gpt-5"'],
];
const models: Readonly<Record<"text" | "image" | "video", Weighted>> = {
  text: [
    [40, '"sandbox/chat"'],
    [8, '"sandbox/chat-vision"'],
    [4, '"sandbox/chat-no-usage"'],
    [3, '"sandbox/chat-error"'],
    [3, '"sandbox/chat-reset"'],
    [2, '"sandbox/image"'],
    ...strangeModels,
  ],
  image: [
    [3, '"sandbox/image"'],
    [2, '"sandbox/image-edit"'],
    [1, '"sandbox/image-free"'],
    [12, '"sandbox/image-error"'],
    [12, '"sandbox/image-blocked"'],
    [4, '"sandbox/video"'],
    [1, '"openai/gpt-image-1-mini"'],
    [1, '"google/gemini-2.5-flash-image"'],
    ...strangeModels,
  ],
  video: [
    [5, '"sandbox/video"'],
    [1, '"sandbox/video-from-image"'],
    [12, '"sandbox/video-error"'],
    [12, '"sandbox/video-blocked"'],
    [4, '"sandbox/image"'],
    ...strangeModels,
  ],
};

/** Origin of the only receiver of webhooks that the router accepts. It never answers. */
export const RECEIVER = "http://127.0.0.1:9";

const prompts = oneOf([
  [30, '"a lighthouse #tokens=4"'],
  [4, '"a lighthouse #fail"'],
  [4, '"a lighthouse #nsfw"'],
  [4, '"a lighthouse #429"'],
  [1, '"a lighthouse #5xx-once"'],
  [1, '"a lighthouse #slow"'],
  [1, '"a lighthouse #partial"'],
  [1, '"a lighthouse #expired-url"'],
  [2, '"\\ud800 \\u0000 \u202e\u0627 __proto__ </svg>"'],
  [2, JSON.stringify("\u{1F98A}".repeat(300))],
  [1, JSON.stringify("long ".repeat(5_000))],
  [2, '""'],
]);

const content = fc.oneof(
  { weight: 24, arbitrary: fc.constant('"are you there? #tokens=3"') },
  { weight: 1, arbitrary: fc.string().map((text) => JSON.stringify(`${text} #tokens=3`)) },
  { weight: 1, arbitrary: fc.constant('[{"type":"text","text":"a #tokens=2"},{"a":1}]') },
  {
    weight: 1,
    arbitrary: fc.constant('[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]'),
  },
  { weight: 1, arbitrary: fc.constantFrom("null", "[]", '""') },
);
const message = fc
  .tuple(
    fc.oneof(
      { weight: 30, arbitrary: fc.constant("user") },
      { weight: 5, arbitrary: fc.constantFrom("system", "developer", "assistant", "tool") },
      { weight: 1, arbitrary: fc.constant("nobody") },
    ),
    content,
  )
  .map(([role, text]) => `{"role":"${role}","content":${text}}`);
const messages = fc.array(message, { minLength: 1, maxLength: 4 }).map((all) => `[${all.join()}]`);

/** The smallest possible picture. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const pixel = Buffer.from(PIXEL, "base64");
const pictures = oneOf([
  [4, `"data:image/png;base64,${PIXEL}"`],
  [1, '"data:image/png;base64,AAAA"'],
  [1, '"data:text/html,<b>"'],
  [1, '"http://127.0.0.1:1/a.png"'],
  [1, '"http://[::1]/a.png"'],
  [1, '"http://169.254.169.254/latest/meta-data"'],
  [1, '"file:///etc/passwd"'],
  [1, '"ftp://example.com/a.png"'],
  [1, "[]"],
  [1, `["data:image/png;base64,${PIXEL}","data:image/png;base64,${PIXEL}"]`],
]);

const callbacks = oneOf([
  [6, JSON.stringify(`${RECEIVER}/hook`)],
  [1, '"http://127.0.0.1:1/hook"'],
  [1, '"a"'],
  [1, '""'],
]);

const fields: Readonly<Record<string, fc.Arbitrary<string>>> = {
  prompt: prompts,
  messages,
  input: fc.oneof(content, messages),
  callback_url: callbacks,
  size: oneOf([
    [4, '"auto"'],
    [2, '"1024x1024"'],
    [1, '"1536x1024"'],
    [1, '"7x7"'],
    [1, '"99999x99999"'],
  ]),
  seconds: oneOf([
    [6, "1"],
    [1, '"auto"'],
    [1, "2"],
    [1, "60"],
  ]),
  n: oneOf([
    [8, "1"],
    [1, "2"],
  ]),
  max_tokens: oneOf([
    [4, "5"],
    [1, "1"],
    [1, "100000000"],
  ]),
  max_completion_tokens: oneOf([
    [4, "5"],
    [1, "1"],
  ]),
  max_output_tokens: oneOf([
    [4, "5"],
    [1, "1"],
  ]),
  stream_options: oneOf([
    [2, '{"include_usage":true}'],
    [1, "{}"],
    [1, "null"],
  ]),
  image: pictures,
  "image[]": pictures,
  images: pictures.map((picture) => `[{"image_url":${picture}}]`),
  mask: pictures,
  "mask[]": pictures,
  name: fc.string({ minLength: 1, maxLength: 30 }).map((text) => JSON.stringify(`k${text}`)),
  spend_limit: oneOf([
    [2, "null"],
    [2, "0.01"],
    [1, "0"],
    [1, "1e-4"],
    [1, "100"],
  ]),
  spend_limit_period: oneOf([
    [3, "null"],
    [1, '"day"'],
    [1, '"week"'],
    [1, '"month"'],
  ]),
  expires_at: oneOf([
    [3, "null"],
    [1, '"2099-01-01T00:00:00Z"'],
    [1, '"2099-02-30T00:00:00Z"'],
  ]),
};

/** Fields that clients send although the description does not name them. */
export const undescribed: Readonly<Record<"text" | "image" | "video" | "other", readonly string[]>> = {
  text: ["max_tokens", "max_completion_tokens", "max_output_tokens", "stream_options", "n"],
  image: [],
  video: [],
  other: [],
};

export function kindOf(path: string): "text" | "image" | "video" | "other" {
  if (/\/(chat|responses)/.test(path)) return "text";
  return path.includes("/images") ? "image" : path.includes("/videos") ? "video" : "other";
}

/** Undefined if the schema is sufficient. */
export function knownValue(field: string, path: string): fc.Arbitrary<string> | undefined {
  const kind = kindOf(path);
  if (field === "model") return kind === "other" ? undefined : oneOf(models[kind]);
  if (field === "url" && path.endsWith("/receivers")) return callbacks;
  return fields[field];
}
