// Hands the bytes of a form on in turns with the long bodies of other accounts: one piece at a time, then all other work. A
// form is read as fast as it arrives otherwise, and a few that arrive fast keep the event loop for themselves.
import { Transform } from "node:stream";
import type { FairWork } from "@gr/runtime";
import { loopTurns } from "@gr/runtime";
import type { FastifyRequest } from "fastify";

/** Passes pieces on, each in a turn of its own. */
export function inTurns(work: FairWork): Transform {
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      // Its reader handles the piece within the step.
      const step = loopTurns.step({ ...work, cost: piece.length }, () => void this.push(piece));
      step.then(() => done(), done);
    },
  });
}

/** Returns the request with a body that comes in turns. Its reader need not end the connection. */
export function withBodyInTurns(request: FastifyRequest, work: FairWork): FastifyRequest {
  const { raw } = request;
  const body = Object.assign(raw.pipe(inTurns(work)), { headers: raw.headers });
  raw.once("close", () => {
    if (!raw.readableEnded) body.destroy(new Error("the client has left"));
  });
  return Object.create(request, { raw: { value: body } }) as FastifyRequest;
}
