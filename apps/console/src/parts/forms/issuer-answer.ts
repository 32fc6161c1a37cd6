// The issuer's answer is in the query of the address after the browser's return. It is removed at once, before the
// router reads it: no history has it, and it is sent unchanged.

/** The page that issuers send people back to. */
const RETURN_PAGE = "/sign-in/oidc";
const BACK_MEMORY = "generation-router.back";

let answer = readAnswer();

/** Returns the answer, once. Undefined without an issuer's answer. */
export function issuerAnswer(): string | undefined {
  const current = answer;
  answer = undefined;
  return current;
}

/** Stores the page that opens after the sign-in at the issuer. */
export function rememberBack(back: string | undefined): void {
  if (back === undefined) sessionStorage.removeItem(BACK_MEMORY);
  else sessionStorage.setItem(BACK_MEMORY, back);
}

export function rememberedBack(): string | undefined {
  return sessionStorage.getItem(BACK_MEMORY) ?? undefined;
}

function readAnswer(): string | undefined {
  const { pathname, search } = window.location;
  if (pathname !== RETURN_PAGE || search === "") return undefined;
  window.history.replaceState(window.history.state, "", RETURN_PAGE);
  return search.slice(1);
}
