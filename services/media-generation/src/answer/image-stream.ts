// ImageStream is the answer to an image request with `stream`, as it is sent. The head is sent with the first partial image;
// without one the final events are a whole answer with its length. At most three partial images wait in memory.
import { Readable } from "node:stream";
import { type Clock, renderError, STREAM_HEADERS } from "@gr/runtime";
import type { FastifyReply } from "fastify";
import type { MediaOrder } from "../generation/generation.ts";
import type { PartialSink } from "../generation/partial-images.ts";
import { type ImageEventName, partialEvent } from "./image-events.ts";
import type { MediaAnswerText } from "./media-answer.ts";
import { untilSent } from "./send-text.ts";

type Part = Pick<MediaAnswerText, "pieces">;

export class ImageStream implements PartialSink {
  readonly name: ImageEventName;
  readonly #reply: FastifyReply;
  readonly #clock: Clock;
  readonly #parts: Part[] = [];
  #begun = false;
  #ended = false;
  #added = Promise.withResolvers<void>();

  constructor(name: ImageEventName, reply: FastifyReply, clock: Clock) {
    this.name = name;
    this.#reply = reply;
    this.#clock = clock;
  }

  /** True after the head is sent: an error is then an event. */
  get begun(): boolean {
    return this.#begun;
  }

  wants(): boolean {
    return !this.#reply.raw.destroyed;
  }

  send(order: MediaOrder, index: number, picture: Buffer): void {
    this.#add(partialEvent(this.name, order, index, picture, this.#clock.now()));
    if (this.#begun) return;
    this.#begun = true;
    this.#reply.headers(STREAM_HEADERS);
    this.#reply.send(Readable.from(this.#pieces(), { objectMode: false }));
  }

  /** Resolves when the final events are sent, or the client has disconnected. */
  finish(answer: Part): Promise<FastifyReply> {
    return this.#end(answer);
  }

  /** Ends the stream with an error event. Resolves like `finish`. */
  fail(error: unknown): Promise<FastifyReply> {
    const { request } = this.#reply;
    const { body, unexpected } = renderError(error, request.id);
    if (unexpected && this.wants()) {
      request.log.error({ err: error, requestId: request.id }, "an image stream failed");
    }
    const text = `event: error\ndata: ${JSON.stringify({ type: "error", ...body })}\n\n`;
    return this.#end({
      pieces: async function* () {
        yield text;
      },
    });
  }

  #end(last: Part): Promise<FastifyReply> {
    this.#ended = true;
    this.#add(last);
    return untilSent(this.#reply);
  }

  #add(part: Part): void {
    this.#parts.push(part);
    this.#added.resolve();
  }

  async *#pieces(): AsyncGenerator<string> {
    for (;;) {
      const part = this.#parts.shift();
      if (part !== undefined) yield* part.pieces();
      else if (this.#ended) return;
      else {
        this.#added = Promise.withResolvers();
        await this.#added.promise;
      }
    }
  }
}
