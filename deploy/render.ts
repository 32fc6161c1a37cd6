// Renders a kustomization like `kubectl kustomize`, for our features only: resources, components, generators, patches,
// namespace, images, replicas. It refuses unsupported ones. `npm run render -- <overlay> --compare` compares both
// results.
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parse, parseAllDocuments, stringify } from "yaml";

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  [field: string]: unknown;
}

interface Generator {
  readonly name: string;
  readonly behavior?: "merge";
  readonly literals?: readonly string[];
  readonly envs?: readonly string[];
  /** Each becomes an entry under its own name. */
  readonly files?: readonly string[];
  readonly options?: { readonly labels: Readonly<Record<string, string>> };
}

interface Patch {
  readonly target: { readonly kind: string; readonly name?: string; readonly labelSelector?: string };
  readonly path?: string;
  readonly patch?: string;
}

export interface Kustomization {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly configMapGenerator?: readonly Generator[];
  readonly secretGenerator?: readonly Generator[];
  /** Setting for the hashes behind generated names, which are omitted here. */
  readonly generatorOptions?: { readonly disableNameSuffixHash: boolean };
  readonly patches?: readonly Patch[];
  readonly images?: readonly { name: string; newName?: string; newTag?: string }[];
  readonly replicas?: readonly { name: string; count: number }[];
}

interface PatchOperation {
  readonly op: "replace" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

const KNOWN = new Set([
  ...["apiVersion", "kind", "namespace", "resources", "components", "configMapGenerator", "secretGenerator"],
  ...["generatorOptions", "patches", "images", "replicas"],
]);
/** Field that identifies the entries of a list; other lists are replaced as a whole. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: "name",
  env: "name",
  volumes: "name",
  ports: "containerPort",
  volumeMounts: "mountPath",
  topologySpreadConstraints: "topologyKey",
};

const isDeletion = (patch: unknown) => isMap(patch) && patch["$patch"] === "delete";

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Renders a folder's kustomization.yaml. */
export function render(folder: string): Manifest[] {
  return apply(readKustomization(folder), folder, []);
}

/** Renders a kustomization that is in no file, as if it were in this folder. */
export function renderAt(folder: string, kustomization: Kustomization): Manifest[] {
  return apply(kustomization, folder, []);
}

function readKustomization(folder: string): Kustomization {
  return parse(readFileSync(join(folder, "kustomization.yaml"), "utf8")) as Kustomization;
}

/** @param before the earlier manifests, which a component changes */
function apply(kustomization: Kustomization, folder: string, before: readonly Manifest[]): Manifest[] {
  const unknown = Object.keys(kustomization).filter((field) => !KNOWN.has(field));
  if (unknown.length > 0) throw new Error(`${folder}: ${unknown.join(", ")} cannot be rendered here`);
  let manifests = [...before];
  for (const resource of kustomization.resources ?? []) {
    const path = join(folder, resource);
    const more = statSync(path).isDirectory() ? render(path) : readManifests(path);
    for (const one of more) {
      if (manifests.some((other) => idOf(other) === idOf(one)))
        throw new Error(`${path}: ${idOf(one)} is there already`);
      manifests.push(one);
    }
  }
  for (const component of kustomization.components ?? []) {
    const path = join(folder, component);
    manifests = apply(readKustomization(path), path, manifests);
  }
  for (const generator of kustomization.configMapGenerator ?? [])
    generate(manifests, "ConfigMap", generator, folder);
  for (const generator of kustomization.secretGenerator ?? [])
    generate(manifests, "Secret", generator, folder);
  for (const patch of kustomization.patches ?? []) manifests = applyPatch(manifests, patch, folder);
  if (kustomization.namespace !== undefined) setNamespace(manifests, kustomization.namespace);
  for (const image of kustomization.images ?? []) setImage(manifests, image);
  for (const { name, count } of kustomization.replicas ?? []) {
    const found = manifests.filter((one) => one.kind === "Deployment" && one.metadata.name === name);
    if (found.length === 0) throw new Error(`${folder}: replicas of ${name}, which is not there`);
    for (const one of found) one["spec"] = { ...(one["spec"] as object), replicas: count };
  }
  return manifests;
}

function readManifests(path: string): Manifest[] {
  return parseAllDocuments(readFileSync(path, "utf8")).map((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    return document.toJS() as Manifest;
  });
}

const idOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;

function generate(manifests: Manifest[], kind: string, generator: Generator, folder: string): void {
  const lines = [
    ...(generator.envs ?? []).flatMap((file) => readFileSync(join(folder, file), "utf8").split("\n")),
    ...(generator.literals ?? []),
  ].filter((line) => line !== "" && !line.startsWith("#"));
  const entries = lines.map((line): [string, string] => {
    const at = line.indexOf("=");
    return [line.slice(0, at), line.slice(at + 1)];
  });
  for (const file of generator.files ?? []) {
    entries.push([basename(file), readFileSync(join(folder, file), "utf8")]);
  }
  const data = Object.fromEntries(
    entries.map(([name, value]) => [name, kind === "Secret" ? Buffer.from(value).toString("base64") : value]),
  );
  const { name, behavior, options } = generator;
  const there = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  if ((behavior === "merge") !== (there !== undefined))
    throw new Error(`${folder}: ${kind} ${name}: ${behavior}`);
  if (there !== undefined) there["data"] = { ...(there["data"] as object), ...data };
  else
    manifests.push({
      apiVersion: "v1",
      kind,
      metadata: { name, ...options },
      data,
      ...(kind === "Secret" ? { type: "Opaque" } : {}),
    });
}

function applyPatch(
  manifests: readonly Manifest[],
  { target, path, patch }: Patch,
  folder: string,
): Manifest[] {
  const content: unknown = parse(
    path === undefined ? (patch ?? "") : readFileSync(join(folder, path), "utf8"),
  );
  let hits = 0;
  const patched = manifests.flatMap((one) => {
    if (!isTarget(one, target)) return one;
    hits += 1;
    if (Array.isArray(content)) return (content as PatchOperation[]).reduce(operate, structuredClone(one));
    if (isDeletion(content)) return [];
    const { metadata: _name, ...fields } = content as Manifest;
    return merge(one, fields) as Manifest;
  });
  if (hits === 0) throw new Error(`${folder}: a patch of ${JSON.stringify(target)} changes nothing`);
  return patched;
}

function isTarget(one: Manifest, { kind, name, labelSelector }: Patch["target"]): boolean {
  const [label, value] = labelSelector?.split("=") ?? [];
  return (
    one.kind === kind &&
    (name === undefined || new RegExp(`^(${name})$`).test(one.metadata.name)) &&
    (label === undefined || one.metadata.labels?.[label] === value)
  );
}

function operate(manifest: Manifest, { op, path, value }: PatchOperation): Manifest {
  const steps = path.slice(1).split("/");
  const last = steps.pop() ?? "";
  let at: Record<string, unknown> = manifest;
  for (const step of steps) at = at[step] as Record<string, unknown>;
  if (!(last in at)) throw new Error(`${idOf(manifest)} has no ${path}`);
  if (op === "remove") delete at[last];
  else at[last] = value;
  return manifest;
}

/** Merges maps field by field, and lists entry by entry if their entries have a key. */
function merge(old: unknown, patch: unknown, field = ""): unknown {
  if (isMap(old) && isMap(patch)) {
    const result: Record<string, unknown> = { ...old };
    for (const [name, value] of Object.entries(patch)) result[name] = merge(old[name], value, name);
    return result;
  }
  const key = MERGE_KEYS[field];
  if (key === undefined || !Array.isArray(old) || !Array.isArray(patch)) return structuredClone(patch);
  const result = [...(old as Record<string, unknown>[])];
  for (const entry of patch as Record<string, unknown>[]) {
    const at = result.findIndex((other) => other[key] === entry[key]);
    if (isDeletion(entry)) {
      if (at < 0) throw new Error(`there is no ${String(entry[key])} among the ${field} to be deleted`);
      result.splice(at, 1);
    } else if (at < 0) result.push(structuredClone(entry));
    else result[at] = merge(result[at], entry) as Record<string, unknown>;
  }
  return result;
}

function setNamespace(manifests: readonly Manifest[], namespace: string): void {
  for (const one of manifests) {
    if (one.kind === "Namespace") one.metadata = { ...one.metadata, name: namespace };
    else one.metadata = { ...one.metadata, namespace };
  }
}

/** Sets the image wherever a container names it. */
function setImage(value: unknown, image: { name: string; newName?: string; newTag?: string }): void {
  if (Array.isArray(value)) for (const entry of value) setImage(entry, image);
  if (!isMap(value)) return;
  const { name, newName = name, newTag } = image;
  if (value["image"] === name) value["image"] = newTag === undefined ? newName : `${newName}:${newTag}`;
  for (const entry of Object.values(value)) setImage(entry, image);
}

/** Removes kustomize's own additions: the order of fields and of keyed lists, hashes behind generated names. */
function comparable(manifests: readonly Manifest[]): unknown {
  const sort = (value: unknown, field = ""): unknown => {
    if (Array.isArray(value)) {
      const entries = value.map((entry) => sort(entry));
      return MERGE_KEYS[field] === undefined
        ? entries
        : entries.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    }
    if (typeof value === "string") return plain(value);
    if (!isMap(value)) return value;
    return Object.fromEntries(
      Object.keys(value)
        .sort()
        .map((name) => [name, sort(value[name], name)]),
    );
  };
  return manifests
    .map((one) => sort(one))
    .toSorted((a, b) => (idOf(a as Manifest) < idOf(b as Manifest) ? -1 : 1));
}

/** Returns a name without its hash, or base64 on one line. */
function plain(text: string): string {
  if (/^[A-Za-z0-9+/=\n]+$/.test(text)) return text.replaceAll("\n", "");
  return text.replace(/^(router-[a-z-]+)-[a-z0-9]{10}$/, "$1");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [overlay = "prod", option] = process.argv.slice(2);
  const folder = join(import.meta.dirname, "overlays", overlay);
  const manifests = render(folder);
  if (option !== "--compare") {
    process.stdout.write(manifests.map((one) => stringify(one)).join("---\n"));
  } else {
    const theirs = parseAllDocuments(execFileSync("kubectl", ["kustomize", folder], { encoding: "utf8" }));
    const lines = (value: unknown) => stringify(value, { aliasDuplicateObjects: false }).split("\n");
    const [ours, other] = [
      lines(comparable(manifests)),
      lines(comparable(theirs.map((one) => one.toJS() as Manifest))),
    ];
    const at = ours.findIndex((line, index) => line !== other[index]);
    const same = at < 0 && ours.length === other.length;
    const difference = `from line ${at}:\n${ours.slice(at - 10, at + 5).join("\n")}\n--- kubectl:\n${other.slice(at - 10, at + 5).join("\n")}`;
    process.stdout.write(
      same ? `${overlay}: as kubectl has it, ${manifests.length} objects\n` : `${overlay}: ${difference}\n`,
    );
    process.exitCode = same ? 0 : 1;
  }
}
