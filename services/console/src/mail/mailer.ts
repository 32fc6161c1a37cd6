// The mailer sends plain text with one link. Without a mail server it prints the link on this process's terminal,
// but never where output is stored.
import type { Logger } from "@gr/runtime";
import { createTransport } from "nodemailer";
import type { ConsoleConfig } from "../config.ts";

export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** Purpose of the link. */
  readonly text: string;
  readonly link: string;
}

/** Mail to several people about an event. */
export interface Report extends Omit<Mail, "to"> {
  readonly to: readonly string[];
  /** UUID; a mail that is sent twice has one Message-ID. */
  readonly id: string;
}

export interface Mailer {
  /** False = mails are not sent. */
  readonly sends: boolean;
  /** Returns without waiting for the mail server, so that the duration does not reveal if a mail was sent. */
  send(mail: Mail): void;
  /** Resolves when the mail server has accepted the mail. Rejects without a mail server. */
  deliver(mail: Report): Promise<void>;
  close(): void;
}

/** Output that can show a link to a person without storing it. */
export interface Terminal {
  readonly isTerminal: boolean;
  print(text: string): void;
}

export function createMailer(
  { CONSOLE_SMTP_URL: url, CONSOLE_MAIL_FROM: from }: ConsoleConfig,
  { log, terminal }: { readonly log: Logger; readonly terminal: Terminal },
): Mailer {
  if (url === undefined)
    return {
      sends: false,
      send: (mail) => show(mail, terminal, log),
      deliver: () => Promise.reject(new Error("there is no mail server: CONSOLE_SMTP_URL is not set")),
      close: () => undefined,
    };
  const transport = createTransport(url);
  return {
    sends: true,
    send: ({ to, subject, text, link }) => {
      transport
        .sendMail({ from, to, subject, text: `${text}\n\n${link}\n` })
        .catch((err: unknown) => log.error({ err }, "a mail could not be sent"));
    },
    deliver: async ({ to, subject, text, link, id }) => {
      const messageId = `<${id}@generation-router>`;
      await transport.sendMail({ from, to: [...to], subject, text: `${text}\n\n${link}\n`, messageId });
    },
    close: () => transport.close(),
  };
}

function show({ to, subject, link }: Mail, terminal: Terminal, log: Logger): void {
  if (terminal.isTerminal) terminal.print(`\n  ${subject} (${to}):\n  ${link}\n\n`);
  else log.warn("a link was asked for, and there is no mail server: CONSOLE_SMTP_URL is not set");
}
