// Links to pages of the web application. The token is in the fragment, which no browser sends: no log has it.
export interface Links {
  verifyEmail(token: string): string;
  resetPassword(token: string): string;
  signIn(token: string): string;
  invitation(token: string): string;
  /** Page of an account's alerts. */
  alerts(accountId: string): string;
}

/** @param origin of the console */
export function linksTo(origin: string): Links {
  const link = (page: string) => (token: string) => `${origin}/${page}#token=${encodeURIComponent(token)}`;
  return {
    verifyEmail: link("verify-email"),
    resetPassword: link("reset-password"),
    signIn: link("sign-in"),
    invitation: link("invitation"),
    alerts: (accountId) => `${origin}/accounts/${accountId}/alerts`,
  };
}
