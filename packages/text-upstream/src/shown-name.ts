// Names as they are shown.

/** Control characters, line separators, and marks that turn the direction of the text around them. */
const UNSHOWN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

export function withoutUnshown(name: string): string {
  return name.replaceAll(UNSHOWN, "");
}
