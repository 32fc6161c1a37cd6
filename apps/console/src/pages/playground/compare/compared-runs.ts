// Compared runs send one prompt to several models at once. They continue while the person is on other pages.
import type { QueryClient } from "@tanstack/react-query";
import { type ApiRequest, generate, type ModelRecord } from "../../../api/public-api.ts";
import { changeKept, type KeptPlace } from "../../../kept-state.ts";
import { decimalText, roundedUpUsd } from "../../../parts/figures/figure-text.ts";
import { streamChat } from "../text/chat-stream.ts";

export interface ComparedRun {
  /** Id of the model. */
  readonly model: string;
  readonly prompt: string;
  /** Undefined after the end. */
  readonly control?: AbortController | undefined;
  readonly text?: string;
  readonly urls?: readonly string[];
  /** USD with four decimals. */
  readonly charged?: string;
  readonly tookMs?: number;
  readonly error?: unknown;
}

const NOTHING: readonly ComparedRun[] = [];
export const comparedPlace = (scope: string): KeptPlace<readonly ComparedRun[]> => ({
  key: `${scope}.compare.runs`,
  initial: NOTHING,
});

export interface CompareOptions {
  readonly scope: string;
  readonly account: string;
  readonly chosen: readonly ModelRecord[];
  /** In the order of the models. */
  readonly requests: readonly ApiRequest[];
  readonly queries: QueryClient;
}

export async function compareModels({
  scope,
  account,
  chosen,
  requests,
  queries,
}: CompareOptions): Promise<void> {
  const place = comparedPlace(scope);
  const change = (model: string, fields: Partial<ComparedRun>) =>
    changeKept(place, (runs) => runs.map((run) => (run.model === model ? { ...run, ...fields } : run)));
  const started = chosen.map(({ id }, index) => ({
    id,
    request: requests[index],
    control: new AbortController(),
  }));
  changeKept(place, () =>
    started.map(({ id, request, control }) => ({ model: id, prompt: promptOf(request), control })),
  );
  const work = started.map(async ({ id, request, control }) => {
    if (request === undefined) return;
    const run = request.type === "text" ? writeText : makeImage;
    const end = await run(account, request, control, (fields) => change(id, fields));
    change(id, { ...end, control: undefined });
  });
  await Promise.all(work);
  for (const key of ["requests", "home"]) void queries.invalidateQueries({ queryKey: [key, account] });
}

const promptOf = (request: ApiRequest | undefined) => String(request?.body["prompt"] ?? "");

type Show = (fields: Partial<ComparedRun>) => void;

async function writeText(
  account: string,
  request: ApiRequest,
  { signal }: AbortController,
  show: Show,
): Promise<Partial<ComparedRun>> {
  const { answer, error } = await streamChat(account, request, signal, ({ content }) =>
    show({ text: content }),
  );
  const { content: text, charged, tookMs } = answer;
  return {
    text,
    ...(charged !== undefined && { charged }),
    ...(tookMs !== undefined && { tookMs }),
    ...(error !== undefined && { error }),
  };
}

interface ImageAnswer {
  readonly data: readonly { readonly url?: string }[];
  readonly cost: number;
  readonly latency: number;
}

async function makeImage(
  account: string,
  request: ApiRequest,
  { signal }: AbortController,
): Promise<Partial<ComparedRun>> {
  try {
    const response = await generate(account, request, signal);
    const { data, cost, latency } = (await response.json()) as ImageAnswer;
    const urls = data.flatMap(({ url }) => url ?? []);
    return { urls, charged: roundedUpUsd(decimalText(cost)), tookMs: latency };
  } catch (error) {
    return signal.aborted ? {} : { error };
  }
}

/** Returns the models with the lowest charge and the shortest time; undefined without two results, or for a tie. */
export function bestOf(runs: readonly ComparedRun[]): { cheapest?: string; fastest?: string } {
  const done = runs.filter(({ charged }) => charged !== undefined);
  if (done.length < 2) return {};
  const least = (amountOf: (run: ComparedRun) => number) => {
    const [first, second] = done.toSorted((one, other) => amountOf(one) - amountOf(other));
    return first && second && amountOf(first) < amountOf(second) ? first.model : undefined;
  };
  // Four decimals: their order as numbers is exact.
  const cheapest = least(({ charged }) => Number(charged));
  const fastest = least(({ tookMs }) => tookMs ?? Number.POSITIVE_INFINITY);
  return { ...(cheapest && { cheapest }), ...(fastest && { fastest }) };
}
