// WholeProducer sends complete answers: it reads the upstream's answer whole and sends it after the capture.
import type { AttemptContext, AttemptEnd, Delivered } from "@gr/paid-request";
import { billOfFound, billOfUsage, tokensOf } from "../cost/bill.ts";
import {
  type Attempt,
  failedAnswer,
  lostAttempt,
  nonsenseAttempt,
  refusedAttempt,
} from "../cost/failed-attempt.ts";
import { parseLongAnswer, pricedAnswer, readWholeAnswer, type WholeAnswer } from "../cost/whole-answer.ts";
import { type AnswerToSave, NO_ANSWER } from "../stream/stream-answer.ts";
import type { TextBill, TextKinds, TextProduct } from "../text-kinds.ts";
import { AnswerCollector, type CollectedAnswer } from "../upstream/collected-answer.ts";
import { type AnswerReceiver, UpstreamLoss } from "../upstream/upstream-call.ts";
import { type AnswerEnd, TextProducer } from "./text-producer.ts";

export const WHOLE_TYPE = "application/json; charset=utf-8";
const MOST_ANSWER_BYTES = 32 * 1024 * 1024;

export class WholeProducer extends TextProducer {
  protected readonly hasDelivered = false;

  #finishReason = "";
  #answer = NO_ANSWER;

  get answerToSave(): AnswerToSave {
    return this.#answer;
  }

  protected get ended(): AnswerEnd {
    return { finishReason: this.#finishReason, firstByteMs: undefined, cut: undefined };
  }

  deliver({ last }: TextProduct): unknown {
    const { reply, events } = this.parts;
    this.#answer = { body: last, bytes: last.length };
    events.answered();
    return reply.type(WHOLE_TYPE).send(last);
  }

  fail(error: unknown): never {
    throw error;
  }

  protected async read(
    attempt: Attempt,
    _context: AttemptContext,
    send: (receiver: AnswerReceiver) => void,
  ): Promise<AttemptEnd<TextKinds>> {
    const collector = new AnswerCollector(MOST_ANSWER_BYTES);
    send(collector);
    let collected: CollectedAnswer;
    try {
      collected = await collector.answer;
    } catch (loss) {
      if (loss instanceof UpstreamLoss) return lostAttempt(attempt, loss, collector.generationId);
      throw loss;
    }
    const { status, isCut, body, generationId } = collected;
    if (status !== 200) return refusedAttempt(attempt, collected);
    if (isCut) return nonsenseAttempt(attempt, "the answer is larger than 32 MB", generationId);
    const { request, accountId } = attempt.order;
    const parsed = await parseLongAnswer(body, accountId);
    const answer = readWholeAnswer(request.api, attempt.upstream.kind, body, parsed);
    if (answer === undefined) return nonsenseAttempt(attempt, "the answer is no JSON object", generationId);
    this.#finishReason = answer.finishReason;
    if (answer.failure !== undefined) return failedAnswer(attempt, answer, answer.failure);
    const { usage, id } = answer;
    const bill = usage && billOfUsage(attempt, usage);
    return delivered(attempt, answer, bill, generationId === "" ? id : generationId);
  }
}

function delivered(
  attempt: Attempt,
  answer: WholeAnswer,
  bill: TextBill | undefined,
  billId: string,
): Delivered<TextKinds> {
  const { order } = attempt;
  return {
    kind: "delivered",
    bill,
    billId,
    billOf: (found) => billOfFound(attempt, found, tokensOf(answer.outputBytes)),
    productOf: (bill) => {
      const last = pricedAnswer(order.request.api, answer, bill);
      return { last, kept: order.claim && { contentType: WHOLE_TYPE, body: last } };
    },
  };
}
