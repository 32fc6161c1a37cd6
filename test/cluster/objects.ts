// This file checks that a real API server accepts every object of every overlay: it has no unknown field and passes admission.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { kubectlOf } from "./control-plane.ts";
import { type Places, ROOT } from "./layout.ts";

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** APIs that Kubernetes operators define. This cluster has no operators, so their objects are not checked. */
const OF_OPERATORS = new Set([
  "external-secrets.io/v1",
  "gateway.networking.k8s.io/v1",
  "monitoring.coreos.com/v1",
  "postgresql.cnpg.io/v1",
]);

/** @returns the number of accepted objects of each overlay @throws Error with the server's message for the first refused one */
export async function acceptEveryObject(places: Places): Promise<string> {
  const kubectl = kubectlOf(places);
  const counts: string[] = [];
  for (const overlay of await readdir(join(ROOT, "deploy", "overlays"))) {
    const manifests = parseAllDocuments(
      await kubectl("kustomize", join(ROOT, "deploy", "overlays", overlay)),
    ).map((document) => document.toJS() as Manifest);
    const known = manifests.filter(({ apiVersion }) => !OF_OPERATORS.has(apiVersion));
    // The server refuses an object in a namespace that does not exist.
    const namespaces = known.filter(({ kind }) => kind === "Namespace");
    await kubectl.given(listOf(namespaces), "apply", "--server-side", "--validate=strict", "-f", "-");
    const dry = ["--dry-run=server", "--server-side", "--validate=strict", "--warnings-as-errors", "-f", "-"];
    await kubectl.given(listOf(known), "apply", ...dry);
    for (const { metadata } of namespaces)
      await kubectl("delete", "namespace", metadata.name, "--wait=false");
    counts.push(`${overlay} ${known.length} (${manifests.length - known.length} of operators unchecked)`);
  }
  return `accepted: ${counts.join(", ")}`;
}

const listOf = (items: readonly Manifest[]) => JSON.stringify({ apiVersion: "v1", kind: "List", items });
