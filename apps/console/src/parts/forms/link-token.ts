// The token of a mailed link is behind `#`, where no server log sees it. The page removes it from the address after the first
// drawing, so that it is not in the history. Not during the drawing: React may discard that one, and the token with it.
import { useEffect, useState } from "react";

const INVITATION_MEMORY = "generation-router.invitation";

/** Also of a link that is opened while the page is. */
export function useLinkToken(): string | undefined {
  const [token, setToken] = useState(tokenInAddress);
  useEffect(() => {
    const read = () => {
      const found = tokenInAddress();
      if (found === undefined) return;
      setToken(found);
      const { pathname, search } = window.location;
      window.history.replaceState(window.history.state, "", pathname + search);
    };
    read();
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }, []);
  return token;
}

function tokenInAddress(): string | undefined {
  return new URLSearchParams(window.location.hash.slice(1)).get("token") || undefined;
}

/** Keeps the token of an invitation in this tab while its person signs in. */
export function rememberInvitation(token: string): void {
  sessionStorage.setItem(INVITATION_MEMORY, token);
}

export function rememberedInvitation(): string | undefined {
  return sessionStorage.getItem(INVITATION_MEMORY) ?? undefined;
}

export function forgetInvitation(): void {
  sessionStorage.removeItem(INVITATION_MEMORY);
}
