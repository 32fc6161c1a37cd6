// Every public operation as a target of attacks: from the router's own description, the table of the console's routes,
// and the pages of the gateway. A new route is attacked from the day on which it exists.
import { consoleRoutes } from "@gr/console-api";
import { REFERENCE_PATHS, routeTable } from "@gr/gateway/simulated";
import { type Description, type Operation, readDescription } from "../fuzz/operations.ts";

export interface Target {
  /** Method and path, with `{name}` where a value belongs. */
  readonly name: string;
  readonly method: string;
  /** With all values filled in. */
  readonly path: string;
  readonly key: Operation["access"];
  /** Names of the members of its body; undefined if it has no body. */
  readonly fields: readonly string[] | undefined;
  /** Body that the router accepts, as far as the ring has one. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly acceptsForms: boolean;
  readonly acceptsPictures: boolean;
  readonly spends: boolean;
}

/** Existing ids, for paths. */
export interface KnownNames {
  readonly media: string;
  readonly generationId: string;
  readonly keyId: string;
}

/** Ids for operations that would delete objects which other attacks need. */
const NOBODYS: KnownNames = {
  media: "none.webp",
  generationId: "00000000-0000-7000-8000-000000000000",
  keyId: "00000000-0000-7000-8000-000000000000",
};

const PICTURE_FIELDS = ["image", "images", "image[]", "mask"];

export async function readTargets(baseUrl: string, known: KnownNames): Promise<Target[]> {
  const description = await readDescription(baseUrl);
  const described = description.operations.map((operation) => describedTarget(operation, description, known));
  return [...described, ...consoleTargets(known), ...pages()];
}

/** Returns the prefixes of the gateway's table without a target. */
export function uncoveredPrefixes(targets: readonly Target[]): string[] {
  const covers = (prefix: string) => targets.some(({ path }) => path.startsWith(prefix));
  return routeTable.map(({ prefix }) => prefix).filter((prefix) => !covers(prefix));
}

function describedTarget(operation: Operation, description: Description, known: KnownNames): Target {
  const { name, method, path, access, body: schema, acceptsForms, spends } = operation;
  const properties = schema && Object.keys(description.resolve(schema).properties ?? {});
  const acceptsPictures = acceptsForms;
  return {
    name,
    method,
    path: filled(path, method === "DELETE" ? NOBODYS : known),
    key: access,
    fields: properties && [...new Set([...properties, ...(acceptsPictures ? PICTURE_FIELDS : [])])],
    body: schema === undefined ? {} : bodyFor(path),
    acceptsForms,
    acceptsPictures,
    spends,
  };
}

function filled(path: string, { media, generationId, keyId }: KnownNames): string {
  const value = path.startsWith("/media")
    ? media
    : path.includes("models")
      ? "sandbox/chat"
      : path.includes("generations")
        ? generationId
        : keyId;
  return path.replaceAll(/[{][^}]*[}]/g, value);
}

function bodyFor(path: string): Record<string, unknown> {
  if (path.includes("/images")) return { model: "sandbox/image-edit", prompt: "a" };
  if (path.includes("/videos")) return { model: "sandbox/video-from-image", prompt: "a" };
  if (path.includes("/responses")) return { model: "sandbox/chat", input: "a" };
  if (path.includes("/chat"))
    return { model: "sandbox/chat", max_tokens: 5, messages: [{ role: "user", content: "a" }] };
  return {};
}

function consoleTargets({ keyId }: KnownNames): Target[] {
  const rows = Object.values(consoleRoutes).map((route) => {
    const shape = "body" in route ? (route.body as { shape?: object }).shape : undefined;
    return { ...route, fields: "body" in route ? Object.keys(shape ?? {}) : undefined };
  });
  const webhook = { method: "POST", path: "/webhooks/stripe", fields: ["id"] };
  return [...rows, webhook].map(({ method, path, fields }) => ({
    name: `${method.toLowerCase()} ${path}`,
    method,
    path: path.replaceAll(/:\w+/g, keyId),
    key: "anybody" as const,
    fields,
    body: {},
    acceptsForms: false,
    acceptsPictures: false,
    spends: false,
  }));
}

function pages(): Target[] {
  return ["/openapi.json", ...REFERENCE_PATHS].map((path) => ({
    name: `get ${path}`,
    method: "GET",
    path,
    key: "anybody",
    fields: undefined,
    body: {},
    acceptsForms: false,
    acceptsPictures: false,
    spends: false,
  }));
}
