// This file owns the folders and the addresses of a cluster for one run.
import { homedir } from "node:os";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "..", "..");

/** Folder of the results that are built once: programs, and the layers of images. It is outside of the checkout. */
export const CACHE = join(
  process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"),
  "generation-router",
  "cluster",
);

/** Address that slirp4netns assigns to a namespace. */
export const NODE_ADDRESS = "10.0.2.100";
export const API_PORT = 6443;
export const SERVICE_RANGE = "10.96.0.0/16";
export const API_SERVICE_ADDRESS = "10.96.0.1";
export const DNS_ADDRESS = "10.96.0.10";
export const POD_RANGE = "10.244.0.0/16";
export const CLUSTER_DOMAIN = "cluster.local";
export const NODE_NAME = "node";
/** Name of the cluster for kind. skaffold loads images into each cluster with a context that begins with `kind-`. */
export const KIND_NAME = "router";
export const CONTEXT = `kind-${KIND_NAME}`;

/** Folders and files of one run, which are deleted at its end. */
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
