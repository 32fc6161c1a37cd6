// CollectedAnswer is a whole answer in memory: its chunks are collected up to a limit.
import type { IncomingHttpHeaders } from "node:http";
import type { AnswerReceiver, UpstreamCall, UpstreamLoss } from "./upstream-call.ts";

export interface CollectedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body was larger than the limit and is cut there. */
  readonly isCut: boolean;
  /** The upstream's id of the generation, from the head; empty when it sent none. */
  readonly generationId: string;
}

export class AnswerCollector implements AnswerReceiver {
  /** @throws UpstreamLoss */
  readonly answer: Promise<CollectedAnswer>;
  readonly #limit: number;
  #resolve: (answer: CollectedAnswer) => void = () => undefined;
  #reject: (loss: UpstreamLoss) => void = () => undefined;
  #call: UpstreamCall | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** @param limit most bytes of the body */
  constructor(limit: number) {
    this.#limit = limit;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** The upstream's id of the generation; empty while it has not sent one. */
  get generationId(): string {
    const id = this.#headers["x-generation-id"];
    return typeof id === "string" ? id : "";
  }

  head(call: UpstreamCall, status: number, headers: IncomingHttpHeaders): void {
    this.#call = call;
    this.#status = status;
    this.#headers = headers;
  }

  data(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#limit) {
      this.#chunks.push(chunk);
      return;
    }
    this.#finish(true);
    this.#call?.abort(new Error("the answer is larger than it may be"));
  }

  end(): void {
    this.#finish(false);
  }

  lost(loss: UpstreamLoss): void {
    this.#reject(loss);
  }

  #finish(isCut: boolean): void {
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body,
      isCut,
      generationId: this.generationId,
    });
  }
}
