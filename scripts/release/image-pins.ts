// Image pins own the digests of foreign container images in compose.yaml, the manifests and the Dockerfile. A tag can move, a
// digest cannot. Images of this repository have no digest before they are built: their tag is the version.
import { ToolError } from "../tool.ts";

/** Image in a registry, for example docker.io/valkey/valkey:9.0.0. */
export interface ImageName {
  /** Text of the file, without a digest. */
  readonly text: string;
  readonly registry: string;
  readonly repository: string;
  readonly tag: string;
}

const OWN = "generation-router/";
const DOCKER_HUB = "registry-1.docker.io";
/** `image:` of YAML and `ARG NODE_…=` of the Dockerfile: the reference, and its digest if it has one. */
const REFERENCE = /((?:^|\s)image: |^ARG NODE_[A-Z]+=)([a-z0-9./_-]+:[\w.-]+)(@sha256:[0-9a-f]{64})?/gm;
const MANIFESTS = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const PATIENCE_MS = 15_000;

/** Returns each foreign image of a file once. */
export function imagesIn(text: string): ImageName[] {
  const names = [...text.matchAll(REFERENCE)].map(([, , name = ""]) => name);
  return [...new Set(names)].filter((name) => !name.startsWith(OWN)).map(imageName);
}

/** Returns the file with these digests. @param digests by text of the image; images without an element stay */
export function pinned(text: string, digests: ReadonlyMap<string, string>): string {
  return text.replace(REFERENCE, (reference, before: string, name: string) => {
    const digest = digests.get(name);
    return digest === undefined ? reference : `${before}${name}@${digest}`;
  });
}

/** Returns the file with this version as the tag of each image of this repository. */
export function withOwnVersion(text: string, version: string): string {
  return text.replace(/((?:^|\s)image: generation-router\/[a-z-]+)(?::[\w.-]+)?$/gm, `$1:${version}`);
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Asks the registry of an image for its digest. @throws ToolError if the registry does not answer or has no such image */
export async function digestOf(image: ImageName, send: Fetch = fetch): Promise<string> {
  const { text, registry, repository, tag } = image;
  const url = `https://${registry}/v2/${repository}/manifests/${tag}`;
  const ask = (headers: Record<string, string>) =>
    reached(registry, send(url, { method: "HEAD", headers, signal: AbortSignal.timeout(PATIENCE_MS) }));
  const headers = { accept: MANIFESTS };
  let answer = await ask(headers);
  if (answer.status === 401) {
    const token = await anonymousToken(registry, answer.headers.get("www-authenticate") ?? "", send);
    answer = await ask({ ...headers, authorization: `Bearer ${token}` });
  }
  const digest = answer.headers.get("docker-content-digest") ?? "";
  if (answer.ok && DIGEST.test(digest)) return digest;
  throw new ToolError(`The registry ${registry} answered ${answer.status} for ${text}, without a digest.`);
}

function imageName(text: string): ImageName {
  const [path = "", tag = ""] = text.split(":");
  const [first = "", ...rest] = path.split("/");
  if (first.includes(".")) return { text, registry: first, repository: rest.join("/"), tag };
  return { text, registry: DOCKER_HUB, repository: rest.length === 0 ? `library/${first}` : path, tag };
}

/** Registries of public images demand a token, and hand one to everybody. */
async function anonymousToken(registry: string, challenge: string, send: Fetch): Promise<string> {
  const field = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1];
  const realm = field("realm");
  if (realm === undefined || !realm.startsWith("https://")) {
    throw new ToolError(`The registry ${registry} demands a sign-in that this command does not know.`);
  }
  const url = new URL(realm);
  for (const name of ["service", "scope"]) {
    const value = field(name);
    if (value !== undefined) url.searchParams.set(name, value);
  }
  const answer = await reached(registry, send(url.href, { signal: AbortSignal.timeout(PATIENCE_MS) }));
  const { token, access_token: other } = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
  const found = token ?? other;
  if (typeof found === "string") return found;
  throw new ToolError(`The registry ${registry} answered ${answer.status} without a token.`);
}

async function reached(registry: string, answer: Promise<Response>): Promise<Response> {
  return answer.catch((cause: unknown) => {
    throw new ToolError(`The registry ${registry} cannot be reached from this machine.`, { cause });
  });
}
