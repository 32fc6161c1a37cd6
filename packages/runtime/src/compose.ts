// compose sorts the modules of a process so that each follows the modules that it needs. Pure.
import type { Module } from "./module.ts";
import { OperatorError } from "./process/operator-error.ts";

/** @throws OperatorError on a name that occurs twice and on a cycle. */
export function inStartOrder(modules: readonly Module[]): Module[] {
  const byName = new Map<string, Module>();
  for (const module of modules) {
    if (byName.has(module.name)) throw new OperatorError(`Module ${module.name} is in this process twice.`);
    byName.set(module.name, module);
  }
  const ordered: Module[] = [];
  const done = new Set<string>();
  const visit = (module: Module, path: readonly string[]): void => {
    if (done.has(module.name)) return;
    if (path.includes(module.name)) {
      throw new OperatorError(`Modules need each other in a circle: ${[...path, module.name].join(" → ")}.`);
    }
    for (const need of module.needs) {
      const local = byName.get(need);
      if (local !== undefined) visit(local, [...path, module.name]);
    }
    done.add(module.name);
    ordered.push(module);
  };
  for (const module of modules) visit(module, []);
  return ordered;
}

/** Names that the modules need but this process does not have: to be reached over the network. */
export function remoteNeeds(modules: readonly Module[]): string[] {
  const local = new Set(modules.map(({ name }) => name));
  return [...new Set(modules.flatMap(({ needs }) => needs))].filter((name) => !local.has(name)).sort();
}
