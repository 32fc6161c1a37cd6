// SavedTextService: messages to entries and back, with the rules of their fields.
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type SavedText as SavedTextMessage,
  type SavedTextSchema,
  SavedTextService,
} from "@gr/proto/saved-texts";
import { implement, type RpcService } from "@gr/runtime";
import { bytes, instant, invalid, uuid } from "../rpc/field-rules.ts";
import { reaching } from "../writer/ledger-error.ts";
import type { SavedText, SavedTextFilter, SavedTextStore } from "./saved-text-store.ts";

const MOST_TEXTS = 500;
const MOST_BYTES = 1024 * 1024;

/** @param mostBytes of all entries of one account. @param left receives the number of entries that an account had no room for */
export function savedTextRpc(
  store: SavedTextStore,
  mostBytes: bigint,
  left: (entries: number) => void,
): RpcService {
  return implement(SavedTextService, {
    async saveTexts({ texts }) {
      if (texts.length > MOST_TEXTS) throw invalid("texts", `At most ${MOST_TEXTS} entries fit in one call`);
      const read = texts.map((text, index) => readText(text, `texts[${index}]`));
      const refused = read.length === 0 ? 0 : await reaching(store.save(read));
      if (refused > 0) left(refused);
      return { refused };
    },
    async findSavedText(request) {
      const filter = { ...filterOf(request), id: uuid("request_id", request.requestId) };
      const text = await reaching(store.find(filter));
      if (text === undefined) return {};
      const { days } = await reaching(store.useOf(filter.accountId));
      return { text: messageOf(text), days };
    },
    async deleteSavedTexts(request) {
      return { deleted: await reaching(store.remove(filterOf(request))) };
    },
    async getSavedTextUse({ accountId }) {
      return { ...(await reaching(store.useOf(uuid("account_id", accountId)))), mostBytes };
    },
  });
}

function filterOf(request: {
  readonly accountId: string;
  readonly spenderId: string;
  readonly requestId: string;
}): SavedTextFilter {
  const { accountId, spenderId, requestId } = request;
  return {
    accountId: uuid("account_id", accountId),
    ...(spenderId !== "" && { spenderId: uuid("spender_id", spenderId) }),
    ...(requestId !== "" && { id: uuid("request_id", requestId) }),
  };
}

function readText(text: SavedTextMessage, at: string): SavedText {
  const part = (field: "prompt" | "answer") =>
    text[field] && bytes(`${at}.${field}`, text[field], MOST_BYTES);
  return {
    id: uuid(`${at}.request_id`, text.requestId),
    accountId: uuid(`${at}.account_id`, text.accountId),
    spenderId: uuid(`${at}.spender_id`, text.spenderId),
    beganAt: new Date(Number(instant(`${at}.began_at`, text.beganAt))),
    prompt: part("prompt"),
    answer: part("answer"),
    promptBytes: text.promptBytes,
    answerBytes: text.answerBytes,
  };
}

function messageOf(text: SavedText): MessageInitShape<typeof SavedTextSchema> {
  const { id, accountId, spenderId, beganAt, prompt, answer, promptBytes, answerBytes } = text;
  return {
    ...{ requestId: id, accountId, spenderId, promptBytes, answerBytes },
    beganAt: BigInt(beganAt.getTime()),
    ...(prompt && { prompt: new Uint8Array(prompt) }),
    ...(answer && { answer: new Uint8Array(answer) }),
  };
}
