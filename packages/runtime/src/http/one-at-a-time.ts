// Requests of one connection run one after the other, also when a client sends the next before the answer.
// Otherwise a connection could hold many answers behind an unread one. Each answer has buffers of its own.
// Node limits only the written bytes of an answer. An answer that waits also has files and work.
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** Member of a socket: its last answer. A WeakMap costs more. */
const LAST_ANSWER = Symbol("last answer");

interface AnsweringSocket extends Socket {
  [LAST_ANSWER]?: ServerResponse;
}

/** Must be the first hook. Nothing is counted or begun for a request that waits. */
export function answerOneAtATime(app: FastifyInstance): void {
  app.addHook("onRequest", (request, reply, done) => {
    const socket: AnsweringSocket = request.raw.socket;
    const before = socket[LAST_ANSWER];
    socket[LAST_ANSWER] = reply.raw;
    if (before === undefined || before.closed) done();
    else before.once("close", () => done());
  });
}
