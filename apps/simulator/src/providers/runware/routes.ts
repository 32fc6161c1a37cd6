// Runware's HTTP routes, to be mounted at /runware/v1: one address, lists of tasks with ids of their clients. An
// answer has errors next to results. Without any result, its status is that of the first error.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { formatUsd } from "../../bill/prices.ts";
import { readDataUri } from "../../media/data-uri.ts";
import type { JobView, MediaRoom } from "../../media/media-room.ts";
import { readBody } from "../../media/read-body.ts";
import { refusalHandler } from "../../media/refusal-handler.ts";
import { linkTo } from "../../media/result-files.ts";
import { keyOf } from "../../request/key.ts";
import { Refusal } from "../../request/refusal.ts";
import { sendCaptured } from "../../request/send-captured.ts";
import { callerRequestId } from "../../request/simulation.ts";
import { RUNWARE_MODELS, type RunwareTask, taskSchema, unsupportedField } from "./models.ts";

const getResponse = z.strictObject({ taskType: z.literal("getResponse"), taskUUID: z.uuidv4() });
const listSchema = z.array(z.union([getResponse, z.looseObject({ taskType: z.string() })])).min(1);
const FORMATS = { JPG: "jpeg", PNG: "png", WEBP: "webp", MP4: "png" } as const;
const USUAL = 1_024;

interface TaskError {
  readonly code: string;
  readonly message: string;
  readonly parameter?: string | null;
  readonly taskType: string;
  readonly taskUUID?: string;
}

export function runwareRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(
      refusalHandler({
        provider: "runware",
        cases: { unknown_model: "invalid-parameter" },
        values: ({ message, param, code }) => ({
          "errors.0.code": code === null || code === "invalid_value" ? "invalidParameter" : code,
          "errors.0.message": message,
          "errors.0.parameter": param,
        }),
      }),
    );
    app.addHook("onRequest", (request, reply, next) => {
      const key = keyOf(request, "authorization", "Bearer");
      if (key !== undefined && key !== "invalid") next();
      else sendCaptured(reply, "runware/bad-key");
    });

    app.post("/", (request, reply) => {
      const tasks = readBody(listSchema, request.body);
      const data: string[] = [];
      const errors: TaskError[] = [];
      for (const task of tasks) {
        const asked = getResponse.safeParse(task);
        if (asked.success) lookAt(asked.data.taskUUID, request, data, errors);
        else {
          const begun = begin(readBody(taskSchema, task), request, reply);
          if (begun === undefined) return reply;
          data.push(begun);
        }
      }
      const status = data.length === 0 ? 400 : 200;
      const failures = errors.length === 0 ? "" : `,"errors":${JSON.stringify(errors)}`;
      return reply
        .code(status)
        .type("application/json")
        .send(`{"data":[${data.join(",")}]${failures}}`);
    });
  };

  /** @returns undefined if the answer never arrives. @throws Refusal */
  function begin(task: RunwareTask, request: FastifyRequest, reply: FastifyReply): string | undefined {
    const { taskUUID, taskType, model: name, width = USUAL, height = USUAL } = task;
    if (media.look(taskUUID) !== undefined) {
      throw new Refusal("invalid", "This task exists.", "taskUUID", "conflictTaskUUID");
    }
    const model = RUNWARE_MODELS.get(name);
    if (model === undefined) throw new Refusal("unknown_model", `No model ${name}.`, "model", "invalidModel");
    const field = unsupportedField(model, task);
    if (field !== undefined) {
      throw new Refusal("invalid", `${name} does not take it.`, field, "unsupportedParameter");
    }
    const [size, seconds] = [{ width, height }, task.duration ?? 5];
    const quality = task.providerSettings?.openai.quality ?? "medium";
    const price = model.price({ size, seconds, quality });
    const count = task.numberResults ?? 1;
    const format = FORMATS[task.outputFormat ?? "JPG"];
    const job = media.submit(
      {
        jobId: taskUUID,
        model: name,
        requestId: callerRequestId(request.headers) ?? taskUUID,
        prompt: task.positivePrompt,
        size,
        wanted: model.kind === "video" ? { kind: "video", seconds } : { kind: "image", count, format },
        inputs: inputsOf(task),
        bill: (result) => ({ picoUsd: price * BigInt(result) }),
      },
      reply,
    );
    return job === undefined ? undefined : JSON.stringify({ taskType, taskUUID });
  }

  function lookAt(taskUUID: string, request: FastifyRequest, data: string[], errors: TaskError[]): void {
    const job = media.poll(taskUUID);
    const failure = job === undefined ? "taskFailedOrNotFound" : FAILURES[job.state];
    if (failure !== undefined) {
      errors.push({ code: failure, message: "No result.", taskType: "getResponse", taskUUID });
    } else if (job !== undefined) data.push(...itemsOf(job, taskUUID, request));
  }
}

const FAILURES: Partial<Readonly<Record<JobView["state"], string>>> = {
  failed: "timeoutProvider",
  blocked: "invalidProviderContent",
  cancelled: "taskFailedOrNotFound",
};

function itemsOf(
  { state, order, files, billed }: JobView,
  taskUUID: string,
  request: FastifyRequest,
): string[] {
  const video = order.wanted.kind === "video";
  const head = { taskType: video ? "videoInference" : "imageInference", taskUUID };
  if (state !== "done") return [JSON.stringify({ ...head, status: "processing" })];
  const share = (billed?.picoUsd ?? 0n) / BigInt(Math.max(1, files.length));
  return files.map((file) => {
    const link = linkTo(request, file);
    const item = { ...head, status: "success", ...(video ? { videoURL: link } : { imageURL: link }) };
    return `${JSON.stringify(item).slice(0, -1)},"cost":${formatUsd(share)}}`;
  });
}

/** @throws Refusal */
function inputsOf({ inputs = {} }: RunwareTask): Buffer[] {
  const { referenceImages = [], seedImage, maskImage, frameImages = [] } = inputs;
  const all = [...referenceImages, seedImage, maskImage, ...frameImages.map(({ image }) => image)];
  return all.flatMap((uri) => (uri === undefined ? [] : [readDataUri(uri, "inputs")]));
}
