// Values that no field of a kind accepts, as the JSON text of a client: numbers are not numbers of
// JavaScript yet, and strings keep their escapes.

const characters = (count: number) => JSON.stringify("\u{1F600}".repeat(count));

const notStrings = ["1", "true", "[]", "{}", '["a"]', '{"a":"b"}', "0.1", "1e400"];
const notObjects = ["null", "[]", '"text"', "1", "true", "[{}]"];
export const notBooleans = ['"true"', "1", "0", "[]", "{}", '""'];
export const notChoices = [
  ...notStrings,
  '""',
  '" "',
  '"AUTO"',
  '"auto "',
  '"\\u0000"',
  '"__proto__"',
  '"constructor"',
  '"\\ud800"',
  '"\u202eotua"',
];
/** For fields with whole numbers from 1 up. */
export const notCounts = [
  "0",
  "-0",
  "-1",
  "1.5",
  "0.1",
  "0.30000000000000004",
  "1e-7",
  "1e21",
  "1e400",
  "-1e400",
  "9007199254740993",
  '"7"',
  '""',
  "true",
  "[]",
  "[1]",
  "{}",
];
/** For a sum of US dollars. */
export const notDollars = [
  "-1",
  "-0.0001",
  "-1e-7",
  "1e400",
  "-1e400",
  '"7"',
  '""',
  '"0.1"',
  "true",
  "false",
  "[]",
  "[7]",
  "{}",
];
/** Not JSON at all where a number should be. */
export const notJsonNumbers = [
  "NaN",
  "Infinity",
  "-Infinity",
  "01",
  "+1",
  ".5",
  "5.",
  "0x10",
  "1_000",
  "1e",
  "--1",
];
export const notExpiries = [
  '""',
  "0",
  "4070908800",
  "4070908800000",
  "1e400",
  "true",
  "[]",
  "{}",
  '"never"',
  '"2099-01"',
  '"2099-01-01T"',
  '"2099-02-30T00:00:00Z"',
  '"2099-02-29T00:00:00Z"',
  '"2099-13-01T00:00:00Z"',
  '"2099-01-01T25:00:00Z"',
  '"2099-01-01T23:60:00Z"',
  '"2098-12-31T23:59:60Z"',
  '"2020-01-01T00:00:00Z"',
  '"1969-12-31T23:59:59Z"',
  '"0000-01-01T00:00:00Z"',
  '"10000-01-01T00:00:00Z"',
  '"+010000-01-01T00:00:00Z"',
  '"-000001-01-01T00:00:00Z"',
  '"2099-01-01T00:00:00+25:00"',
  '"2099-01-01T00:00:00 Z"',
  '"2099-01-01 00:00:00Z"',
  '" 2099-01-01T00:00:00Z"',
  '"2099-01-01T00:00:00Z\\u0000"',
  '"2099-01-01T00:00:00Z\\n"',
  '"٢٠٩٩-01-01T00:00:00Z"',
  '"01/02/2099"',
];
export const notNames = [
  "null",
  ...notStrings,
  '""',
  '"   "',
  '"\\t\\n\\u3000"',
  characters(201),
  JSON.stringify("a".repeat(201)),
  JSON.stringify("a".repeat(100_000)),
  '"\\ud800"',
  '"a\\udc00b"',
  '"a\\u0000b"',
];
export const notPrompts = [
  "null",
  ...notStrings,
  '""',
  '" \\n\\u3000"',
  characters(20_001),
  JSON.stringify("a".repeat(20_001)),
];
/** Model ids that are no strings, empty, or of no model. */
export const notModels = [
  "null",
  ...notStrings,
  '""',
  '" "',
  '"no/such"',
  '"sandbox/image\\u0000"',
  '"SANDBOX/IMAGE"',
  '"sandbox/image "',
  '"../sandbox/image"',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"\\ud800"',
  '"\u202egnahc"',
  JSON.stringify("m".repeat(100_000)),
];
export const notSizes = [
  ...notStrings,
  "1024",
  '""',
  '"1024"',
  '"1024x"',
  '"x1024"',
  '"0x0"',
  '"7x7"',
  '"-1024x1024"',
  '"1024X1024"',
  '" 1024x1024"',
  '"1024x1024\\n"',
  '"1e3x1e3"',
  '"01024x1024"',
  '"1024x1024x1024"',
  '"99999x99999"',
  '"１０２４x1024"',
];
export const notMessages = [
  "null",
  ...notStrings.filter((text) => text !== '["a"]'),
  "[null]",
  "[[]]",
  '["a"]',
  "[{}]",
  '[{"role":"user"}]',
  '[{"content":"a"}]',
  '[{"role":"user","content":null}]',
  '[{"role":"user","content":1}]',
  '[{"role":"user","content":{}}]',
  '[{"role":"","content":"a"}]',
  '[{"role":"USER","content":"a"}]',
  '[{"role":"root","content":"a"}]',
  '[{"role":1,"content":"a"}]',
  '[{"role":null,"content":"a"}]',
  '[{"role":["user"],"content":"a"}]',
  '[{"role":"user","content":"a"},null]',
];
export const notInputs = [
  "null",
  "1",
  "true",
  "{}",
  "[null]",
  "[1]",
  '["a"]',
  "[[]]",
  "[{}]",
  '[{"role":"user"}]',
  '[{"content":"a"}]',
  '[{"role":"user","content":null}]',
  '[{"role":"","content":"a"}]',
  '[{"role":1,"content":"a"}]',
];

const text = (value: string) => Buffer.from(value);
const depth = 100_000;

/** Returns bodies that are no JSON object, for any endpoint. @param valid a body that the endpoint accepts */
export function notBodies(valid: string): [name: string, bytes: Buffer][] {
  const half = Math.floor(valid.length / 2);
  return [
    ["nothing", text("")],
    ["a space", text(" ")],
    ...notObjects.map((value): [string, Buffer] => [value, text(value)]),
    ["an open brace", text("{")],
    ["a body cut in half", text(valid.slice(0, half))],
    ["a body without its last byte", text(valid.slice(0, -1))],
    ["a brace too many", text(`${valid}}`)],
    ["two bodies", text(`${valid}${valid}`)],
    ["trailing garbage", text(`${valid} x`)],
    ["a trailing NUL", text(`${valid}\0`)],
    ["a trailing comma", text(valid.replace(/\}$/, ",}"))],
    ["a comment", text(`/* a */${valid}`)],
    ["single quotes", text(valid.replaceAll('"', "'"))],
    ["a byte order mark", text(`\ufeff${valid}`)],
    ["UTF-16", Buffer.from(valid, "utf16le")],
    ["UTF-16 with its mark", Buffer.from(`\ufeff${valid}`, "utf16le")],
    [
      "a byte that is no UTF-8",
      Buffer.concat([text(valid.slice(0, -1)), text(',"x":"'), Buffer.from([0xff]), text('"}')]),
    ],
    [
      "half of a character",
      Buffer.concat([text(valid.slice(0, -1)), text(',"x":"'), Buffer.from([0xe2, 0x82]), text('"}')]),
    ],
    ["a line break in a string", text(`${valid.slice(0, -1)},"x":"\n"}`)],
    ["arrays without end", text("[".repeat(depth))],
    ["arrays, 100,000 deep", text("[".repeat(depth) + "]".repeat(depth))],
    ["objects without end", text('{"a":'.repeat(depth))],
    ["a form", text("model=sandbox%2Fimage&prompt=a")],
    ["XML", text("<model>sandbox/image</model>")],
  ];
}

/** Nested almost as deep as a body may be; deeper ones are no bodies. */
export const abyss = `${"[".repeat(100)}${"]".repeat(100)}`;
export const notLists = ["[]", "{}", "1", "true", '"openai/*"', "[1]", "[null]", '[""]', abyss];
