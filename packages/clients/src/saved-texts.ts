// SavedTexts writes prompts and answers for keys that save them, after the answer. An entry that cannot be written is lost; no
// request waits for it or fails. It also reads them, as records of the API.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FindSavedTextResponse, SavedTextSchema, SavedTextService } from "@gr/proto/saved-texts";
import type { SavedTextRecord } from "@gr/request-record";
import type { ServiceClient, Timer } from "@gr/runtime";
import { createWriteQueue } from "./write-queue.ts";

/** A finished request of a key that saves texts. */
export interface SavedTextInput {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  /** Unix milliseconds. */
  readonly beganAt: number;
  /** JSON. */
  readonly prompt: Uint8Array;
  /** JSON; undefined without an answer, or if it is too long. */
  readonly answer: Uint8Array | undefined;
  /** Bytes of the answer, also of one that is too long; 0 = none. */
  readonly answerBytes: number;
}

export interface SavedTexts {
  /** Never throws and never waits. */
  add(text: SavedTextInput): void;
  start(): void;
  /** Writes the remaining entries. */
  stop(): Promise<void>;
}

/** Bytes of a prompt, and of an answer, that are saved. */
export const MOST_SAVED_BYTES = 1024 * 1024;
/** Bytes of one call, far below the limit of a message. */
const MOST_AT_ONCE = 4 * MOST_SAVED_BYTES;
/** Bytes that wait; beyond it the newest entry is lost. */
const MOST_WAITING = 32 * MOST_SAVED_BYTES;
/** Bytes of an entry beside its texts. */
const ENTRY_BYTES = 256;
const DAY_MS = 86_400_000;

type Entry = MessageInitShape<typeof SavedTextSchema>;

/** @param lost receives the number of entries that will never be written */
export function createSavedTexts(
  client: Pick<ServiceClient<typeof SavedTextService>, "saveTexts">,
  lost: (entries: number, why: unknown) => void,
  clock: Timer,
): SavedTexts {
  const queue = createWriteQueue<Entry>({
    ...{ lost, clock, mostAtOnce: MOST_AT_ONCE, mostWaiting: MOST_WAITING },
    write: (texts) => client.saveTexts({ texts: [...texts] }),
    weightOf: ({ prompt, answer }) => ENTRY_BYTES + (prompt?.length ?? 0) + (answer?.length ?? 0),
  });
  return {
    ...queue,
    add: ({ id, accountId, keyId, beganAt, prompt, answer, answerBytes }) =>
      queue.add({
        ...{ requestId: id, accountId, spenderId: keyId, beganAt: BigInt(beganAt) },
        ...{ promptBytes: BigInt(prompt.length), answerBytes: BigInt(answerBytes) },
        ...(prompt.length <= MOST_SAVED_BYTES && { prompt: plain(prompt) }),
        ...(answer !== undefined && answer.length <= MOST_SAVED_BYTES && { answer: plain(answer) }),
      }),
  };
}

/** Messages have no Buffers. */
function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

/**
 * Returns the SavedTextRecord of an entry as JSON; undefined without an entry. Prompt and answer are the saved bytes: parsing and
 * printing 2 MiB would block the event loop for up to a second.
 */
export function savedTextJson({ text, days }: FindSavedTextResponse): Buffer | undefined {
  if (text === undefined) return undefined;
  const beganAt = Number(text.beganAt);
  const record: Omit<SavedTextRecord, "prompt" | "answer"> = {
    id: text.requestId,
    object: "saved_text",
    created_at: new Date(beganAt).toISOString(),
    expires_at: new Date(beganAt + days * DAY_MS).toISOString(),
    prompt_bytes: Number(text.promptBytes),
    answer_bytes: Number(text.answerBytes),
  };
  const { prompt = NULL, answer = NULL } = text;
  const open = Buffer.from(`${JSON.stringify(record).slice(0, -1)},"prompt":`);
  return Buffer.concat([open, prompt, Buffer.from(',"answer":'), answer, Buffer.from("}")]);
}

const NULL = Buffer.from("null");
