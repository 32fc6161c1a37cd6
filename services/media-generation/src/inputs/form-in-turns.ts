// Reads the bytes of a form in turns with the long bodies of other accounts: one piece at a time, then all other work.
// Without turns, a few forms that arrive fast would block the event loop.
import { Transform } from "node:stream";
import type { FairWork } from "@gr/runtime";
import { loopTurns } from "@gr/runtime";
import type { FastifyRequest } from "fastify";

/** Returns a stream that passes each piece on in its own turn. */
export function inTurns(work: FairWork): Transform {
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      // The reader handles the piece within the same step.
      const step = loopTurns.step({ ...work, cost: piece.length }, () => void this.push(piece));
      step.then(() => done(), done);
    },
  });
}

/** Returns the request with a body that arrives in turns. Its reader need not end the connection. */
export function withBodyInTurns(request: FastifyRequest, work: FairWork): FastifyRequest {
  const { raw } = request;
  const body = Object.assign(raw.pipe(inTurns(work)), { headers: raw.headers });
  raw.once("close", () => {
    if (!raw.readableEnded) body.destroy(new Error("the client has left"));
  });
  return Object.create(request, { raw: { value: body } }) as FastifyRequest;
}
