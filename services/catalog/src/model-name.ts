// What a model may be called: ids that are one way through a path, names that show as they are.
import { z } from "zod";

export const MODEL_ID =
  /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[A-Za-z0-9~@][A-Za-z0-9._:@+~-]*(\/[A-Za-z0-9._:@+~-]+)*$/;
export const MOST_ID_CHARACTERS = 200;
export const MOST_NAME_CHARACTERS = 200;

/** Control characters, line separators, and marks that turn the direction of the text around them. */
const UNSHOWN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

export const modelName = z
  .string()
  .min(1)
  .max(MOST_NAME_CHARACTERS)
  .refine((name) => withoutUnshown(name) === name, {
    error: "must have no control characters and no marks that turn the direction of text",
  });

export function withoutUnshown(name: string): string {
  return name.replaceAll(UNSHOWN, "");
}
