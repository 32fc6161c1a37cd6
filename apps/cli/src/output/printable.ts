// printable protects the terminal: names from customers must not move the operator's cursor or change colours.

/** Control characters, line separators and marks that turn the direction of text become U+FFFD. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, "\ufffd");
}
