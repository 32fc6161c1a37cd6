// How long a client may hold its stream back: at a time, and in all. Time here is the test's.
import type { ServerResponse } from "node:http";
import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { ClientStream } from "./client-stream.ts";

const STALL_MS = 1_000;
const PATIENCE_MS = 5_000;
const PIECE = Buffer.alloc(64);

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "queueMicrotask"] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** A client that reads a piece only at the test's command. */
class Reader extends Writable {
  #written: () => void = () => undefined;

  constructor() {
    super({ highWaterMark: 1 });
  }

  override _write(_chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#written = callback;
  }

  flushHeaders(): void {
    // A stream has no head, so there is no work.
  }

  async read(): Promise<void> {
    this.#written();
    await passed();
  }
}

/** Resolves after a stream's pending events. */
const passed = () => new Promise((resolve) => setImmediate(resolve));

function open() {
  const reader = new Reader();
  const source = { pause: jest.fn(), resume: jest.fn() };
  const onGone = jest.fn();
  const options = { source, onGone, stallMs: STALL_MS, patienceMs: PATIENCE_MS, keepAliveMs: 1e6 };
  const client = new ClientStream(reader as unknown as ServerResponse, options);
  client.begin();
  /** Writes a piece that the client reads after this delay. */
  const holdBack = async (ms: number) => {
    client.write(PIECE);
    jest.advanceTimersByTime(ms);
    await passed();
    if (!client.gone) await reader.read();
  };
  return { client, source, onGone, holdBack };
}

describe("a client that is slow", () => {
  test("holds the source back until it has read", async () => {
    const { client, source, holdBack } = open();
    await holdBack(STALL_MS - 1);
    expect(client.gone).toBe(false);
    expect([source.pause.mock.calls.length, source.resume.mock.calls.length]).toEqual([1, 1]);
  });

  test("is taken for one that has left when it reads nothing for too long", async () => {
    const { client, source, onGone, holdBack } = open();
    await holdBack(STALL_MS);
    expect(client.gone).toBe(true);
    expect(onGone).toHaveBeenCalledTimes(1);
    expect(source.resume).toHaveBeenCalled();
  });

  test("is taken for one that has left when it has held the source back for too long in all", async () => {
    const { client, onGone, holdBack } = open();
    for (let round = 0; round < 9; round += 1) await holdBack(PATIENCE_MS / 10);
    expect(client.gone).toBe(false);
    await holdBack(PATIENCE_MS / 10 - 1);
    expect(client.gone).toBe(false);
    await holdBack(1);
    expect(client.gone).toBe(true);
    expect(onGone).toHaveBeenCalledTimes(1);
  });

  test("may take its time as long as the source need not wait for it", async () => {
    const { client, holdBack } = open();
    for (let round = 0; round < 20; round += 1) {
      await holdBack(0);
      jest.advanceTimersByTime(PATIENCE_MS);
    }
    expect(client.gone).toBe(false);
  });
});
