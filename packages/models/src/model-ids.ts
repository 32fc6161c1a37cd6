// ModelIds finds models by the name that a client sends: an id, or its bare name, the part after the last slash.
// A bare name finds a model only if exactly one id ends in it. A new model never silently changes the meaning of one.
// The name becomes ambiguous instead, and the refusal lists the ids.
import { ServiceError } from "@gr/proto";

const MOST_LISTED = 3;
const MOST_ECHOED = 200;

export class ModelIds<T> {
  readonly #byId: ReadonlyMap<string, T>;
  readonly #byBareName = new Map<string, string[]>();

  constructor(entries: Iterable<readonly [id: string, model: T]>) {
    this.#byId = new Map(entries);
    for (const id of this.#byId.keys()) {
      const name = id.slice(id.lastIndexOf("/") + 1);
      if (name === id) continue;
      const ids = this.#byBareName.get(name);
      if (ids === undefined) this.#byBareName.set(name, [id]);
      else ids.push(id);
    }
  }

  values(): Iterable<T> {
    return this.#byId.values();
  }

  /** @returns undefined if no model has the name, or several have it */
  find(name: string): T | undefined {
    const exact = this.#byId.get(name);
    if (exact !== undefined) return exact;
    const ids = this.#idsEndingIn(name);
    return ids.length === 1 ? this.#byId.get(ids[0] ?? "") : undefined;
  }

  /** @throws ServiceError model_not_found; for an ambiguous name, the message lists up to three ids */
  require(name: string): T {
    const model = this.find(name);
    if (model !== undefined) return model;
    const echoed = [...name.slice(0, 2 * MOST_ECHOED)].slice(0, MOST_ECHOED).join("").toWellFormed();
    const ids = this.#idsEndingIn(name);
    const listed = ids.slice(0, MOST_LISTED).map((id) => `"${id}"`);
    const more = ids.length > MOST_LISTED ? `, and ${ids.length - MOST_LISTED} more` : "";
    const message =
      ids.length === 0
        ? `The model "${echoed}" does not exist.`
        : `Several models are named "${echoed}": ${listed.join(", ")}${more}. Use the whole id.`;
    throw new ServiceError("model_not_found", message, { param: "model" });
  }

  #idsEndingIn(name: string): readonly string[] {
    return this.#byBareName.get(name) ?? [];
  }
}
