// Where things of a cluster for one run lie, and the addresses in it.
import { homedir } from "node:os";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "..", "..");

/** What is built once: programs, and the layers of images. Outside of the checkout. */
export const CACHE = join(
  process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"),
  "generation-router",
  "cluster",
);

/** As slirp4netns gives it to a namespace. */
export const NODE_ADDRESS = "10.0.2.100";
export const API_PORT = 6443;
export const SERVICE_RANGE = "10.96.0.0/16";
export const API_SERVICE_ADDRESS = "10.96.0.1";
export const DNS_ADDRESS = "10.96.0.10";
export const POD_RANGE = "10.244.0.0/16";
export const CLUSTER_DOMAIN = "cluster.local";
export const NODE_NAME = "node";
/** skaffold takes a cluster for one that images are loaded into when its context begins with this. */
export const KIND_NAME = "router";
export const CONTEXT = `kind-${KIND_NAME}`;

/** The folders of one run; all gone with it. */
export interface Places {
  readonly state: string;
  readonly programs: string;
  readonly logs: string;
  readonly kubeconfig: string;
  readonly dockerSocket: string;
}

export function placesIn(state: string, programs: string): Places {
  return {
    state,
    programs,
    logs: join(state, "logs"),
    kubeconfig: join(state, "kubeconfig"),
    dockerSocket: "/run/docker.sock",
  };
}
