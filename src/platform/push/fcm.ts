import { SignJWT } from 'jose';
import { z } from 'zod';
import type { FcmAccess } from '../config.ts';
import { Http2Client } from './http2-client.ts';
import { failedWith, type PushOutcome, secondsIn } from './outcome.ts';

/** A message for one device. */
export interface FcmMessage {
  /** Registration token of the device. */
  readonly token: string;
  readonly data: Readonly<Record<string, string>>;
  /** `HIGH` wakes the device. */
  readonly priority: 'HIGH' | 'NORMAL';
  /** Time in seconds for which the service keeps the message for a device that is offline. */
  readonly ttlSeconds: number;
  readonly signal: AbortSignal;
}

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
/** Validity of an assertion in seconds. It is the maximum. */
const ASSERTION_SECONDS = 3_600;
/** Time, in milliseconds, before the end of an access token from which it is no longer used. */
const MARGIN_MS = 300_000;

const Granted = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });
const Refusal = z.object({
  error: z.object({
    status: z.string().optional(),
    message: z.string().optional(),
    details: z
      .array(
        z.looseObject({
          errorCode: z.string().optional(),
          fieldViolations: z.array(z.looseObject({ field: z.string().optional() })).optional(),
        }),
      )
      .optional(),
  }),
});

/** Sends messages to devices with Firebase Cloud Messaging over HTTP/2 (HTTP v1 API). */
export class Fcm {
  readonly #access: FcmAccess;
  readonly #client: Http2Client;
  readonly #now: () => Date;
  #granted: { readonly token: Promise<string>; endsAt: number } | undefined;

  constructor(access: FcmAccess, now: () => Date) {
    this.#access = access;
    this.#now = now;
    this.#client = new Http2Client(access.url);
  }

  async send({ token, data, priority, ttlSeconds, signal }: FcmMessage): Promise<PushOutcome> {
    try {
      const granted = this.#accessToken();
      const accessToken = await untilAborted(granted, signal);
      const { status, headers, body } = await this.#client.request({
        path: `/v1/projects/${encodeURIComponent(this.#access.projectId)}/messages:send`,
        headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ message: { token, data, android: { priority, ttl: `${ttlSeconds}s` } } }),
        signal,
      });
      if (status === 200) return { kind: 'sent' };
      const { code, isTokenInvalid } = refusalIn(body);
      if (code === 'UNREGISTERED' || code === 'SENDER_ID_MISMATCH' || isTokenInvalid) return { kind: 'gone' };
      const reason = `HTTP status ${status}, ${code}`;
      if (status === 401 && this.#granted?.token === granted) this.#granted = undefined;
      // Rights of the service account, or a project that does not exist: the operator can correct them.
      const isRefusal = status === 401 || status === 403 || status === 404;
      if (isRefusal || status === 408 || status === 429 || status >= 500) {
        const afterSeconds = secondsIn(headers['retry-after']);
        return { kind: 'failed', reason, afterSeconds, isOfService: status !== 429, isRefusal };
      }
      return { kind: 'refused', reason };
    } catch (error) {
      return failedWith(error);
    }
  }

  close(): void {
    this.#client.close();
  }

  /** Returns an access token. Concurrent calls share one request. A failed request is not repeated for the same calls. */
  #accessToken(): Promise<string> {
    const known = this.#granted;
    if (known !== undefined && this.#now().getTime() < known.endsAt - MARGIN_MS) return known.token;
    const granted = { token: Promise.resolve(''), endsAt: Number.POSITIVE_INFINITY };
    granted.token = this.#grant().then(
      ({ access_token, expires_in }) => {
        granted.endsAt = this.#now().getTime() + expires_in * 1000;
        return access_token;
      },
      (error: unknown) => {
        if (this.#granted === granted) this.#granted = undefined;
        throw error;
      },
    );
    this.#granted = granted;
    return granted.token;
  }

  /**
   * Exchanges a signed assertion for an access token.
   *
   * @throws Error if the server refuses it or does not respond.
   * @see RFC 7523 2.1
   */
  async #grant(): Promise<z.output<typeof Granted>> {
    const { key, keyId, clientEmail, tokenUrl } = this.#access;
    const now = Math.floor(this.#now().getTime() / 1000);
    const assertion = await new SignJWT({
      ...{ iss: clientEmail, scope: SCOPE, aud: tokenUrl, iat: now, exp: now + ASSERTION_SECONDS },
    })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) })
      .sign(key);
    const response = await fetch(tokenUrl, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }),
      redirect: 'error',
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`The token server responded with status ${response.status}`);
    }
    return Granted.parse(await response.json());
  }
}

/** Returns the error code of a refusal, and whether it is about the registration token. */
function refusalIn(body: string): { readonly code: string; readonly isTokenInvalid: boolean } {
  let text: unknown;
  try {
    text = JSON.parse(body);
  } catch {
    return { code: 'no code', isTokenInvalid: false };
  }
  const { success, data } = Refusal.safeParse(text);
  if (!success) return { code: 'no code', isTokenInvalid: false };
  const { status, details = [] } = data.error;
  const fields = details.flatMap(({ fieldViolations = [] }) => fieldViolations.map(({ field }) => field));
  return {
    code: details.find(({ errorCode }) => errorCode !== undefined)?.errorCode ?? status ?? 'no code',
    isTokenInvalid: fields.includes('message.token'),
  };
}

/**
 * Waits for a result that requests share, at most until one of them aborts.
 *
 * @throws Error if `signal` aborts first. The result can still be used by other requests.
 */
async function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(new Error('The server did not respond in time'));
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
