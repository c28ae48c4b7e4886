import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { isSubdomain } from './hosts.ts';

/** Settings that verify the web tokens (JWT) of one organization. */
export interface JwtKey {
  /** Key that verifies the tokens: a shared secret, or the public key of the tokens' issuer. */
  readonly key: KeyObject;
  /** The signature algorithms that are accepted, whatever a token's header says. */
  readonly algorithms: readonly string[];
  /** Required value of the claim `iss` (issuer). Absent: any value. */
  readonly issuer?: string | undefined;
  /** Required value of the claim `aud` (audience). If the claim is a list, one item must have this value. Absent: any value. */
  readonly audience?: string | undefined;
  /** Required value of `typ` in the header of a token. Absent: any value. */
  readonly type?: string | undefined;
  /** Whether each web token is accepted only once. If true, tokens must have the claims `jti` and `exp`. */
  readonly once: boolean;
}

/** Keys that verify web tokens, by the organization's subdomain. "" is the organization of the root domain. */
export type JwtKeys = ReadonlyMap<string, JwtKey>;

/** Requirements of an algorithm for its key. The algorithm "none" is not supported. @see RFC 7518 3.1, RFC 8037 3.1 */
interface Needs {
  readonly kind: 'secret' | 'rsa' | 'ec' | 'ed25519';
  /** Minimum length: bytes of a secret, or bits of an RSA modulus. Shorter keys are refused at the start. */
  readonly least?: number;
  readonly curve?: string;
}

const MIN_RSA_BITS = 2048;

const ALGORITHMS: Readonly<Record<string, Needs>> = {
  // A secret must not be shorter than the hash (32 bytes for SHA-256). @see RFC 7518 3.2
  HS256: { kind: 'secret', least: 32 },
  HS384: { kind: 'secret', least: 48 },
  HS512: { kind: 'secret', least: 64 },
  RS256: { kind: 'rsa', least: MIN_RSA_BITS },
  RS384: { kind: 'rsa', least: MIN_RSA_BITS },
  RS512: { kind: 'rsa', least: MIN_RSA_BITS },
  PS256: { kind: 'rsa', least: MIN_RSA_BITS },
  PS384: { kind: 'rsa', least: MIN_RSA_BITS },
  PS512: { kind: 'rsa', least: MIN_RSA_BITS },
  ES256: { kind: 'ec', curve: 'prime256v1' },
  ES384: { kind: 'ec', curve: 'secp384r1' },
  ES512: { kind: 'ec', curve: 'secp521r1' },
  EdDSA: { kind: 'ed25519' },
};

const Entries = z.record(
  z.string(),
  z.strictObject({
    key: z.string().min(1),
    algorithms: z.array(z.string()).min(1),
    issuer: z.string().min(1).optional(),
    audience: z.string().min(1).optional(),
    type: z.string().min(1).optional(),
    once: z.boolean().default(false),
  }),
);

/**
 * Parses JWT_AUTH_KEYS: `{"<subdomain>": {"key", "algorithms", "issuer"?, "audience"?, "type"?, "once"?}}`, where `key`
 * is a shared secret, or a public key as PEM.
 *
 * @throws Error with one sentence if the text cannot be parsed, or the key of an organization does not suit its
 *   algorithms.
 * @see RFC 8725 3.1, 3.2, 3.5
 */
export function readJwtKeys(text: string): JwtKeys {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error('is not valid JSON');
  }
  const parsed = Entries.safeParse(json);
  if (!parsed.success) {
    throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
  }
  return new Map(
    Object.entries(parsed.data).map(([subdomain, entry]) => {
      if (!isSubdomain(subdomain)) throw new Error(`"${subdomain}" is not a valid subdomain`);
      const key = readKey(subdomain, entry.key);
      for (const algorithm of entry.algorithms) requireFit(`"${subdomain}"`, key, algorithm);
      return [subdomain, { ...entry, key }];
    }),
  );
}

function readKey(subdomain: string, text: string): KeyObject {
  if (!text.includes('-----BEGIN')) return createSecretKey(text, 'utf8');
  // A private key is refused: Node would silently derive the public key from it.
  if (text.includes('PRIVATE KEY')) throw new Error(`"${subdomain}": the key must be a public key`);
  try {
    return createPublicKey(text);
  } catch {
    throw new Error(`"${subdomain}": the PEM contains no public key`);
  }
}

/**
 * Checks that a key suits an algorithm. A public key is never accepted as a shared secret: attackers know the public key, and
 * could sign tokens with it. A secret is not accepted as a public key either.
 *
 * @throws Error if the key does not suit the algorithm, or the algorithm is not supported.
 */
function requireFit(where: string, key: KeyObject, algorithm: string): void {
  const needs = Object.hasOwn(ALGORITHMS, algorithm) ? ALGORITHMS[algorithm] : undefined;
  if (needs === undefined) throw new Error(`${where}: the algorithm "${algorithm}" is not supported`);
  const kind = key.asymmetricKeyType ?? key.type;
  if (kind !== needs.kind) throw new Error(`${where}: ${algorithm} needs another type of key`);
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  const { kind: _, least = 0, curve } = needs;
  if (kind === 'secret' && (key.symmetricKeySize ?? 0) < least) {
    throw new Error(`${where}: ${algorithm} needs a secret of at least ${least} bytes`);
  }
  if (kind === 'rsa' && modulusLength < least)
    throw new Error(`${where}: ${algorithm} needs a key of at least ${least} bits`);
  if (kind === 'ec' && namedCurve !== curve) throw new Error(`${where}: ${algorithm} needs a key on another curve`);
}
