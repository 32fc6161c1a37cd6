// Reads a streamed answer as a client does: piece by piece, with everything seen so far.
export class StreamReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = "";
  #done = false;

  constructor(response: Response) {
    if (response.body === null) throw new Error("the answer has no body");
    this.#reader = response.body.getReader();
    void this.#pump();
  }

  /** Everything that has arrived. */
  get text(): string {
    return this.#text;
  }

  /** True if the stream has ended. */
  get done(): boolean {
    return this.#done;
  }

  async #pump(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) break;
        this.#text += this.#decoder.decode(value, { stream: true });
      }
    } catch (error) {
      this.#text += `\nBROKEN OFF: ${String(error)}`;
    }
    this.#done = true;
  }
}

/** The JSON payloads of a stream's events, in order. */
export function payloadsOf(stream: string): Record<string, unknown>[] {
  return stream
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)));
}
