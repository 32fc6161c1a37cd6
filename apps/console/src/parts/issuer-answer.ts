// What an issuer has sent the browser back with. It stands in the query of the address, and is taken out at once, before
// the router reads it: it is in no history, and is sent on as it came.

/** The page that issuers send people back to. */
const RETURN_PAGE = "/sign-in/oidc";
const BACK_MEMORY = "generation-router.back";

let answer = takeAnswer();

/** Once. Undefined when no issuer has sent anybody. */
export function issuerAnswer(): string | undefined {
  const taken = answer;
  answer = undefined;
  return taken;
}

/** Where the person wanted to go, over the way to the issuer and back. */
export function rememberBack(back: string | undefined): void {
  if (back === undefined) sessionStorage.removeItem(BACK_MEMORY);
  else sessionStorage.setItem(BACK_MEMORY, back);
}

export function rememberedBack(): string | undefined {
  return sessionStorage.getItem(BACK_MEMORY) ?? undefined;
}

function takeAnswer(): string | undefined {
  const { pathname, search } = window.location;
  if (pathname !== RETURN_PAGE || search === "") return undefined;
  window.history.replaceState(window.history.state, "", RETURN_PAGE);
  return search.slice(1);
}
