// Reads Runware's answers: results and errors side by side, each with the id of its task.
import { type PicoUsd, parsePicoUsd } from "@gr/money";
import { z } from "zod";
import type { Phase } from "../answer-failure.ts";
import type { OutboundAnswer } from "../outbound.ts";
import type { ReportedUsage } from "../provider.ts";
import type { ProviderError, ProviderFailure } from "../provider-error.ts";
import type { ProviderHttp } from "../provider-http.ts";

const itemSchema = z.object({
  taskUUID: z.string(),
  status: z.string().nullish(),
  imageURL: z.string().min(1).nullish(),
  videoURL: z.string().min(1).nullish(),
  /** Progress, in percent. */
  progress: z.unknown().optional(),
  /** Cost in USD. */
  cost: z.number().nullish(),
});
const errorSchema = z.object({
  code: z.string(),
  message: z.string().nullish(),
  parameter: z.unknown().optional(),
  taskUUID: z.string().nullish(),
});
const answerSchema = z
  .object({ data: z.array(itemSchema).optional(), errors: z.array(errorSchema).optional() })
  .refine(({ data, errors }) => data !== undefined || errors !== undefined);

export type TaskItem = z.infer<typeof itemSchema>;
export type TaskError = z.infer<typeof errorSchema>;
export interface TaskAnswer {
  readonly items: readonly TaskItem[];
  readonly errors: readonly TaskError[];
}

const CODES: Readonly<Record<string, ProviderFailure>> = Object.fromEntries(
  (
    [
      [
        "blocked",
        [
          "contentModeration",
          "contentPolicyViolation",
          "imageBlocked",
          "invalidProviderContent",
          "moderationFailed",
          "nsfwContentDetected",
          "promptBlocked",
          "providerContentPolicyViolation",
          "sensitiveContentDetected",
          "unsafeContentDetected",
        ],
      ],
      [
        "misconfigured",
        [
          "accountDisabled",
          "accountSuspended",
          "forbidden",
          "insufficientCredits",
          "insufficientPermissions",
          "invalidApiKey",
          "invalidModel",
          "modelDisabled",
          "permissionDenied",
          "quotaExceeded",
          "unauthorized",
        ],
      ],
      ["rate_limited", ["rateLimitExceeded"]],
    ] as const
  ).flatMap(([kind, codes]) => codes.map((code) => [code, kind])),
);
/** Beginnings of the codes for invalid requests. */
const INVALID = /^(invalid|missing|unsupported|conflicting|validation)/;

/** Undefined when the body has another shape. */
export function readTasks(answer: OutboundAnswer): TaskAnswer | undefined {
  const parsed = answerSchema.safeParse(answer.json());
  return parsed.success ? { items: parsed.data.data ?? [], errors: parsed.data.errors ?? [] } : undefined;
}

/**
 * Returns the failure of a task's error. In a poll, the error is the task's end, unless the status reports the server.
 */
export function failureOf(
  { code, message }: TaskError,
  answer: OutboundAnswer,
  http: ProviderHttp,
  phase: Phase,
): ProviderError {
  const known = CODES[code];
  const what = code.slice(0, 60);
  if (known !== undefined) return http.failureAs(known, phase, answer, what);
  if (answer.status !== 200 && (phase === "submit" || answer.status >= 500 || answer.status === 429)) {
    return http.failure(phase, answer, message);
  }
  if (INVALID.test(code)) return http.failure(phase, { ...answer, status: 400 }, message ?? what);
  return http.failureAs("failed", "follow", answer, what);
}

/** Returns the sum of all costs in a body. An answer is about one task, so all are its costs. */
export function readUsage(body: unknown): ReportedUsage | undefined {
  const costs = answerSchema.safeParse(body).data?.data?.flatMap((item) => costOf(item) ?? []) ?? [];
  return costs.length === 0 ? undefined : { billed: costs.reduce((sum, cost) => sum + cost, 0n) };
}

/** Undefined when it is none. */
export function costOf({ cost }: TaskItem): PicoUsd | undefined {
  return cost == null ? undefined : parsePicoUsd(cost);
}
