// Counts the simulator's tokens by simple rules that a test can recompute.

const BYTES_PER_TOKEN = 4;
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_IMAGE = 85;

/** Adds up the input of one request: all its text, its messages, its images. */
export class InputMeter {
  #bytes = 0;
  #messages = 0;
  readonly #images: string[] = [];

  addMessage(): void {
    this.#messages++;
  }

  addText(text: string): void {
    this.#bytes += Buffer.byteLength(text);
  }

  /** @param address a data URI, or a URL */
  addImage(address: string): void {
    this.#images.push(address);
  }

  get images(): readonly string[] {
    return this.#images;
  }

  /** ceil(UTF-8 bytes of all text / 4) + 4 per message + 85 per image. */
  get tokens(): number {
    return (
      Math.ceil(this.#bytes / BYTES_PER_TOKEN) +
      this.#messages * TOKENS_PER_MESSAGE +
      this.#images.length * TOKENS_PER_IMAGE
    );
  }
}

/** ceil(UTF-8 bytes / 4): the tokens of an image prompt. */
export function promptTokens(prompt: string): number {
  return Math.ceil(Buffer.byteLength(prompt) / BYTES_PER_TOKEN);
}

/** Cuts a text into output tokens; joined, they are the text again. */
export function splitTokens(text: string): string[] {
  return text.match(/\s*\S{1,8}|\s+/gu) ?? [];
}
