// This file owns the programs of a cluster. It builds those from Go's module proxy once for each state of their modules, and
// requires the others from Debian.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { type Command, run } from "./commands.ts";
import { CACHE } from "./layout.ts";

interface Build {
  /** Folder of the Go module, beside this file. */
  readonly module: string;
  readonly pkg: string;
  /** Returns the linker's flags for values in the program. @param requirements text of go.mod */
  flags?(requirements: string): string;
}

const SKAFFOLD = "github.com/GoogleContainerTools/skaffold/v2";
const KUBE_ROUTER = "github.com/cloudnativelabs/kube-router/v2";
/** Programs that are built. Those with conflicting requirements have a module each. */
const BUILDS: Readonly<Record<string, Build>> = {
  kubernetes: { module: "programs", pkg: "./kubernetes", flags: versionOfKubernetes },
  etcd: { module: "programs", pkg: "./etcd" },
  coredns: { module: "programs", pkg: "./coredns" },
  pause: { module: "programs", pkg: "./pause" },
  "kube-router": { module: "kube-router", pkg: `${KUBE_ROUTER}/cmd/kube-router` },
  skaffold: { module: "skaffold", pkg: `${SKAFFOLD}/cmd/skaffold` },
};
/** Names of the one binary of Kubernetes, which runs as the program of the name that it is called by. */
const ALIASES = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kube-proxy",
  "kubelet",
  "kubectl",
];

/** Packages of Debian, by a program of each. */
const DEBIAN: Readonly<Record<string, string>> = {
  containerd: "containerd",
  runc: "runc",
  "/usr/lib/cni/ptp": "containernetworking-plugins",
  iptables: "iptables",
  ipset: "ipset",
  conntrack: "conntrack",
  slirp4netns: "slirp4netns",
  "/usr/sbin/dockerd": "docker.io",
  mmdebstrap: "mmdebstrap",
};

/** @throws Error with the command that installs the missing packages */
export async function requireDebian(): Promise<void> {
  const missing: string[] = [];
  for (const [program, name] of Object.entries(DEBIAN)) {
    await run(["sh", "-c", `command -v ${program}`]).catch(() => missing.push(name));
  }
  if (missing.length > 0)
    throw new Error(
      `some packages are missing: apt-get install --no-install-recommends ${missing.join(" ")}`,
    );
}

/** Builds the programs that are not in the cache, and links all programs into the folder `into`. */
export async function linkPrograms(
  into: string,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(into, { recursive: true });
  for (const [name, build] of Object.entries(BUILDS)) {
    const file = await builtProgram(name, build, say, signal);
    const names = name === "kubernetes" ? ALIASES : [name];
    for (const one of names) await symlink(file, join(into, one));
  }
}

async function builtProgram(
  name: string,
  build: Build,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const source = join(import.meta.dirname, build.module);
  const folder = join(CACHE, "programs", `${build.module}-${await digestOf(source)}`);
  const file = join(folder, name);
  if (await exists(file)) return file;
  say(`building ${name}; only the first build of a version is slow`);
  await mkdir(folder, { recursive: true });
  const flags = `-s -w ${build.flags?.(await readFile(join(source, "go.mod"), "utf8")) ?? ""}`;
  // Other work of the machine has priority.
  const go: Command = ["nice", "-n", "19", "go", "build", "-trimpath", "-ldflags", flags];
  await run([...go, "-o", `${file}.new`, build.pkg], {
    cwd: source,
    env: { ...process.env, CGO_ENABLED: "0" },
    signal,
  });
  await rename(`${file}.new`, file);
  return file;
}

const KUBERNETES = /k8s\.io\/kubernetes v((\d+)\.(\d+)\.\d+)/;

export async function kubernetesVersion(): Promise<string> {
  const requirements = await readFile(join(import.meta.dirname, "programs", "go.mod"), "utf8");
  return KUBERNETES.exec(requirements)?.[1] ?? "unknown";
}

/** Returns flags that set the version, as Kubernetes' own build does. A server without a version refuses requests. */
function versionOfKubernetes(requirements: string): string {
  const [, version, major, minor] = KUBERNETES.exec(requirements) ?? [];
  const at = "k8s.io/component-base/version.git";
  return `-X ${at}Version=v${version} -X ${at}Major=${major} -X ${at}Minor=${minor}`;
}

async function digestOf(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.toSorted()) hash.update(file.slice(folder.length)).update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );
