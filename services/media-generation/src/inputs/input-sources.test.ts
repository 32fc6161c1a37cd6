// Accepted forms of input pictures: one or a list, under any name. An error names an
// invalid one, and nothing is fetched.
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { ServiceError } from "@gr/proto";
import { FormFile } from "@gr/runtime";
import { describe, expect, test } from "@jest/globals";
import { bytesOfDataUri, contentOf, inputSources, MAX_PICTURE_BYTES } from "./input-sources.ts";

const WORK = { owner: "account" };
const URL_A = "https://example.com/a.png";
const bytes = Buffer.from("a picture");
const fileOf = (content: Buffer) => new FormFile(content, createHash("sha256").update(content).digest());
const uriOf = (content: Buffer) => `data:image/png;base64,${content.toString("base64")}`;

const runnerLooks = () => new Promise((resolve) => setTimeout(resolve, 1));

describe("pictures of a request", () => {
  test.each<[object, string[]]>([
    [{}, []],
    [{ image: null, "image[]": [], mask: "", "mask[]": undefined }, []],
    [{ image: URL_A }, ["url image"]],
    [{ image: [URL_A] }, ["url image"]],
    [{ image: uriOf(bytes), "mask[]": "DATA:;BASE64,AAAA" }, ["data image", "data mask"]],
    [
      { image: fileOf(bytes), "image[]": [URL_A, uriOf(bytes)], mask: [fileOf(bytes)] },
      ["file image[0]", "url image[1]", "data image[2]", "file mask"],
    ],
    [
      {
        images: [{ image_url: URL_A }, { image_url: uriOf(bytes), detail: "high" }],
        mask: { image_url: URL_A },
      },
      ["url image[0]", "data image[1]", "url mask"],
    ],
    [{ "image[]": URL_A, images: [URL_A, fileOf(bytes)] }, ["url image[0]", "url image[1]", "file image[2]"]],
    [{ images: null }, []],
    [{ image: Array(16).fill(URL_A) }, Array.from({ length: 16 }, (_, at) => `url image[${at}]`)],
  ])("%# are read in every form, in their order", (fields, expected) => {
    expect(inputSources(fields).map(({ kind, label }) => `${kind} ${label}`)).toEqual(expected);
  });

  test.each<[object, string, string]>([
    [{ image: 5 }, "image", "image: must be a URL, a data URI, a file"],
    [{ image: {} }, "image", "image: must be"],
    [{ "image[]": [URL_A, [URL_A]] }, "image", "image[1]: must be"],
    [
      { images: [{ file_id: "file-1" }] },
      "image",
      'image: must be a URL, a data URI, a file of a form, or {"image_url',
    ],
    [{ images: [URL_A, { image_url: null }] }, "image", "image[1]: must be"],
    [{ images: [{ image_url: { image_url: URL_A } }] }, "image", "image: must be"],
    [{ mask: { image_url: "x" } }, "mask", "mask: is neither"],
    [{ "image[]": [URL_A, null] }, "image", "image[1]: must be"],
    [{ image: "a.png" }, "image", "image: is neither a URL nor a data URI"],
    [{ image: [URL_A, ""] }, "image", "image[1]: is neither"],
    [{ mask: [URL_A, "x"] }, "mask", "mask[1]: is neither"],
    [{ image: `https://example.com/${"a".repeat(9_000)}` }, "image", "at most 8192 characters"],
    [{ image: Array(16).fill(URL_A), "image[]": URL_A }, "image", "at most 16 may be sent, these are 17"],
    [{ mask: Array(17).fill(URL_A) }, "mask", "mask: at most 16"],
    [{ image: "data:image/png,abc" }, "image", "image: a data URI must be"],
    [{ image: "data:image/png;base64" }, "image", "image: a data URI must be"],
  ])("%j are refused by name", (fields, param, words) => {
    const refused = expect(() => inputSources(fields));
    refused.toThrow(expect.objectContaining({ reason: "invalid_value", param }));
    refused.toThrow(words);
  });

  test.each(["", "=", "===", "A", "AA!A", "AA AA", "%41%41", "AAAA===", "A===", "==AA"])(
    "base64 of %j is refused",
    async (base64) => {
      const source = { role: "image", label: "image[3]" } as const;
      const words = "image[3]: the data URI is not valid base64";
      await expect(bytesOfDataUri(source, base64, WORK)).rejects.toThrow(words);
    },
  );

  test.each<[string, string]>([
    ["AAAA", "000000"],
    ["AAA=", "0000"],
    ["AA==", "00"],
    ["AA", "00"],
    ["-_-_", "fbffbf"],
  ])("base64 of %j is %s, padded or not, in either alphabet", async (base64, hex) => {
    const bytes = await bytesOfDataUri({ role: "image", label: "image" }, base64, WORK);
    expect(bytes.toString("hex")).toBe(hex);
  });

  test.each([[0], [1], [2]])("base64 of several slices and %i bytes is the same bytes", async (more) => {
    const bytes = Buffer.alloc(600_000 + more, "slices");
    const base64 = bytes.toString("base64");
    const decoded = await bytesOfDataUri({ role: "image", label: "image" }, base64, WORK);
    expect(decoded.equals(bytes)).toBe(true);
    const damaged = `${base64.slice(0, 500_000)}!${base64.slice(500_001)}`;
    const refused = bytesOfDataUri({ role: "image", label: "image" }, damaged, WORK);
    await expect(refused).rejects.toThrow("is not valid base64");
  });

  // Work in the square of a million characters lasts minutes: the runner's time limit then
  // fails the test at its next check.
  test.each<[string, string]>([
    ["padding before a digit", `${"=".repeat(1_000_000)}A`],
    ["padding alone", "=".repeat(1_000_000)],
    ["padding in pairs", "A=".repeat(500_000)],
    ["spaces", `${" ".repeat(1_000_000)}=`],
  ])(
    "a data URI of a million characters, %s, is refused by work in proportion to its length",
    async (_, base64) => {
      const refused = expect.objectContaining({ param: "image" });
      const source = { role: "image", label: "image" } as const;
      await expect(bytesOfDataUri(source, base64, WORK)).rejects.toThrow(refused);
      const content = contentOf(inputSources({ image: `data:;base64,${base64}` }), WORK);
      await expect(Readable.from(content).toArray()).rejects.toThrow(refused);
      expect(() => inputSources({ image: `data:${base64}` })).toThrow(refused);
      await runnerLooks();
    },
  );

  test("a data URI of more than a picture may have is refused before it is decoded", async () => {
    const base64 = "A".repeat((MAX_PICTURE_BYTES / 3) * 4 + 8);
    const source = { role: "mask", label: "mask" } as const;
    const refused = bytesOfDataUri(source, base64, WORK);
    await expect(refused).rejects.toThrow(ServiceError);
    await expect(refused).rejects.toThrow("mask: the picture is larger than 25 MB");
    const uri = `data:image/png;base64,${base64}${"A".repeat(1_000)}`;
    expect(() => inputSources({ mask: uri })).toThrow("mask: the picture is larger than 25 MB");
  });
});

describe("the content of a request", () => {
  const digest = async (fields: object) => {
    const parts = await Readable.from(contentOf(inputSources(fields), WORK)).toArray();
    return parts.map((part) => Buffer.from(part as string).toString("hex"));
  };

  test("is the same for the same bytes in whichever form, and for the same URL under any name", async () => {
    const file = await digest({ image: fileOf(bytes) });
    expect(file).toEqual(await digest({ "image[]": [uriOf(bytes)] }));
    expect(file).toEqual(await digest({ images: [{ image_url: uriOf(bytes) }] }));
    expect(await digest({ image: URL_A, mask: uriOf(bytes) })).toEqual(
      await digest({ "image[]": URL_A, "mask[]": fileOf(bytes) }),
    );
  });

  test("is another one for other pictures, another order, and a mask instead of an image", async () => {
    const all = [
      { image: uriOf(bytes) },
      { mask: uriOf(bytes) },
      { image: uriOf(Buffer.from("b picture")) },
      { image: URL_A },
      { image: [uriOf(bytes), URL_A] },
      { image: [URL_A, uriOf(bytes)] },
    ].map(async (fields) => JSON.stringify(await digest(fields)));
    expect(new Set(await Promise.all(all)).size).toBe(all.length);
  });

  test("is known also when the bytes of a file have been handed over", async () => {
    const file = fileOf(bytes);
    const before = await digest({ image: file });
    expect(file.release()).toEqual(bytes);
    expect(await digest({ image: file })).toEqual(before);
  });
});
