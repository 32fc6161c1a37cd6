// The API reference at /docs is Scalar's page on our own description. This process serves all its files. Its policy
// blocks all other hosts for its script.
import { type FastifyInstance, type FastifyReply, fastify } from "fastify";
import { StaticAnswer, type StaticAnswerOptions } from "../answers/static-answer.ts";
import { OPENAPI_PATH } from "./openapi.ts";

export const REFERENCE_PAGE = "/docs";
const SCRIPT_PATH = "/docs/scalar.js";
const START_PATH = "/docs/start.js";
/** Paths without a key. */
export const REFERENCE_PATHS: readonly string[] = [REFERENCE_PAGE, SCRIPT_PATH, START_PATH];

/** Links to the guides, which are files of the console's build. */
const GUIDES = `<nav style="display: flex; gap: 1.25rem; padding: 0.5rem 1rem; font: 1rem system-ui, sans-serif">
<a href="/docs/api">Guide</a> <a href="/docs/api-videos">Videos and webhooks</a> <a href="/docs/clients">Clients and agents</a> <a href="/docs/errors">Errors</a>
</nav>
`;

const pageWith = (guides: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Generation Router: API reference</title>
</head>
<body>
${guides}<div id="reference"></div>
<script src="${SCRIPT_PATH}"></script>
<script src="${START_PATH}"></script>
</body>
</html>
`;

/** No fonts, statistics or proxies of third parties. */
const START = `Scalar.createApiReference("#reference", {
  url: "${OPENAPI_PATH}",
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
});
`;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const SCRIPT: StaticAnswerOptions = {
  type: "text/javascript; charset=utf-8",
  cacheControl: "public, max-age=3600",
};

/** @param hasGuides true if the gateway serves the guides, too */
export function serveReference(app: FastifyInstance, { hasGuides }: { readonly hasGuides: boolean }): void {
  const page = new StaticAnswer(pageWith(hasGuides ? GUIDES : ""), {
    type: "text/html; charset=utf-8",
    cacheControl: "no-cache",
  });
  const start = new StaticAnswer(START, SCRIPT);
  let script: Promise<StaticAnswer> | undefined;
  app.get(REFERENCE_PAGE, (request, reply) =>
    page.send(request, guarded(reply).header("content-security-policy", POLICY)),
  );
  app.get(START_PATH, (request, reply) => start.send(request, guarded(reply)));
  app.get(SCRIPT_PATH, async (request, reply) => {
    script ??= readScript().then((text) => new StaticAnswer(text, SCRIPT));
    return (await script).send(request, guarded(reply));
  });
}

/**
 * Returns the script of four megabytes, which the package contains as a text within its plugin, beside a page with an
 * inline script. Read on the first request, because most gateways never need it.
 */
async function readScript(): Promise<string> {
  const { default: reference } = await import("@scalar/fastify-api-reference");
  const app = fastify();
  await app.register(reference, { routePrefix: "/docs", configuration: { url: OPENAPI_PATH } });
  const { statusCode, body } = await app.inject("/docs/js/scalar.js");
  await app.close();
  if (statusCode !== 200) throw new Error(`the script of the API reference was answered with ${statusCode}`);
  return body;
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply.header("x-content-type-options", "nosniff").header("referrer-policy", "no-referrer");
}
