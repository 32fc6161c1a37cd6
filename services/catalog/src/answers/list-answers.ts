// ListAnswers caches the bytes of lists and single models until the catalogue changes. A repeated query costs one
// look-up. The number of cached answers is limited, so that invented queries cannot fill the memory.
import { createHash } from "node:crypto";
import { type AllowLists, allowsModel } from "@gr/identity";
import { ModelIds } from "@gr/models";
import type { Model } from "@gr/proto/catalog";
import { LRUCache } from "lru-cache";
import type { LiveCatalog } from "../offer/live-catalog.ts";
import type { Snapshot } from "../offer/snapshot.ts";
import { type ListedModel, listedModel, type ModelQuery, type Scope, select } from "./model-query.ts";
import { recordOf } from "./model-record.ts";

export interface Answer {
  readonly body: Buffer;
  /** Hash of the body. */
  readonly etag: string;
}

export interface ListAnswers {
  /** @param allowed lists of the client's key; undefined = all models */
  list(query: ModelQuery, scope: Scope, allowed?: AllowLists): Answer;
  /** Finds a model by its whole id. @returns undefined if there is no such model */
  find(id: string): Answer | undefined;
  /** Finds a model as generations do, by its id or its bare name. @throws ServiceError model_not_found */
  require(name: string): Answer;
}

const MOST_KEPT = 500;
const MOST_BYTES_KEPT = 32 * 1024 * 1024;

interface ReadyModel extends ListedModel {
  readonly routes: Model["routes"];
  readonly json: string;
}

interface Ready {
  readonly snapshot: Snapshot;
  readonly models: readonly ReadyModel[];
  readonly ids: ModelIds<ReadyModel>;
}

export function createListAnswers(live: Pick<LiveCatalog, "current">): ListAnswers {
  const kept = new LRUCache<string, Answer>({
    max: MOST_KEPT,
    maxSize: MOST_BYTES_KEPT,
    sizeCalculation: ({ body }, key) => body.length + key.length,
  });
  let ready: Ready | undefined;

  function current(): Ready {
    const snapshot = live.current();
    if (ready?.snapshot === snapshot) return ready;
    kept.clear();
    const models = snapshot.catalog.models.map((model) => ({
      ...listedModel(model),
      routes: model.routes,
      json: JSON.stringify(recordOf(model)),
    }));
    ready = { snapshot, models, ids: new ModelIds(models.map((model) => [model.id, model])) };
    return ready;
  }

  function keep(key: string, create: () => string): Answer {
    const known = kept.get(key);
    if (known !== undefined) return known;
    const answer = answerOf(create());
    kept.set(key, answer);
    return answer;
  }

  const answerOfModel = ({ id, json }: ReadyModel) => keep(`model ${id}`, () => json);

  return {
    list: (query, scope, allowed) => {
      const { models } = current();
      const { type, provider, free, name, sort, limit } = query;
      const key = JSON.stringify([scope, type, provider, free, name, sort, limit, allowed]);
      return keep(key, () => {
        const usable = allowed === undefined ? models : models.filter((model) => allowsModel(allowed, model));
        const data = select(usable, query, scope).map(({ json }) => json);
        return `{"object":"list","data":[${data.join(",")}]}`;
      });
    },
    find: (id) => {
      const model = current().ids.find(id);
      return model?.id === id ? answerOfModel(model) : undefined;
    },
    require: (name) => answerOfModel(current().ids.require(name)),
  };
}

function answerOf(json: string): Answer {
  const body = Buffer.from(json);
  const hash = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  return { body, etag: `"${hash}"` };
}
