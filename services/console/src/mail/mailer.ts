// Mails of the console: plain text with one link. Without a mail server the link is shown to whoever looks at the terminal
// of this process, and to nobody where output is kept.
import type { Logger } from "@gr/runtime";
import { createTransport } from "nodemailer";
import type { ConsoleConfig } from "../config.ts";

export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** What the link is for. */
  readonly text: string;
  readonly link: string;
}

export interface Mailer {
  /** False = nobody gets a mail. */
  readonly sends: boolean;
  /** Does not wait for the mail server, so that nobody learns from the time whether a mail was sent. */
  send(mail: Mail): void;
  close(): void;
}

/** Where a link can be shown to a person and is not kept. */
export interface Terminal {
  readonly isTerminal: boolean;
  print(text: string): void;
}

export function createMailer(
  { CONSOLE_SMTP_URL: url, CONSOLE_MAIL_FROM: from }: ConsoleConfig,
  { log, terminal }: { readonly log: Logger; readonly terminal: Terminal },
): Mailer {
  if (url === undefined)
    return { sends: false, send: (mail) => show(mail, terminal, log), close: () => undefined };
  const transport = createTransport(url);
  return {
    sends: true,
    send: ({ to, subject, text, link }) => {
      transport
        .sendMail({ from, to, subject, text: `${text}\n\n${link}\n` })
        .catch((err: unknown) => log.error({ err }, "a mail could not be sent"));
    },
    close: () => transport.close(),
  };
}

function show({ to, subject, link }: Mail, terminal: Terminal, log: Logger): void {
  if (terminal.isTerminal) terminal.print(`\n  ${subject} (${to}):\n  ${link}\n\n`);
  else log.warn("a link was asked for, and there is no mail server: CONSOLE_SMTP_URL is not set");
}
