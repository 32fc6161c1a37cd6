// Black Forest Labs' HTTP routes, to be mounted at /bfl/v1. Only a job's own region has the job, so only the address
// in the answer to its submission finds it.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { formatUsd } from "../../bill/prices.ts";
import type { JobState, JobView, MediaRoom } from "../../media/media-room.ts";
import { readBody } from "../../media/read-body.ts";
import { refusalHandler } from "../../media/refusal-handler.ts";
import { linkTo } from "../../media/result-files.ts";
import { keyOf } from "../../request/key.ts";
import { unknownModel } from "../../request/refusal.ts";
import { sendCaptured } from "../../request/send-captured.ts";
import { callerRequestId, uniqueHex } from "../../request/simulation.ts";
import { BFL_MODELS, inputsOf, sizeOf, USUAL_SECONDS } from "./models.ts";

const REGION = "eu2";
const PREFIX = "/bfl/v1";
const STATUS: Readonly<Record<JobState, string>> = {
  queued: "Pending",
  running: "Pending",
  done: "Ready",
  failed: "Error",
  blocked: "Request Moderated",
  cancelled: "Error",
};
/** Credits are cents. */
const CREDITS_PER_USD = 100n;

export function bflRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(
      refusalHandler({
        provider: "bfl",
        cases: { unknown_model: "unknown-model" },
        values: ({ message, param }) => ({
          "detail.0.loc": ["body", ...(param === null ? [] : [param])],
          "detail.0.msg": message,
        }),
      }),
    );
    app.addHook("onRequest", (request, reply, next) => {
      const key = keyOf(request, "x-key", "");
      if (key !== undefined && key !== "invalid") next();
      else sendCaptured(reply, "bfl/bad-key");
    });

    app.post<{ Params: { model: string } }>("/:model", (request, reply) => {
      const name = request.params.model;
      const model = BFL_MODELS.get(name);
      if (model === undefined) throw unknownModel(name);
      const asked = readBody(model.request, request.body);
      const size = sizeOf(model.kind, asked);
      const seconds = asked.duration ?? USUAL_SECONDS;
      const price = model.price({ size, seconds, quality: "" });
      const job = media.submit(
        {
          model: name,
          requestId: callerRequestId(request.headers) ?? uniqueHex(32),
          prompt: asked.prompt,
          size,
          wanted:
            model.kind === "video"
              ? { kind: "video", seconds }
              : { kind: "image", count: 1, format: asked.output_format ?? "jpeg" },
          inputs: inputsOf(asked),
          bill: (result) => ({ picoUsd: price * BigInt(result) }),
        },
        reply,
      );
      if (job === undefined) return reply;
      const poll = `http://${request.host}${PREFIX}/${REGION}/get_result?id=${job.id}`;
      const cost = formatUsd(price * CREDITS_PER_USD);
      return reply
        .type("application/json")
        .send(`{"id":"${job.id}","polling_url":"${poll}","cost":${cost},"input_mp":0,"output_mp":1}`);
    });

    app.get("/get_result", (_request, reply) => sendCaptured(reply, "bfl/not-found"));
    app.get<{ Querystring: { id?: string } }>(`/${REGION}/get_result`, (request, reply) => {
      const { id = "" } = request.query;
      const job = media.poll(id);
      return job === undefined ? sendCaptured(reply, "bfl/not-found") : reply.send(answerOf(job, request));
    });
  };
}

function answerOf(job: JobView, request: FastifyRequest): object {
  const [file] = job.files;
  return {
    id: job.id,
    status: STATUS[job.state],
    result: file === undefined ? null : { sample: linkTo(request, file), prompt: job.order.prompt, seed: 42 },
    progress: job.state === "running" ? 0.5 : null,
    details: null,
    preview: null,
  };
}
