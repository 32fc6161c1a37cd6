// TextBound counts what a body will cost at least while it arrives, so that a sender without the credit is refused early.
// It never exceeds the hold that the whole body needs: only text counts that is certainly part of the prompt. Pictures, files
// and sounds have other names, and before the model is known the bound is zero, since there are free models.
import type { CatalogCopy } from "@gr/clients";
import { tokenPriceAt } from "@gr/models";
import type { Credits } from "@gr/money";
import { ModelKind } from "@gr/proto/catalog";
import type { BodyMeter, StringPlace } from "@gr/runtime";
import { holdSizeOf } from "./hold-size.ts";
import { InputMeter } from "./input-meter.ts";
import type { TextRequest } from "./text-request.ts";

/** Bytes of text at which billing is asked first; each later time there are four times as many. */
const FIRST_QUESTION = 256 * 1024;
const GROWTH = 4;
/** Bytes of a model's name; a longer one is no model's. */
const LONGEST_MODEL = 1_000;
const PROMPTS: ReadonlySet<string | undefined> = new Set(["messages", "input"]);
const TEXTS: ReadonlySet<string | undefined> = new Set(["content", "text"]);

/** Reads the catalogue's copy at each question. */
export type FindModel = CatalogCopy["find"];

export class TextBound implements BodyMeter {
  /** Bytes of the prompt, as they are spelt. */
  textBytes = 0;
  #model = "";
  #isModelWhole = false;
  #nextQuestion = FIRST_QUESTION;
  #askedBytes = 0;
  readonly #find: FindModel;
  readonly #canPay: (least: Credits) => Promise<void>;

  /** @param canPay throws when the sender has less than that */
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

  /** @returns the smallest hold that a request with this text can have */
  least(): Credits {
    // A name that is spelt with escapes, or beyond ASCII, is not found; then nothing is refused early.
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

/** A request that has this text and nothing that costs anything else. */
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
