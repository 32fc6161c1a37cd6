// This file deploys the router into the cluster with the profile `ci` of skaffold. It builds the images, loads them into
// the node, applies the overlay, waits until all pods are ready, and runs the Job that verifies the router.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { type Command, run } from "./commands.ts";
import { dockerEnvironment, makeStandIns, NODE_BUILD_IMAGE, NODE_RUN_IMAGE } from "./images.ts";
import { type Places, ROOT } from "./layout.ts";

export const NAMESPACE = "generation-router-ci";
/** Base images of the Dockerfile, the only difference from skaffold.yaml: no registry can deliver the usual ones. */
const BASES = { NODE_BUILD: NODE_BUILD_IMAGE, NODE_RUN: NODE_RUN_IMAGE };

interface Config {
  readonly build: {
    readonly artifacts: readonly { readonly docker: { buildArgs?: Record<string, string> } }[];
  };
}

const foldersOf = (places: Places) => {
  const folder = join(places.state, "skaffold");
  return { folder, config: join(folder, "skaffold.yaml"), built: join(folder, "built.json") };
};

/** Runs a command of skaffold. @returns its output */
async function skaffold(places: Places, command: string, ...words: string[]): Promise<string> {
  const { folder, config } = foldersOf(places);
  const path = `${join(places.state, "bin")}:${places.programs}:${process.env["PATH"]}`;
  const env = {
    ...dockerEnvironment(places),
    PATH: path,
    // skaffold uses the cluster of the current context, and stores its own files in the home folder of its caller.
    KUBECONFIG: places.kubeconfig,
    HOME: folder,
  };
  const flags = ["--profile=ci", `--filename=${config}`, "--interactive=false", "--update-check=false"];
  const line: Command = [join(places.programs, "skaffold"), command, ...flags, ...words];
  return run(line, { env, cwd: ROOT });
}

export async function buildImages(places: Places): Promise<void> {
  const { folder, config, built } = foldersOf(places);
  await mkdir(folder, { recursive: true });
  await makeStandIns(places);
  const given = parse(await readFile(join(ROOT, "skaffold.yaml"), "utf8")) as Config;
  for (const { docker } of given.build.artifacts) docker.buildArgs = { ...docker.buildArgs, ...BASES };
  await writeFile(config, stringify(given));
  await skaffold(places, "build", `--file-output=${built}`);
}

/** Loads the images, applies the overlay and waits until all pods are ready. */
export async function deployRouter(places: Places): Promise<void> {
  await skaffold(places, "deploy", `--build-artifacts=${foldersOf(places).built}`, "--load-images");
}

/** @returns the output of the verifying Job @throws Error if the Job fails */
export async function runVerification(places: Places): Promise<string> {
  return skaffold(places, "verify", `--build-artifacts=${foldersOf(places).built}`);
}
