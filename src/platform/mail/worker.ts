import { createTransport } from 'nodemailer';
import { domainOf } from '../hosts.ts';
import { retry } from '../retry.ts';
import {
  type ClaimedMail,
  claimMail,
  isMailDue,
  type MailContext,
  noteFailure,
  noteSent,
  purgeMail,
} from './outbox.ts';

/** Our choices. Mail is not for the second; to look is one indexed question. */
const POLL_MS = 2_000;
const PURGE_MS = 3_600_000;
/** Our choices: how long the mail server may be silent, and how long one attempt may take. Less than the lease. */
const SILENCE_MS = 30_000;
const ATTEMPT_MS = 120_000;
/** Our choice: how long an attempt under way has when the service stops. */
const GRACE_MS = 2_000;
/** Our choice: how often it is tried to note what became of a mail while the database is away. */
const NOTE_AGAIN_MS = 500;

type Transport = ReturnType<typeof openTransport>;

/**
 * Sends queued mail through SMTP_URL. Any number of nodes do so on one database.
 *
 * A mail is sent once, but for one case: the mail server took it, and before that was noted the process died, or the
 * connection broke before its answer came. It then goes out again under the same Message-ID. Without SMTP_URL mail stays
 * queued, and the log says so once.
 */
export class MailWorker {
  readonly #app: MailContext;
  readonly #transport: Transport | undefined;
  readonly #stop = new AbortController();
  #working: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #hasWarned = false;
  #isInTrouble = false;
  #purgedAt = Number.NEGATIVE_INFINITY;

  constructor(app: MailContext) {
    this.#app = app;
    const { smtpUrl } = app.config;
    this.#transport = smtpUrl === undefined ? undefined : openTransport(smtpUrl);
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.sendDue(), POLL_MS).unref();
  }

  /** Begins no attempt any more, and lets the one under way come to its end for a moment. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    const impatience = setTimeout(() => this.#stop.abort(), GRACE_MS);
    await this.#working;
    clearTimeout(impatience);
    this.#transport?.close();
  }

  /** Sends all that is due and that no other node has in hand; never two at once. */
  sendDue(): Promise<void> {
    this.#working = this.#working.then(() => this.#sendDue());
    return this.#working;
  }

  async #sendDue(): Promise<void> {
    if (this.#isStopped) return;
    try {
      await this.#purge();
      if (this.#transport === undefined) await this.#warn();
      else while (await this.#sendOne(this.#transport));
      this.#isInTrouble = false;
    } catch (error) {
      if (!this.#isInTrouble) this.#app.log.warn({ err: error }, 'could not look for mail to send; trying again');
      this.#isInTrouble = true;
    }
  }

  /** @returns Whether to go on at once with the next one. */
  async #sendOne(transport: Transport): Promise<boolean> {
    if (this.#isStopped) return false;
    const mail = await claimMail(this.#app);
    if (mail === undefined) return false;
    try {
      await transport.sendMail({ ...this.#compose(mail), signal: this.#limits() });
    } catch (error) {
      return this.#noteFailure(mail, error);
    }
    await this.#note(() => noteSent(this.#app, mail));
    return true;
  }

  async #noteFailure(mail: ClaimedMail, error: unknown): Promise<boolean> {
    const { message = String(error), code, responseCode = 0 } = error as SendError;
    const isRefusal = code === 'EENVELOPE' || code === 'EMESSAGE';
    const failure = { reason: message, isFinal: isRefusal && responseCode >= 500 };
    const next = await this.#note(() => noteFailure(this.#app, mail, failure));
    const facts = { mail: String(mail.id), reason: message, attempts: mail.attempts };
    if (next === null) this.#app.log.error(facts, 'a mail was given up');
    else this.#app.log.warn(facts, 'a mail could not be sent; it is tried again');
    // A server that cannot be reached for one mail cannot be for the others.
    return isRefusal;
  }

  /** What became of a mail is noted as long as the process lives: the database may be away just then. */
  #note<T>(write: () => Promise<T>): Promise<T> {
    const { signal } = this.#stop;
    return retry(write, () => (signal.aborted ? undefined : NOTE_AGAIN_MS), signal);
  }

  #limits(): AbortSignal {
    return AbortSignal.any([this.#stop.signal, AbortSignal.timeout(ATTEMPT_MS)]);
  }

  #compose({ id, realmId, recipient, subject, body, createdAt }: ClaimedMail) {
    const { config } = this.#app;
    const domain = domainOf(config, '');
    return {
      from: config.mailFrom ?? { name: 'Team chat', address: `noreply@${domain}` },
      // Never parsed: the address is one, whatever it holds.
      to: { name: '', address: recipient },
      subject,
      text: body,
      date: createdAt,
      messageId: `<mail.${realmId}.${id}@${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
    };
  }

  async #warn(): Promise<void> {
    if (this.#hasWarned || !(await isMailDue(this.#app))) return;
    this.#hasWarned = true;
    this.#app.log.warn('mail waits to be sent, but SMTP_URL is not set: it stays queued');
  }

  async #purge(): Promise<void> {
    const now = this.#app.now().getTime();
    if (now - this.#purgedAt < PURGE_MS) return;
    await purgeMail(this.#app);
    this.#purgedAt = now;
  }
}

/** What nodemailer throws. */
interface SendError {
  readonly message?: string;
  readonly code?: string;
  /** What the mail server answered. */
  readonly responseCode?: number;
}

/** A mail server, which may be silent for so long. */
export function openTransport(url: string, silenceMs = SILENCE_MS) {
  return createTransport({
    url,
    connectionTimeout: silenceMs,
    greetingTimeout: silenceMs,
    socketTimeout: silenceMs,
    dnsTimeout: silenceMs,
  });
}
