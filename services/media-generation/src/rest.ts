// The public paths: two names for making images, and the hosted media.
import { principalOf } from "@gr/identity";
import { claimOf } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { type RestApi, type RestRequest, type RestRoute, restRoute } from "@gr/runtime";
import { type GenerateDeps, generateImages } from "./request/generate-images.ts";
import {
  canonicalText,
  type ImageRequest,
  imageAnswerSchema,
  imageRequestSchema,
  inputFieldOf,
} from "./request/image-request.ts";
import { acceptForms, MULTIPART } from "./request/multipart-form.ts";
import { mediaRoute } from "./storage/media-routes.ts";
import type { MediaStorage } from "./storage/media-storage.ts";

const MAX_BODY_BYTES = 50 * 1024 * 1024;

export function mediaGenerationRest(deps: GenerateDeps & { readonly storage: MediaStorage }): RestApi {
  const paths = ["/v1/compat/images/generations", "/v1/compat/images/edits"];
  return {
    setup: (scope) => acceptForms(scope, MAX_BODY_BYTES),
    routes: [...paths.map((path) => imagesRoute(deps, path)), mediaRoute(deps.storage)],
  };
}

function imagesRoute(deps: GenerateDeps, path: string): RestRoute {
  return restRoute({
    method: "POST",
    path,
    summary: "Make images from a prompt",
    body: imageRequestSchema,
    otherBodyTypes: [MULTIPART],
    bodyLimit: MAX_BODY_BYTES,
    responses: { 200: { description: "The images, paid for", schema: imageAnswerSchema } },
    handle: (request) => answerImages(deps, path, request),
  });
}

async function answerImages(
  deps: GenerateDeps,
  path: string,
  { body, http, reply }: RestRequest<ImageRequest>,
): Promise<object> {
  const principal = principalOf(http);
  if (principal === null) throw new ServiceError("invalid_api_key", "An API key is required.");
  const { accountId, keyId } = principal;
  // A request with an input image is refused: it needs no claim. Its nesting may be too deep for a canonical text.
  const claim =
    inputFieldOf(body) === undefined ? claimOf(http.headers, path, () => [canonicalText(body)]) : undefined;
  const gone = () => reply.raw.destroyed;
  const given = await generateImages(deps, body, { requestId: http.id, accountId, keyId, claim, gone });
  if (given === undefined) return reply.hijack();
  if (given.replayed) reply.header("idempotency-replayed", "true");
  return given.answer;
}
