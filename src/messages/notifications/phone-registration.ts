import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Ctx } from '../../access/context.ts';
import { ValidationError } from '../../platform/errors.ts';
import { openSealed } from '../../platform/push/encryption.ts';
import { PHONE_KINDS, type PhoneKind } from '../../platform/push/phones.ts';

/** Maximum length of a token in characters. */
const MAX_TOKEN_LENGTH = 4_096;
/** Length of the id of a token in bytes. */
const TOKEN_ID_BYTES = 8;
/** First byte of a push key: identifies the cryptosystem, XSalsa20 and Poly1305. */
const SECRET_BOX = 0x31;
/** Length of a push key in bytes, including its first byte. */
const PUSH_KEY_BYTES = 33;
const MAX_PUSH_KEY_ID = 2 ** 32 - 1;
/** Age, in milliseconds, from which an encrypted registration is refused. */
const MAX_AGE_MS = 86_400_000;
/** Maximum length of an encrypted registration in characters. */
const MAX_REGISTRATION_LENGTH = 20_000;
const APP_ID = /^[A-Za-z0-9.-]{1,255}$/;

/** A key with which notifications of an app are encrypted, as the app sends it. */
export interface GivenPushKey {
  /** Number by which the app identifies the key: 32 bits, unsigned. */
  readonly id: number;
  /** The byte 0x31, and a key of 32 bytes, in base64. */
  readonly key: string;
}

/** A token of the push service of a phone, encrypted for this server. */
export interface GivenToken {
  readonly kind: PhoneKind;
  /** First 8 bytes of the SHA-256 of the token, in base64. */
  readonly id: string;
  /** Public key with which the registration was encrypted, in base64. */
  readonly registrationKey: string;
  /** Encrypted JSON with the token, in base64. */
  readonly encryptedRegistration: string;
}

/** A push key as it is stored. */
export interface PushKey {
  readonly pushKeyId: bigint;
  readonly pushKey: Uint8Array<ArrayBuffer>;
}

/** A decrypted registration, or the error code with which it failed. */
export type Registration = { readonly token: string; readonly appId: string | null } | { readonly error: string };

const base64 = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
};

/**
 * Returns a token in the form in which it is stored: those of Apple in hexadecimal, in lower case.
 *
 * @throws ValidationError if it is not a token of this kind.
 */
export function requireToken(kind: PhoneKind, token: string): string {
  if (!isPossibleToken(token)) {
    throw new ValidationError('Empty or invalid length token', { parameter: 'token', maximum: MAX_TOKEN_LENGTH });
  }
  const stored = tokenOf(kind, token);
  if (stored === undefined) throw new ValidationError('Invalid APNS token', { parameter: 'token' });
  return stored;
}

const isPossibleToken = (token: string): boolean =>
  token !== '' && token.length <= MAX_TOKEN_LENGTH && !/[^!-~]/.test(token);

/** Returns a token in the form in which it is stored. Undefined if it is not a token of this kind. */
export function tokenOf(kind: PhoneKind, token: string): string | undefined {
  if (!isPossibleToken(token)) return undefined;
  if (kind === 'fcm') return token;
  if (/^([0-9a-f]{2}){16,200}$/i.test(token)) return token.toLowerCase();
  const bytes = base64(token);
  return bytes !== undefined && bytes.length >= 16 && bytes.length <= 200 ? bytes.toString('hex') : undefined;
}

/** Checks the bundle id of an app. @throws ValidationError if it is none. */
export function requireAppId(appId: string): string {
  if (!APP_ID.test(appId)) throw new ValidationError('Invalid app ID', { parameter: 'app_id' });
  return appId;
}

/** Checks a push key. @throws ValidationError if the key or its id is invalid. */
export function requirePushKey({ id, key }: GivenPushKey): PushKey {
  if (!Number.isInteger(id) || id < 0 || id > MAX_PUSH_KEY_ID) {
    throw new ValidationError('Invalid push_key_id: Not a valid unsigned 32-bit integer', {
      ...{ parameter: 'push_key_id', minimum: 0, maximum: MAX_PUSH_KEY_ID },
      schemaMessage: 'The id of the key must be an integer from 0 to 4294967295',
    });
  }
  const bytes = base64(key);
  if (bytes?.length !== PUSH_KEY_BYTES || bytes[0] !== SECRET_BOX) {
    throw new ValidationError('Invalid `push_key`', {
      parameter: 'push_key',
      schemaMessage: 'The key must be the byte 0x31 and 32 more bytes, in base64',
    });
  }
  return { pushKeyId: BigInt(id), pushKey: new Uint8Array(bytes.subarray(1)) };
}

/** Checks the id of a token. @throws ValidationError if it is not 8 bytes in base64. */
export function requireTokenId(id: string): string {
  if (base64(id)?.length === TOKEN_ID_BYTES) return id;
  throw new ValidationError('`token_id` is not Base64 encoded', {
    parameter: 'token_id',
    schemaMessage: `The id of the token must be ${TOKEN_ID_BYTES} bytes in base64`,
  });
}

const Plain = z.object({
  token: z.string(),
  token_kind: z.enum(PHONE_KINDS),
  timestamp: z.number(),
  ios_app_id: z.string().regex(APP_ID).nullish(),
});

/** Decrypts and checks the registration of a token. @throws ValidationError if it is too long. */
export async function openRegistration(
  { app }: Pick<Ctx, 'app'>,
  { kind, id, registrationKey, encryptedRegistration }: GivenToken,
): Promise<Registration> {
  if (encryptedRegistration.length > MAX_REGISTRATION_LENGTH) {
    throw new ValidationError(`The registration must have at most ${MAX_REGISTRATION_LENGTH} characters`, {
      parameter: 'encrypted_registration',
      maximum: MAX_REGISTRATION_LENGTH,
    });
  }
  const sealed = base64(encryptedRegistration);
  const opened = await openSealed(app.config.pushRegistrationKeys, registrationKey, sealed ?? Buffer.alloc(0));
  if (opened === 'unknown key') return { error: 'INVALID_BOUNCER_PUBLIC_KEY' };
  const invalid = { error: 'BAD_REQUEST' };
  if (opened === 'invalid') return invalid;
  try {
    const { token, token_kind, timestamp, ios_app_id } = Plain.parse(JSON.parse(opened.text));
    const digest = createHash('sha256').update(token).digest().subarray(0, TOKEN_ID_BYTES).toString('base64');
    if (token_kind !== kind || digest !== id) return invalid;
    if (Math.abs(app.now().getTime() - timestamp * 1000) > MAX_AGE_MS) return { error: 'REQUEST_EXPIRED' };
    return { token: requireToken(kind, token), appId: kind === 'apns' ? (ios_app_id ?? null) : null };
  } catch {
    return invalid;
  }
}
