// Lookalikes are fields that differ only in case from a field that we read. Some servers ignore case in names: they
// would read another value than the one that was checked and held for. A body with a lookalike is refused.
import { ServiceError } from "@gr/proto";
import type { JsonObject } from "../json/json-object.ts";

/** A name without capitals and without cased letters beyond ASCII looks like no other name. */
const PLAIN_NAME = /^[a-z0-9_]*$/;

/** The names that are read in an object; all are in lower case. */
export class ReadNames {
  readonly #names: ReadonlySet<string>;

  constructor(...names: readonly string[]) {
    this.#names = new Set(names);
  }

  /** @param path of the object, as in messages[0]; empty for the body. @throws ServiceError invalid_json */
  refuseLookalikes(object: JsonObject, path: string): void {
    for (const name of Object.keys(object)) {
      if (PLAIN_NAME.test(name)) continue;
      const read = foldCase(name);
      if (!this.#names.has(read)) continue;
      const param = path === "" ? name : `${path}.${name}`;
      throw new ServiceError("invalid_json", `The field "${param}" can be mistaken for "${read}".`, {
        param,
      });
    }
  }
}

/** Folds like servers that support more than ASCII: the long s becomes an s, the Kelvin sign a k. */
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}
