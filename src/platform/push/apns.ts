import { SignJWT } from 'jose';
import { z } from 'zod';
import type { ApnsAccess } from '../config.ts';
import { Http2Client } from './http2-client.ts';
import { failedWith, type PushOutcome, secondsIn } from './outcome.ts';

/** A message for one device. */
export interface ApnsMessage {
  /** Device token, in hexadecimal. */
  readonly token: string;
  readonly topic: string;
  readonly payload: object;
  /** `alert` shows a notification. `background` wakes the app. */
  readonly pushType: 'alert' | 'background';
  /** A later message with the same id replaces the notification. At most 64 bytes. */
  readonly collapseId: string;
  /** Time in seconds since 1970 until which the service tries to deliver the message. */
  readonly expiration: number;
  /** Time of the registration of the token. The service can report an earlier registration as ended. */
  readonly registeredAt: Date;
  readonly signal: AbortSignal;
}

/** Time, in milliseconds, for which a token is used. The service refuses tokens that are older than an hour. */
const TOKEN_MS = 2_400_000;
/** Minimum age, in milliseconds, of a token that is replaced. The service refuses tokens that change more often. */
const MIN_TOKEN_MS = 1_200_000;
/** Reasons with which the service refuses a token for ever. */
const GONE: ReadonlySet<string> = new Set(['BadDeviceToken', 'DeviceTokenNotForTopic', 'Unregistered', 'ExpiredToken']);

const Refusal = z.object({ reason: z.string(), timestamp: z.number().optional() });

/** Sends messages to devices of Apple over HTTP/2. */
export class Apns {
  readonly #access: ApnsAccess;
  readonly #client: Http2Client;
  readonly #now: () => Date;
  #signed: { readonly token: Promise<string>; readonly at: number } | undefined;

  constructor(access: ApnsAccess, now: () => Date) {
    this.#access = access;
    this.#now = now;
    this.#client = new Http2Client(access.url);
  }

  async send(message: ApnsMessage): Promise<PushOutcome> {
    const { token, topic, payload, pushType, collapseId, expiration, signal } = message;
    try {
      const signed = this.#token();
      const authorization = await signed;
      const response = await this.#client.request({
        path: `/3/device/${token}`,
        headers: {
          authorization: `bearer ${authorization}`,
          'apns-topic': topic,
          'apns-push-type': pushType,
          // Messages without an alert must not have the highest priority.
          'apns-priority': pushType === 'alert' ? '10' : '5',
          'apns-collapse-id': collapseId,
          'apns-expiration': String(expiration),
          'content-type': 'application/json',
        },
        body: JSON.stringify(payload),
        signal,
      });
      const { status, body, headers } = response;
      if (status === 200) return { kind: 'sent' };
      const { reason, timestamp } = refusalIn(body);
      const text = `HTTP status ${status}, ${reason}`;
      if (status === 410 || GONE.has(reason)) return this.#gone(message, timestamp, text);
      // The token is refused, for example while the clock of this machine is wrong.
      const isRefusal = status === 401 || status === 403 || reason === 'TooManyProviderTokenUpdates';
      if (isRefusal && this.#signed?.token === signed && this.#age() > MIN_TOKEN_MS) this.#signed = undefined;
      if (isRefusal || status === 408 || status === 429 || status >= 500) {
        const afterSeconds = secondsIn(headers['retry-after']);
        // The user chose the topic of some apps. The token can be valid for the others.
        const isOfService = isRefusal ? topic === this.#access.topic : status !== 429;
        return { kind: 'failed', reason: text, afterSeconds, isOfService, isRefusal };
      }
      return { kind: 'refused', reason: text };
    } catch (error) {
      return failedWith(error);
    }
  }

  close(): void {
    this.#client.close();
  }

  /** @param timestamp Time, in milliseconds, at which the service found that the token has ended. */
  #gone({ registeredAt }: ApnsMessage, timestamp: number | undefined, reason: string): PushOutcome {
    const isRegisteredAgain = timestamp !== undefined && timestamp < registeredAt.getTime();
    return isRegisteredAgain
      ? { kind: 'failed', reason, afterSeconds: 0, isOfService: false, isRefusal: false }
      : { kind: 'gone' };
  }

  #token(): Promise<string> {
    if (this.#signed === undefined || this.#age() > TOKEN_MS) {
      const now = this.#now().getTime();
      const { key, keyId, teamId } = this.#access;
      const token = new SignJWT({ iss: teamId, iat: Math.floor(now / 1000) })
        .setProtectedHeader({ alg: 'ES256', kid: keyId })
        .sign(key);
      this.#signed = { token, at: now };
    }
    return this.#signed.token;
  }

  /** Returns the difference between the current time and that of the signature, in milliseconds. */
  #age(): number {
    return Math.abs(this.#now().getTime() - (this.#signed?.at ?? 0));
  }
}

function refusalIn(body: string): z.output<typeof Refusal> {
  try {
    return Refusal.parse(JSON.parse(body));
  } catch {
    return { reason: 'no reason' };
  }
}
