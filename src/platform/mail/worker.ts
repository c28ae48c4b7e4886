import { createTransport } from 'nodemailer';
import { domainOf } from '../hosts.ts';
import { retry } from '../retry.ts';
import {
  type ClaimedMail,
  claimMail,
  dropMail,
  isHere,
  isMailDue,
  type MailContext,
  type MailText,
  noteFailure,
  noteSent,
  purgeMail,
  sendable,
} from './outbox.ts';

/**
 * Interval between queries for due emails, in milliseconds. Each query uses an index, and an email may be a few seconds late.
 */
const POLL_MS = 2_000;
const PURGE_MS = 3_600_000;
/**
 * Maximum time, in milliseconds, for which the mail server can be silent. Afterwards, the attempt fails, and another one
 * follows later.
 */
const SILENCE_MS = 30_000;
/**
 * Maximum duration of an attempt to send an email, in milliseconds. Afterwards, the attempt is aborted, and another one follows
 * later. Shorter than the lease of a claimed email.
 */
const ATTEMPT_MS = 120_000;
/** Maximum time, in milliseconds, that the current attempt may still take when the service stops. Afterwards, it is aborted. */
const GRACE_MS = 2_000;
/** Pause, in milliseconds, between attempts to store whether an email was sent, while the database is unavailable. */
const NOTE_AGAIN_MS = 500;

type Transport = ReturnType<typeof openTransport>;

/**
 * Returns the current text of an email about missed messages, or of a digest. Undefined if it is not to be sent any more, for
 * example because the messages were read or deleted.
 */
export type RenderMail = (mail: ClaimedMail) => Promise<MailText | undefined>;

/**
 * A worker that sends queued emails through SMTP_URL. Any number of nodes can run workers on one database.
 *
 * An email is sent once, with one exception: the mail server accepts it, but the connection breaks before the reply arrives, or
 * the process dies before the result is stored. The email is then sent again with the same Message-ID. Without SMTP_URL, emails
 * stay queued, and this is logged once.
 */
export class MailWorker {
  readonly #app: MailContext;
  readonly #render: RenderMail;
  readonly #transport: Transport | undefined;
  readonly #stop = new AbortController();
  #working: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #hasWarned = false;
  #isFailing = false;
  #purgedAt = Number.NEGATIVE_INFINITY;

  constructor(app: MailContext, render: RenderMail) {
    this.#app = app;
    this.#render = render;
    const { smtpUrl } = app.config;
    this.#transport = smtpUrl === undefined ? undefined : openTransport(smtpUrl);
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.sendDue(), POLL_MS).unref();
  }

  /** Stops the worker. No further attempt starts, and the current attempt is aborted after `GRACE_MS`. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    const graceTimer = setTimeout(() => this.#stop.abort(), GRACE_MS);
    await this.#working;
    clearTimeout(graceTimer);
    this.#transport?.close();
  }

  /** Sends all due emails that no other node has claimed. Calls on one worker run one after another. */
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
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#app.log.warn({ err: error }, 'email queue query failed, retrying');
      this.#isFailing = true;
    }
  }

  /** Sends one email. @returns Whether the caller should continue with the next email immediately. */
  async #sendOne(transport: Transport): Promise<boolean> {
    if (this.#isStopped) return false;
    const mail = await claimMail(this.#app);
    if (mail === undefined) return false;
    const text = await this.#textOf(mail);
    if (text === undefined) return true;
    try {
      await transport.sendMail({ ...this.#compose({ ...mail, ...text }), signal: this.#limits() });
    } catch (error) {
      return this.#noteFailure(mail, error);
    }
    await this.#note(mail, () => noteSent(this.#app, mail));
    return true;
  }

  /**
   * Returns the text of an email. Undefined if the email is no longer needed, and was deleted, or if the text could not be
   * rendered, and the failed attempt was recorded.
   */
  async #textOf(mail: ClaimedMail): Promise<MailText | undefined> {
    if (mail.missedMessageIds.length === 0 && mail.digestSince === null) return mail;
    try {
      const text = await this.#render(mail);
      if (text !== undefined) return sendable(text);
      await dropMail(this.#app, mail);
      return undefined;
    } catch (error) {
      await this.#noteFailure(mail, error);
      return undefined;
    }
  }

  async #noteFailure(mail: ClaimedMail, error: unknown): Promise<boolean> {
    const { message = String(error), code, responseCode = 0 } = error as SendError;
    const isRefusal = code === 'EENVELOPE' || code === 'EMESSAGE';
    const failure = { reason: message, isFinal: isRefusal && responseCode >= 500 };
    const next = await this.#note(mail, () => noteFailure(this.#app, mail, failure));
    if (next === undefined) return isRefusal;
    const { id, organizationId, attempts } = mail;
    const fields = { mail: String(id), organization: organizationId, reason: message, attempts };
    if (next === null) this.#app.log.error(fields, 'email delivery failed permanently');
    else this.#app.log.warn(fields, 'email delivery failed, retrying');
    // If the mail server refused this email, the next one can still be sent. If the server is unreachable, all emails must
    // wait.
    return isRefusal;
  }

  /**
   * Stores the result of an attempt. Retries until the process stops, because the database can be unavailable.
   *
   * @returns The result of `write`. Undefined if the organization has moved to another database, which sends the email again.
   */
  #note<T>(mail: ClaimedMail, write: () => Promise<T>): Promise<T | undefined> {
    const { signal } = this.#stop;
    const attempt = async () => {
      try {
        return await write();
      } catch (error) {
        if (await isHere(this.#app, mail)) throw error;
        return undefined;
      }
    };
    return retry(attempt, () => (signal.aborted ? undefined : NOTE_AGAIN_MS), signal);
  }

  #limits(): AbortSignal {
    return AbortSignal.any([this.#stop.signal, AbortSignal.timeout(ATTEMPT_MS)]);
  }

  #compose({ id, organizationId, recipient, subject, body, unsubscribeUrl, createdAt }: ClaimedMail) {
    const { config } = this.#app;
    const domain = domainOf(config, '');
    return {
      from: config.mailFrom ?? { name: 'Team chat', address: `noreply@${domain}` },
      // Passed as an object, because the library would parse a string: with some characters, it could become several
      // recipients.
      to: { name: '', address: recipient },
      subject,
      text: body,
      date: createdAt,
      messageId: `<mail.${organizationId}.${id}@${domain}>`,
      headers: {
        'Auto-Submitted': 'auto-generated',
        ...(unsubscribeUrl !== null && {
          'List-Unsubscribe': `<${unsubscribeUrl}>`,
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        }),
      },
      disableFileAccess: true,
      disableUrlAccess: true,
    };
  }

  async #warn(): Promise<void> {
    if (this.#hasWarned || !(await isMailDue(this.#app))) return;
    this.#hasWarned = true;
    this.#app.log.warn('emails stay queued, because SMTP_URL is not set');
  }

  async #purge(): Promise<void> {
    const now = this.#app.now().getTime();
    if (now - this.#purgedAt < PURGE_MS) return;
    await purgeMail(this.#app);
    this.#purgedAt = now;
  }
}

/** An error with which nodemailer, the mail library, reports that an email was not sent. */
interface SendError {
  readonly message?: string;
  readonly code?: string;
  /** Status code of the mail server's reply. */
  readonly responseCode?: number;
}

/**
 * Creates a transport to a mail server.
 *
 * @param silenceMs Timeout in milliseconds for DNS, connecting, the greeting and a silent connection.
 */
export function openTransport(url: string, silenceMs = SILENCE_MS) {
  return createTransport({
    url,
    connectionTimeout: silenceMs,
    greetingTimeout: silenceMs,
    socketTimeout: silenceMs,
    dnsTimeout: silenceMs,
  });
}
