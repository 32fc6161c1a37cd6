// Mail server on loopback that keeps each mail until a test reads the link in it. It supports the SMTP of a client
// that sends one command at a time.
import { type AddressInfo, createServer, type Socket } from "node:net";

/** Returns the token behind `#` of a link of the console. */
export function tokenOf(link: string): string {
  return decodeURIComponent(new URL(link).hash.replace("#token=", ""));
}

export interface MailServer {
  readonly url: string;
  /** Link in the newest mail to this address that arrived after the earlier calls. */
  linkTo(address: string): Promise<string>;
  close(): Promise<void>;
}

export async function startMailServer(): Promise<MailServer> {
  const mails: { readonly to: string; readonly text: string }[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((socket) =>
    receive(socket, (mail) => {
      mails.push(mail);
      for (const wake of waiting.splice(0)) wake();
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}/?ignoreTLS=true`,
    linkTo: async (address) => {
      for (;;) {
        const index = mails.findLastIndex(({ to }) => to === address);
        const [mail] = index < 0 ? [] : mails.splice(index, 1);
        const link = mail && /^https?:\/\/\S+$/m.exec(mail.text)?.[0];
        if (link !== undefined) return link;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Supports the SMTP of a client with one command and one answer at a time. */
function receive(socket: Socket, keep: (mail: { to: string; text: string }) => void): void {
  let buffered = "";
  let to = "";
  let isBody = false;
  socket.on("error", () => socket.destroy());
  socket.write("220 here\r\n");
  socket.on("data", (chunk) => {
    buffered += chunk.toString();
    for (;;) {
      const end = buffered.indexOf(isBody ? "\r\n.\r\n" : "\r\n");
      if (end < 0) return;
      const part = buffered.slice(0, end);
      buffered = buffered.slice(end + (isBody ? 5 : 2));
      if (isBody) {
        isBody = false;
        // Long lines are folded as quoted-printable.
        keep({ to, text: part.replaceAll("=\r\n", "").replaceAll("=3D", "=").replaceAll("\r\n", "\n") });
        socket.write("250 kept\r\n");
        continue;
      }
      to = /^RCPT TO:<([^>]*)>/i.exec(part)?.[1] ?? to;
      isBody = /^DATA$/i.test(part);
      if (/^QUIT$/i.test(part)) socket.end("221 bye\r\n");
      else socket.write(isBody ? "354 go on\r\n" : "250 ok\r\n");
    }
  });
}
