// The token of a mailed link stands behind `#`, where no server log sees it. It is taken out of the address at once, so that
// it is not in the history, either.
import { useEffect, useState } from "react";

/** Also of a link that is opened while the page is. */
export function useLinkToken(): string | undefined {
  const [token, setToken] = useState(takeLinkToken);
  useEffect(() => {
    const take = () => setToken((before) => takeLinkToken() ?? before);
    window.addEventListener("hashchange", take);
    return () => window.removeEventListener("hashchange", take);
  }, []);
  return token;
}

function takeLinkToken(): string | undefined {
  const token = new URLSearchParams(window.location.hash.slice(1)).get("token");
  if (token === null || token === "") return undefined;
  window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);
  return token;
}
