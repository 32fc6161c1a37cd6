// Answers in one piece: the upstream's answer is read whole, paid for, and then sent.
import { AnswerCollector, type CollectedAnswer } from "./collected-answer.ts";
import { tokensOf } from "./estimate.ts";
import type { Exchange, TextDeps } from "./exchange.ts";
import { giveUpFailed, giveUpLost, giveUpNonsense, giveUpRefused } from "./give-up.ts";
import { settle, type Used } from "./settle.ts";
import { UpstreamLoss } from "./upstream-call.ts";
import { costOf } from "./usage.ts";
import { pricedAnswer, readWholeAnswer, type WholeAnswer } from "./whole-answer.ts";

const MOST_ANSWER_BYTES = 32 * 1024 * 1024;

/** @returns the bytes for the client; the hold is captured. @throws ServiceError; the hold is taken care of. */
export async function serveWhole(deps: TextDeps, exchange: Exchange, body: Buffer): Promise<Buffer> {
  const { id, request, upstream } = exchange;
  const collector = new AnswerCollector(MOST_ANSWER_BYTES);
  upstream.post(request.api, false, body, id, collector);
  const collected = await receive(deps, exchange, collector);
  const generation = collected.generationId;
  if (collected.status !== 200) throw await giveUpRefused(deps, exchange, collected);
  if (collected.cut) throw giveUpNonsense(deps, exchange, "the answer is larger than 32 MB", generation);
  const answer = readWholeAnswer(request.api, upstream.kind, collected.body);
  if (answer === undefined) throw giveUpNonsense(deps, exchange, "the answer is no JSON object", generation);
  if (answer.failure !== undefined) throw await giveUpAnswered(deps, exchange, answer, answer.failure);
  const priced = await capture(deps, exchange, answer, generation);
  deps.events.answered();
  return priced;
}

/** An answer with status 200 that says that it failed. */
export function giveUpAnswered(deps: TextDeps, exchange: Exchange, answer: WholeAnswer, failure: string) {
  const cost = answer.usage === undefined ? 0n : costOf(answer.usage, exchange.price);
  return giveUpFailed(deps, exchange, failure, cost);
}

async function receive(
  deps: TextDeps,
  exchange: Exchange,
  collector: AnswerCollector,
): Promise<CollectedAnswer> {
  try {
    return await collector.answer;
  } catch (loss) {
    throw loss instanceof UpstreamLoss
      ? await giveUpLost(deps, exchange, loss, collector.generationId)
      : loss;
  }
}

async function capture(deps: TextDeps, exchange: Exchange, answer: WholeAnswer, generation: string) {
  try {
    const used: Used = {
      usage: answer.usage,
      generationId: generation === "" ? answer.id : generation,
      meteredOutput: tokensOf(answer.outputBytes),
    };
    return await settle(deps, exchange, used, (billed) => pricedAnswer(exchange.request.api, answer, billed));
  } catch (error) {
    deps.events.notCaptured(exchange, error);
    throw error;
  }
}
