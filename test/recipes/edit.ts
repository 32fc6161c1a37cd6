// Edits of recipes: each changes the text of one file.

export interface Recipe {
  /** First cell of its row in CONTRIBUTING.md, "Places of changes". */
  readonly adds: string;
  readonly edits: readonly Edit[];
}

export interface Edit {
  readonly file: string;
  /** @param text of the file; empty for a new one */
  readonly change: (text: string) => string;
}

/** Inserts lines before the only place of an anchor. @throws Error if the anchor is not there once */
export function before(file: string, anchor: string, lines: string): Edit {
  const change = (text: string) => {
    if (text.split(anchor).length !== 2) throw new Error(`${file} does not have ${anchor} once`);
    return text.replace(anchor, () => lines + anchor);
  };
  return { file, change };
}

export function after(file: string, anchor: string, lines: string): Edit {
  const change = (text: string) =>
    before(file, anchor, "")
      .change(text)
      .replace(anchor, () => anchor + lines);
  return { file, change };
}
