import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** An email as the mail server received it. */
export interface ReceivedMail {
  readonly to: readonly string[];
  /** Headers and body, as sent. */
  readonly raw: string;
}

/**
 * The reply of the mail server. Undefined: it accepts the email. Otherwise it refuses the email at this command, with
 * this code.
 */
export type MailRefusal = { readonly at: 'RCPT' | 'DATA'; readonly code: number } | undefined;

/** A mail server for one test: `await using` it. */
export interface Mailbox extends AsyncDisposable {
  readonly url: string;
  /** Accepted emails, in order. */
  readonly mails: readonly ReceivedMail[];
  /** Number of delivery attempts. */
  readonly attempts: number;
  /** The reply of the mail server to emails that arrive from now on. */
  answer: MailRefusal;
}

/** Returns the head, with unfolded lines, and the decoded text of the emails to an address, in order. */
export const mailsTo = ({ mails }: Mailbox, address: string): { readonly head: string; readonly text: string }[] =>
  mails
    .filter(({ to }) => to.includes(address))
    .map(({ raw }) => {
      const [head = '', body = ''] = raw.split(/\r\n\r\n(.*)/s);
      const isQuoted = /quoted-printable/i.test(head);
      const bytes = body
        .replace(/=\r\n/g, '')
        .replace(/=([0-9A-F]{2})/g, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
      const text = isQuoted ? Buffer.from(bytes, 'latin1').toString() : body;
      return { head: head.replace(/\r\n[ \t]+/g, ' '), text: text.replaceAll('\r\n', '\n') };
    });

/** Starts a mail server on a free port. */
export async function openMailbox(): Promise<Mailbox> {
  const mails: ReceivedMail[] = [];
  const state = { answer: undefined as MailRefusal, attempts: 0 };
  const refusalAt = (at: 'RCPT' | 'DATA') =>
    state.answer?.at === at ? Object.assign(new Error('Not at this time'), { responseCode: state.answer.code }) : null;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onRcptTo(_address, _session, done) {
      state.attempts += 1;
      done(refusalAt('RCPT'));
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const refusal = refusalAt('DATA');
        const to = envelope.rcptTo.map(({ address }) => address);
        if (refusal === null) mails.push({ to, raw: Buffer.concat(chunks).toString('utf8') });
        done(refusal);
      });
    },
  });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    mails,
    get attempts() {
      return state.attempts;
    },
    get answer() {
      return state.answer;
    },
    set answer(answer: MailRefusal) {
      state.answer = answer;
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
