// Drafts own the inputs of each tab of the playground. A change of the model, another page and a reload keep them. Only
// pictures of the client are not stored, so a reload removes these.
import { filled, type KeptPlace, useKept } from "../../kept-state.ts";
import type { Stroke } from "../../parts/media/mask-strokes.ts";
import { useAccount, useSession } from "../../session.ts";

export const MEDIA_TABS = ["image", "edit", "video"] as const;
export type MediaTabName = (typeof MEDIA_TABS)[number];
export const TABS = [...MEDIA_TABS, "text", "compare"] as const;
export type TabName = (typeof TABS)[number];

/** Value of a choice that is not sent: the model decides. */
export const AUTO = "auto";

export interface MediaDraft {
  readonly model: string | null;
  readonly prompt: string;
  readonly size: string;
  readonly quality: string;
  readonly seconds: string;
  readonly n: number;
  readonly audio: boolean;
  readonly format: string;
  /** Id of the request in the result. */
  readonly shown: string | null;
}

export const EMPTY_MEDIA: MediaDraft = {
  ...{ model: null, prompt: "", size: AUTO, quality: AUTO, seconds: AUTO, n: 1, audio: false },
  ...{ format: AUTO, shown: null },
};

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

export interface Message {
  readonly id: number;
  readonly role: "user" | "assistant" | "tool";
  readonly content: string;
  readonly toolCalls?: readonly ToolCall[];
  /** Of a result: the call that it answers. */
  readonly toolCallId?: string;
  /** Of an answer: name of its model. */
  readonly model?: string;
  readonly requestId?: string;
  /** Of an answer: USD with four decimals; absent until the end. */
  readonly charged?: string;
  readonly tokensIn?: number;
  readonly tokensOut?: number;
  readonly firstMs?: number;
  readonly tookMs?: number;
  /** The answer did not arrive to its end. */
  readonly isCut?: boolean;
}

export interface TextDraft {
  readonly model: string | null;
  readonly system: string;
  readonly text: string;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly maxTokens: number | null;
  readonly effort: string;
  readonly isJson: boolean;
  /** A JSON array of functions, as OpenAI's API has them. */
  readonly tools: string;
  readonly messages: readonly Message[];
}

export const EMPTY_TEXT: TextDraft = {
  ...{ model: null, system: "", text: "", temperature: null, topP: null, maxTokens: null },
  ...{ effort: AUTO, isJson: false, tools: "", messages: [] },
};

export const COMPARED_LEAST = 2;
export const COMPARED_MOST = 4;

export interface CompareDraft {
  readonly kind: string;
  readonly prompt: string;
  readonly size: string;
  readonly images: readonly string[];
  readonly texts: readonly string[];
}

const EMPTY_COMPARE: CompareDraft = { kind: "image", prompt: "", size: AUTO, images: [], texts: [] };

const isText = (value: unknown): value is string => typeof value === "string";

/** Returns the messages with fields of the right types. */
export function messagesOf(stored: readonly unknown[]): Message[] {
  return stored.filter((each): each is Message => {
    const { id, role, content } = (each ?? {}) as Partial<Message>;
    return typeof id === "number" && isText(role) && isText(content);
  });
}

/** Returns the message without an answer to the box, after a reload during its answer. */
export function parseText(stored: unknown): TextDraft {
  const draft = filled(EMPTY_TEXT, stored);
  const messages = messagesOf(draft.messages);
  const answered = messages.findLastIndex(({ role }) => role === "assistant") + 1;
  const unanswered = messages.slice(answered).findLast(({ role }) => role === "user")?.content ?? "";
  return { ...draft, messages: messages.slice(0, answered), text: draft.text || unanswered };
}

function parseCompare(stored: unknown): CompareDraft {
  const draft = filled(EMPTY_COMPARE, stored);
  return { ...draft, images: draft.images.filter(isText), texts: draft.texts.filter(isText) };
}

/** Begin of the keys of a person's places in an account. */
export function useKeptScope(): string {
  const { account_id } = useAccount();
  const { person } = useSession();
  return `${person?.id ?? ""}.${account_id}.playground`;
}

export const mediaPlace = (scope: string, tab: MediaTabName): KeptPlace<MediaDraft> => ({
  key: `${scope}.${tab}`,
  initial: EMPTY_MEDIA,
  parse: (stored) => filled(EMPTY_MEDIA, stored),
});
export const textPlace = (scope: string): KeptPlace<TextDraft> => ({
  key: `${scope}.text`,
  initial: EMPTY_TEXT,
  parse: parseText,
});
export const comparePlace = (scope: string): KeptPlace<CompareDraft> => ({
  key: `${scope}.compare`,
  initial: EMPTY_COMPARE,
  parse: parseCompare,
});

/** Pictures of the client, and the mask of the first one: its strokes, and the file of these strokes. */
export interface Pictures {
  readonly files: readonly File[];
  readonly strokes: readonly Stroke[];
  readonly mask: Blob | undefined;
}
export const NO_PICTURES: Pictures = { files: [], strokes: [], mask: undefined };
export const picturesPlace = (scope: string, tab: MediaTabName): KeptPlace<Pictures> => ({
  key: `${scope}.${tab}.pictures`,
  initial: NO_PICTURES,
});

/** @returns the place's value, and a function that changes some of its fields */
export function useFields<Value extends object>(
  place: KeptPlace<Value>,
): [Value, (fields: Partial<Value>) => void] {
  const [value, change] = useKept(place);
  return [value, (fields) => change((before) => ({ ...before, ...fields }))];
}
