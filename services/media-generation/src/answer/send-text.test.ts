// Large base64 answers to clients that read slowly or not at all.
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { closeHttpApp, createHttpApp, createLogger } from "@gr/runtime";
import { expect, test } from "@jest/globals";
import { MemoryPlaces } from "../generation/memory-places.ts";
import { mediaAnswer } from "./media-answer.ts";
import { sendText } from "./send-text.ts";

const PIECE = Buffer.alloc(256 * 1024);
const PIECES = 1_000;
const NEVER = 3_600_000;

test.each([
  ["takes nothing for a while", 1_000, NEVER],
  ["has not taken all in time", NEVER, 1_000],
])(
  "a client of base64 that %s is cut, and its memory and its file are given back",
  async (_, stallMs, mostMs) => {
    const places = new MemoryPlaces(1);
    const begun = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    let read = 0;
    const file = {
      size: PIECES * PIECE.length,
      read: async function* () {
        try {
          for (; read < PIECES; read += 1) {
            yield PIECE;
            begun.resolve();
          }
        } finally {
          closed.resolve();
        }
      },
    };
    const order = { request: { response_format: "b64_json" }, createdAt: 0 };
    const answer = mediaAnswer(order as never, { charge: 1n, finishedAt: 0, outputs: [] }, [file], "");
    if (!("pieces" in answer)) throw new Error("an answer without its file");
    const app = createHttpApp({
      log: createLogger("silent", "test"),
      requestId: () => "the-id",
      answers: { stallMs, bytesPerSecond: 0, connectionBytes: 1e9, processBytes: 1e9 },
    });
    app.get("/", (_http, reply) =>
      places.during("account", async () => {
        await places.acquire();
        return sendText(answer, reply, mostMs);
      }),
    );
    await app.listen({ host: "127.0.0.1", port: 0 });
    const client = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
    client.on("error", () => client.destroy());
    try {
      client.pause().write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
      await begun.promise;
      // As soon as the client is cut, and not before: it has the only place.
      await places.during("account", () => places.acquire());
      await closed.promise;
      // The answer did not wait in memory either.
      expect(read).toBeLessThan(PIECES / 2);
    } finally {
      const ended = client.destroyed ? undefined : once(client, "close");
      client.destroy();
      await ended;
      await closeHttpApp(app, 0);
    }
  },
);
