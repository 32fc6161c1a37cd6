// Forms: the same fields as JSON, the same refusals, and limits that hold while the bytes arrive.
import { Agent, request as httpRequest } from "node:http";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { drawPicture } from "../test/pictures.ts";
import { type Answer, answerOf, type MediaUnderTest, startMedia } from "../test/start-media.ts";

const MEGABYTE = 1024 * 1024;

let simulator: RunningSimulator;
let media: MediaUnderTest;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  media = await startMedia({
    upstreamUrl: simulator.url,
    env: { MEDIA_MAX_FORM_BYTES: String(40 * MEGABYTE) },
  });
});
afterAll(async () => {
  await media.stop();
  await simulator.close();
});

async function post(form: FormData): Promise<Answer> {
  return answerOf(await fetch(`${media.url()}/v1/compat/images/edits`, { method: "POST", body: form }));
}

function formOf(fields: Record<string, string | Blob>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

/** Sends chunks without a length until the answer arrives; resolves with its status. */
function stream(contentType: string, chunks: () => Iterable<Buffer>): Promise<number> {
  const { hostname, port } = new URL(media.url());
  // Like most clients: a client that requests the connection's end may lose an early answer.
  const agent = new Agent({ keepAlive: true });
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({
      hostname,
      port,
      path: "/v1/compat/images/edits",
      method: "POST",
      headers: { "content-type": contentType },
      agent,
    });
    let answered = false;
    outgoing.on("response", (response) => {
      answered = true;
      response.resume();
      resolve(response.statusCode ?? 0);
      outgoing.destroy();
      agent.destroy();
    });
    outgoing.on("error", (error) => {
      if (!answered) reject(error);
    });
    void (async () => {
      for (const chunk of chunks()) {
        if (answered) return;
        if (!outgoing.write(chunk)) await new Promise((done) => outgoing.once("drain", done));
      }
      outgoing.end();
    })();
  });
}

describe("a form", () => {
  test("whose file input was left empty, as browsers send it, has no image", async () => {
    const form = formOf({ model: "sandbox/image", prompt: "a fox" });
    form.append("image", new File([], "", { type: "application/octet-stream" }));
    expect((await post(form)).status).toBe(200);
  });

  test.each([
    "size",
    "quality",
    "response_format",
    "output_format",
    "n",
    "image",
    "image[]",
    "mask",
    "stream",
  ])("with an empty %s, as browsers send an empty field, is as without it", async (field) => {
    const { status, body } = await post(formOf({ model: "sandbox/image", prompt: "a fox", [field]: "" }));
    expect([status, body.error]).toEqual([200, undefined]);
    expect(body.data).toEqual([{ url: expect.stringMatching(/\.webp$/) }]);
  });

  test("with an empty model has none", async () => {
    expect((await post(formOf({ model: "", prompt: "a fox" }))).body.error).toMatchObject({ param: "model" });
  });

  test("with a file that has a name and no bytes has an image", async () => {
    const form = formOf({ model: "sandbox/image", prompt: "a fox" });
    form.append("image", new File([], "fox.png", { type: "image/png" }));
    expect((await post(form)).body.error).toMatchObject({ code: "invalid_value", param: "image" });
  });

  test("makes images as JSON does, numbers included", async () => {
    const { status, body } = await post(
      formOf({
        model: "sandbox/image",
        prompt: "a fox",
        n: "2",
        size: "1280x720",
        response_format: "b64_ephemeral",
        unknown: "x",
      }),
    );
    expect(status).toBe(200);
    expect(body.data).toHaveLength(2);
    expect(body.cost).toBe(0.02);
  });

  test.each([
    [{ prompt: "a fox" }, "model"],
    [{ model: "sandbox/image", prompt: "a", n: "two" }, "n"],
    [{ model: "sandbox/image", prompt: "a", n: "11" }, "n"],
    [{ model: "sandbox/image", prompt: "a", quality: "ultra" }, "quality"],
    [{ model: "sandbox/image", prompt: "a", image: "https://x.example/a.png" }, "image"],
  ])("%j is refused as JSON would be, naming %s", async (fields, param) => {
    const { status, body } = await post(formOf(fields as unknown as Record<string, string>));
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: "invalid_value", param });
  });

  test.each(["image", "image[]", "mask", "mask[]"])(
    "a file in %s is refused: the model accepts no images",
    async (field) => {
      const file = new Blob([new Uint8Array(await drawPicture("png", { width: 300, height: 300 }))]);
      const { status, body } = await post(formOf({ model: "sandbox/image", prompt: "a", [field]: file }));
      expect(status).toBe(400);
      expect(body.error).toMatchObject({ code: "invalid_value", param: field.replace("[]", "") });
      expect(body.error.message).toContain("no input images");
    },
  );

  test("a file in the place of a text is refused", async () => {
    const { status, body } = await post(formOf({ model: "sandbox/image", prompt: new Blob(["a fox"]) }));
    expect({ status, param: body.error.param }).toEqual({ status: 400, param: "prompt" });
  });

  test("too many fields, too many files and a file that is too large are 413", async () => {
    const fields = new FormData();
    for (let index = 0; index < 65; index += 1) fields.append(`f${index}`, "x");
    const files = new FormData();
    for (let index = 0; index < 33; index += 1) files.append("image[]", new Blob(["x"]));
    const large = formOf({
      model: "sandbox/image",
      "image[]": new Blob([new Uint8Array(25 * 1024 * 1024 + 1)]),
    });
    for (const form of [fields, files, large]) {
      const { status, body } = await post(form);
      expect({ status, code: body.error.code }).toEqual({ status: 413, code: "body_too_large" });
      expect(body.error.message).toContain("25 MB each, 40 MB together");
    }
  });

  test("for which there is no room is asked to wait, when it says so and when it does not, and leaves none behind", async () => {
    await media.restart({ env: { MEDIA_MAX_INPUT_BYTES: String(9 * MEGABYTE) } });
    const type = "multipart/form-data; boundary=b";
    function* most() {
      yield Buffer.from('--b\r\ncontent-disposition: form-data; name="image"; filename="a"\r\n\r\n');
      for (let sent = 0; sent < 12; sent += 1) yield Buffer.alloc(MEGABYTE);
    }
    // A body without a length reaches the account's share before all memory is in use.
    expect(await stream(type, most)).toBe(429);
    const fields = { model: "sandbox/image", prompt: "a" };
    const large = formOf({ ...fields, image: new Blob([new Uint8Array(12 * MEGABYTE)]) });
    const { status, headers, body } = await post(large);
    expect([status, body.error.code, headers.has("retry-after")]).toEqual([503, "service_unavailable", true]);
    const fitting = formOf({ ...fields, image: new Blob([new Uint8Array(6 * MEGABYTE)]) });
    for (let time = 0; time < 3; time += 1) {
      await until(async () => (await post(fitting)).status === 400, { timeoutMs: 60_000 });
    }
    await media.restart();
  });

  test("an endless form without a length is cut off", async () => {
    let sent = 0;
    function* endless() {
      yield Buffer.from('--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n');
      for (;;) {
        sent += MEGABYTE;
        yield Buffer.alloc(MEGABYTE, "x");
      }
    }
    expect(await stream("multipart/form-data; boundary=b", endless)).toBe(413);
    expect(sent).toBeLessThan(90 * MEGABYTE);
  });

  test.each([
    ["multipart/form-data", "--b\r\n\r\n--b--\r\n"],
    [
      "multipart/form-data; boundary=b",
      '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nsandbox/image',
    ],
    ["multipart/form-data; boundary=b", "no form at all"],
    [
      "multipart/form-data; boundary=b",
      '--b\r\ncontent-disposition: form-data; name="__proto__"\r\n\r\nx\r\n--b--\r\n',
    ],
  ])("%s with %j is 400", async (contentType, body) => {
    const answer = await answerOf(
      await fetch(`${media.url()}/v1/compat/images/generations`, {
        method: "POST",
        headers: { "content-type": contentType },
        body,
      }),
    );
    expect(answer.status).toBe(400);
    expect(answer.body.error.type).toBe("invalid_request_error");
  });

  test("another content type is 415, and broken JSON 400", async () => {
    const send = async (contentType: string, body: string) =>
      answerOf(
        await fetch(`${media.url()}/v1/compat/images/generations`, {
          method: "POST",
          headers: { "content-type": contentType },
          body,
        }),
      );
    expect((await send("text/xml", "<a/>")).status).toBe(415);
    expect((await send("application/json", "{")).body.error.code).toBe("invalid_json");
    expect((await send("application/json", "[]")).body.error.code).toBe("invalid_value");
  });

  test("nothing of all this was charged but the images", () => {
    expect(media.billing.charged).toBe(1_200n);
    expect(media.billing.openHolds).toEqual([]);
  });
});
