// VideoObject is an entry of the log in the shape of OpenAI's videos API. Its status follows from the row alone, so that
// it is the same after a restart. polling_url and unsigned_urls are for clients of OpenRouter's shape.
import { formatCredits } from "@gr/money";
import { trimSlashes } from "@gr/runtime";
import { z } from "zod";
import { mediaUrl } from "../answer/media-answer.ts";
import { filesOf, type LogEntry } from "../log/log-entry.ts";
import { errorMessage } from "../log/log-message.ts";
import { VIDEOS_PATH } from "../request/video-job.ts";

const STATUSES = ["queued", "in_progress", "completed", "failed"] as const;

const seconds = () => z.number().int().describe("Unix seconds");

export const videoSchema = z.object({
  id: z.string().describe("id of the job, and of its entry at /v1/generations/{id}"),
  object: z.literal("video"),
  model: z.string(),
  prompt: z.string().nullable().describe("null when it was deleted"),
  status: z
    .enum(STATUSES)
    .describe(
      "queued until a provider has accepted the job; failed also of a cancelled job, which costs nothing",
    ),
  progress: z.number().int().min(0).max(100).describe("percent, as far as the provider reports it"),
  created_at: seconds(),
  completed_at: seconds().nullable().describe("Unix seconds; null until the video is ready"),
  expires_at: seconds().nullable().describe("always null: files are deleted by the retention of the account"),
  seconds: z.string().nullable(),
  size: z.string().nullable(),
  quality: z.string().nullable(),
  remixed_from_video_id: z.string().nullable().describe("always null"),
  error: z.object({ code: z.string(), message: z.string() }).nullable().describe("reason of a failed job"),
  cost: z.number().nullable().describe("USD charged; null until the job has ended"),
  polling_url: z.string(),
  unsigned_urls: z.array(z.string()).describe("addresses of the file that open without a key"),
});

export const videoListSchema = z.object({
  object: z.literal("list"),
  data: z.array(videoSchema),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

export function videoOf(entry: LogEntry, publicBaseUrl: string): z.infer<typeof videoSchema> {
  const { id, model, request, createdAt, finishedAt, charge, error } = entry;
  const status = statusOf(entry);
  return {
    id,
    object: "video",
    model,
    prompt: request.prompt ?? null,
    status,
    progress: status === "completed" ? 100 : (entry.progress ?? 0),
    created_at: secondsOf(createdAt),
    completed_at: status === "completed" && finishedAt !== undefined ? secondsOf(finishedAt) : null,
    expires_at: null,
    seconds: request.seconds === undefined ? null : String(request.seconds),
    size: request.size ?? null,
    quality: request.quality ?? null,
    remixed_from_video_id: null,
    error: error === undefined ? null : errorOf(error),
    // Four decimals: the nearest double prints as exactly these.
    cost: charge === undefined ? null : Number(formatCredits(charge)),
    polling_url: `${trimSlashes(publicBaseUrl)}${VIDEOS_PATH}/${id}`,
    unsigned_urls: filesOf(entry).map((name) => mediaUrl(publicBaseUrl, name)),
  };
}

function statusOf({ status, isAccepted }: LogEntry): (typeof STATUSES)[number] {
  if (status === "running") return isAccepted ? "in_progress" : "queued";
  return status === "succeeded" ? "completed" : "failed";
}

function errorOf({ reason, message: reported }: NonNullable<LogEntry["error"]>) {
  const { code, message, type } = errorMessage(reason, reported);
  return { code: code === "" ? type : code, message };
}

const secondsOf = (ms: number) => Math.floor(ms / 1_000);
