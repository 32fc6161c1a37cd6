// Forms share the event loop: between two pieces of a form all other work runs, however many forms arrive at once.
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { expect, test } from "@jest/globals";
import { inTurns } from "./form-body.ts";

const PIECES = 8;

test("in one turn of the loop one piece of all forms is handled", async () => {
  let turn = 0;
  let counting = true;
  const count = () => {
    turn += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const handled: { form: string; turn: number }[] = [];
  const read = (form: string) =>
    pipeline(
      Readable.from(Array.from({ length: PIECES }, () => Buffer.alloc(1_000))),
      inTurns({ owner: form }),
      new Writable({
        write(_piece, _encoding, done) {
          handled.push({ form, turn });
          done();
        },
      }),
    );
  await Promise.all([read("a"), read("b")]);
  counting = false;
  expect(handled).toHaveLength(2 * PIECES);
  expect(new Set(handled.map((piece) => piece.turn)).size).toBe(2 * PIECES);
  // Neither waits for the end of the other.
  expect(new Set(handled.slice(0, 4).map((piece) => piece.form)).size).toBe(2);
});

test("a client that leaves ends what waits for its turn", async () => {
  const left = new AbortController();
  left.abort(new Error("left"));
  const read = pipeline(
    Readable.from([Buffer.alloc(1)]),
    inTurns({ owner: "a", signal: left.signal }),
    new Writable(),
  );
  await expect(read).rejects.toThrow("left");
});
