// TextBound counts the smallest cost of a body during its arrival, so that a sender without the credit is
// refused early. It never exceeds the hold of the whole body: only text that is certainly in the prompt counts.
// Fields of pictures, files and sounds do not count. Before the model's name arrives the bound is zero, because
// free models exist.
import type { CatalogCopy } from "@gr/clients";
import { tokenPriceAt } from "@gr/models";
import type { Credits } from "@gr/money";
import { ModelKind } from "@gr/proto/catalog";
import type { BodyMeter, StringPlace } from "@gr/runtime";
import { holdSizeOf } from "./hold-size.ts";
import { InputMeter } from "./input-meter.ts";
import type { TextRequest } from "./text-request.ts";

/** Bytes of text before the first query to billing; each later query needs four times as many. */
const FIRST_QUESTION = 256 * 1024;
const GROWTH = 4;
/** Largest size of a model's name, in bytes. */
const LONGEST_MODEL = 1_000;
const PROMPTS: ReadonlySet<string | undefined> = new Set(["messages", "input"]);
const TEXTS: ReadonlySet<string | undefined> = new Set(["content", "text"]);

/** Reads the catalogue's copy at each check. */
export type FindModel = CatalogCopy["find"];

export class TextBound implements BodyMeter {
  /** Bytes of the prompt in their written form. */
  textBytes = 0;
  #model = "";
  #isModelWhole = false;
  #nextQuestion = FIRST_QUESTION;
  #askedBytes = 0;
  readonly #find: FindModel;
  readonly #canPay: (least: Credits) => Promise<void>;

  /** @param canPay throws if the sender has less credit */
  constructor(find: FindModel, canPay: (least: Credits) => Promise<void>) {
    this.#find = find;
    this.#canPay = canPay;
  }

  string(
    { depth, field, name }: StringPlace,
    chunk: Buffer,
    from: number,
    to: number,
    isLast: boolean,
  ): void {
    const isInput = depth === 1 && field === "input";
    if (isInput || (PROMPTS.has(field) && TEXTS.has(name))) this.textBytes += to - from;
    else if (depth === 1 && field === "model") {
      if (this.#model.length < LONGEST_MODEL) this.#model += chunk.toString("latin1", from, to);
      this.#isModelWhole = isLast;
    }
  }

  async counted(isWhole: boolean): Promise<void> {
    const { textBytes } = this;
    const isTime = isWhole
      ? textBytes > Math.max(this.#askedBytes, FIRST_QUESTION)
      : textBytes >= this.#nextQuestion;
    if (!isTime) return;
    const least = this.least();
    if (least === 0n) return;
    this.#askedBytes = textBytes;
    while (this.#nextQuestion <= textBytes) this.#nextQuestion *= GROWTH;
    await this.#canPay(least);
  }

  /** @returns the smallest possible hold of a request with this text */
  least(): Credits {
    // A name with escapes, or beyond ASCII, is not found; then nothing is refused early.
    const model = this.#isModelWhole ? this.#find(this.#model) : undefined;
    if (model === undefined || model.kind !== ModelKind.TEXT || model.price?.rule.case !== "token") return 0n;
    const { value } = model.price.rule;
    const request = requestOf(this.textBytes);
    let least: Credits | undefined;
    for (const { provider } of model.routes) {
      const { credits } = holdSizeOf(request, model, tokenPriceAt(value, provider));
      if (least === undefined || credits < least) least = credits;
    }
    return least ?? 0n;
  }
}

/** Returns a request with this text and without any other cost. */
function requestOf(textBytes: number): TextRequest {
  return {
    api: "chat",
    model: "",
    stream: false,
    bytes: Buffer.alloc(0),
    layout: { open: 0, close: 0, members: [] },
    input: new InputMeter(textBytes),
    choices: 1,
    outputLimit: 0,
    predicts: false,
    logprobs: false,
    streamOptions: "absent",
    thinkingTokens: 0,
    toolCallLimit: undefined,
    fields: [],
  };
}
