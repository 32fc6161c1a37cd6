// This file runs a program in namespaces of its own. Its processes, mounts, network and firewall end with the namespaces, so
// nothing of the cluster stays on the machine.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, readdir, readFile, readlink, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run, until } from "./commands.ts";

const SECONDS = 120;
/** Settings of the whole machine that a kubelet changes as its own; they are restored after the run. */
const MACHINE_SETTINGS = [
  "vm/overcommit_memory",
  "vm/panic_on_oom",
  "kernel/panic",
  "kernel/panic_on_oops",
  "kernel/keys/root_maxkeys",
  "kernel/keys/root_maxbytes",
];
/** Folders that programs without a setting for another place write to. Inside, each is an overlay of its own. */
const WRITTEN = ["/var", "/etc", "/opt"];

/**
 * Runs a program as root in new namespaces, like a machine within the machine. slirp4netns connects them with the network.
 * @returns the exit code of the program, once its processes and control groups have ended
 */
export async function runInNamespaces(words: readonly string[]): Promise<number> {
  const settings = await Promise.all(
    MACHINE_SETTINGS.map(async (name) => [`/proc/sys/${name}`, await readFile(`/proc/sys/${name}`)] as const),
  );
  // The first process adopts the orphans of all others.
  const first = ["bash", "-c", '"$@" & wait $!', "first"];
  const kinds = [
    "--mount",
    "--pid",
    "--net",
    "--uts",
    "--ipc",
    "--fork",
    "--mount-proc",
    "--kill-child=SIGKILL",
  ];
  const inside = spawn("unshare", [...kinds, "--", ...first, ...words], { stdio: "inherit" });
  const ended = new Promise<number>((resolve, reject) => {
    inside.once("error", reject);
    inside.once("exit", (code) => resolve(code ?? 1));
  });
  const stop = () => inside.kill("SIGKILL");
  process.on("SIGTERM", stop);
  // A terminal sends SIGINT also to the processes inside, so this process only waits for their end.
  const heed = () => undefined;
  process.on("SIGINT", heed);
  let outlet: ChildProcess | undefined;
  try {
    outlet = await Promise.race([openOutlet(inside), ended.then(() => undefined)]);
    return await ended;
  } finally {
    inside.kill("SIGKILL");
    outlet?.kill("SIGTERM");
    process.off("SIGTERM", stop);
    process.off("SIGINT", heed);
    for (const [path, value] of settings) await writeFile(path, value);
    await removeControlGroups();
  }
}

async function openOutlet(inside: ChildProcess): Promise<ChildProcess> {
  const own = await readlink("/proc/self/ns/net");
  const path = `/proc/${inside.pid}/ns/net`;
  await until("the namespace of the network", SECONDS, async () => {
    if ((await readlink(path)) === own) throw new Error("the process is still in the network of the machine");
  });
  const words = ["--configure", "--mtu=1500", "--netns-type=path", path, "tap0"];
  return spawn("slirp4netns", words, { stdio: ["ignore", "ignore", "ignore"] });
}

/** Prepares the namespaces from inside: changes of files end with the run, and the network reaches the outside. */
export async function settleIn(state: string): Promise<void> {
  await run(["mount", "--make-rshared", "/"]);
  for (const path of WRITTEN) {
    const [upper, work] = [join(state, "written", path), join(state, "work", path)];
    await mkdir(upper, { recursive: true });
    await mkdir(work, { recursive: true });
    const options = `lowerdir=${path},upperdir=${upper},workdir=${work}`;
    await run(["mount", "-t", "overlay", "overlay", "-o", options, path]);
  }
  await run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"]);
  await mkdir("/run/lock");
  await run(["ip", "link", "set", "lo", "up"]);
  await until("the route to the outside", SECONDS, () => run(["ip", "-4", "route", "get", "10.0.2.2"]));
  await writeFile("/proc/sys/net/ipv4/ip_forward", "1");
  await run(["hostname", "node"]);
}

const CONTROL_GROUPS = "/sys/fs/cgroup";
/** Control groups that the cluster and its Docker daemon create under each controller. */
const OURS = ["generation-router-cluster", "docker"];

async function removeControlGroups(): Promise<void> {
  for (const controller of await readdir(CONTROL_GROUPS)) {
    for (const name of OURS) await removeGroup(join(CONTROL_GROUPS, controller, name));
  }
}

async function removeGroup(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeGroup(join(path, entry.name));
  // A killed process stays in its control group until the kernel has removed the process.
  await until(`the removal of ${path}`, SECONDS, () =>
    rmdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    }),
  );
}
