import { z } from 'zod';
import type { Runtime } from '../../access/context.ts';
import type { Organization, Passkey, User } from '../../generated/prisma/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import { CHALLENGE_MS } from './challenges.ts';

// Web Authentication (WebAuthn): options for the browser, and the verification of its responses. The library is loaded with the
// first response, because most of it verifies attestations, and it takes 27 MB.

/** Public key algorithms that are accepted: Ed25519, ECDSA with P-256, RSA PKCS #1 (COSE identifiers). */
const ALGORITHMS = [-8, -7, -257];
/** Maximum length of a public key. One of RSA with 8192 bits has 1,040 bytes. */
const MAX_PUBLIC_KEY_BYTES = 2000;
/** Maximum length of a credential id, by the specification. */
export const MAX_CREDENTIAL_ID_BYTES = 1023;
/** Ways to reach an authenticator that the specification names. Others are dropped. */
const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'];
/** Maximum length in characters of the reason for a refusal in the log. It contains values that the client sent. */
const MAX_REASON_LENGTH = 300;

/** The site to which passkeys are bound. */
export interface RelyingParty {
  /** Host name. Passkeys work at this host only, because the origin is compared as well. */
  readonly id: string;
  /** Origin of the page that asks for a passkey. */
  readonly origin: string;
}

/**
 * Returns the site of an organization, from the configuration: the Host header of a request does not count. Without EXTERNAL_HOST,
 * the server's own domain is `localhost`, because passkeys cannot be bound to an IP address.
 */
export function relyingPartyOf(
  { config }: Pick<Runtime, 'config'>,
  { subdomain }: Pick<Organization, 'subdomain'>,
): RelyingParty {
  const { hostname: id, origin } = new URL(urlOf({ ...config, host: 'localhost' }, subdomain));
  return { id, origin };
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');

/** Returns the credential id of a passkey, as browsers show it. */
export const credentialIdOf = ({ credentialId }: Pick<Passkey, 'credentialId'>): string => textOf(credentialId);

/** Returns the user handle, with which an authenticator stores the passkeys of a user. It contains no personal data. */
const handleOf = ({ id }: Pick<User, 'id'>): string => textOf(Buffer.from(String(id)));

const descriptorsOf = (passkeys: readonly Passkey[]) =>
  passkeys.map((passkey) => ({
    type: 'public-key',
    id: credentialIdOf(passkey),
    transports: passkey.transports,
  }));

/**
 * Returns the options with which a browser creates a passkey, as JSON text.
 *
 * @param challenge Text in base64url.
 * @param existing Passkeys of the user. An authenticator with one of them creates no other.
 */
export function creationOptions(
  party: RelyingParty,
  { user, organization }: { readonly user: User; readonly organization: Organization },
  challenge: string,
  existing: readonly Passkey[],
): string {
  return JSON.stringify({
    challenge,
    rp: { id: party.id, name: organization.name },
    user: { id: handleOf(user), name: user.email, displayName: user.fullName },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: CHALLENGE_MS,
    excludeCredentials: descriptorsOf(existing),
    authenticatorSelection: { residentKey: 'preferred', requireResidentKey: false, userVerification: 'preferred' },
    attestation: 'none',
  });
}

/**
 * Returns the options with which a browser uses a passkey, as JSON text.
 *
 * @param challenge Text in base64url.
 * @param passkeys Passkeys that the browser offers. Undefined: those that it stores for the site, with verification of the user.
 */
export function requestOptions(party: RelyingParty, challenge: string, passkeys?: readonly Passkey[]): string {
  return JSON.stringify({
    ...{ challenge, rpId: party.id, timeout: CHALLENGE_MS },
    userVerification: passkeys === undefined ? 'required' : 'preferred',
    ...(passkeys !== undefined && { allowCredentials: descriptorsOf(passkeys) }),
  });
}

const base64Url = z.string().regex(/^[A-Za-z0-9_-]+$/);
const credential = { id: base64Url, rawId: base64Url, type: z.literal('public-key') };

/** The response of a browser that created a passkey, as JSON text (`toJSON`). Other fields are ignored. */
const Creation = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64Url,
    attestationObject: base64Url,
    transports: z.array(z.string()).default([]),
  }),
});
export type Creation = z.output<typeof Creation>;

/** The response of a browser that used a passkey, as JSON text (`toJSON`). Other fields are ignored. */
const Assertion = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64Url,
    authenticatorData: base64Url,
    signature: base64Url,
    userHandle: z.string().nullish(),
  }),
});
export type Assertion = z.output<typeof Assertion>;

/** The part of the client data that is read before the verification. Frames in pages of other sites cannot use passkeys. */
const ClientData = z.object({ challenge: base64Url, crossOrigin: z.literal(false).optional() });

function parsed<T>(form: z.ZodType<T>, text: string): T | undefined {
  try {
    return form.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Returns the response in a JSON text. Undefined if it has another form. */
export const creationIn = (text: string): Creation | undefined => parsed(Creation, text);
export const assertionIn = (text: string): Assertion | undefined => parsed(Assertion, text);

/** Returns the challenge that a response answers. Undefined if there is none, or the page was in a frame of another site. */
export const challengeIn = ({ response: { clientDataJSON } }: Creation | Assertion): string | undefined =>
  parsed(ClientData, Buffer.from(clientDataJSON, 'base64url').toString('utf8'))?.challenge;

/**
 * Returns the result of the verification of a response to a challenge. Undefined if the verification throws, or the response
 * answers another challenge; the reason is logged.
 */
async function verifying<T>(
  { log }: Runtime,
  response: Creation | Assertion,
  challenge: string,
  verify: () => Promise<T>,
): Promise<T | undefined> {
  try {
    if (challengeIn(response) !== challenge) throw new Error('Unexpected challenge, or a frame of another site');
    return await verify();
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, MAX_REASON_LENGTH) : undefined;
    log.warn({ reason }, 'passkey refused');
    return undefined;
  }
}

/** A passkey that a browser created. */
export type NewPasskey = Pick<Passkey, 'credentialId' | 'publicKey' | 'counter' | 'transports' | 'isBackedUp'>;

/**
 * Verifies the response of a browser that created a passkey.
 *
 * @returns Undefined if the response is not valid for the site and the challenge.
 */
export const verifyCreation = (
  app: Runtime,
  party: RelyingParty,
  creation: Creation,
  challenge: string,
): Promise<NewPasskey | undefined> =>
  verifying(app, creation, challenge, async () => {
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const { registrationInfo } = await verifyRegistrationResponse({
      response: await withoutAttestation(creation),
      ...{ expectedChallenge: challenge, expectedOrigin: party.origin, expectedRPID: party.id },
      ...{ requireUserVerification: false, supportedAlgorithmIDs: ALGORITHMS },
    });
    if (registrationInfo === undefined) return undefined;
    const { credential, credentialBackedUp: isBackedUp } = registrationInfo;
    // The signed data contains the id as well, and only that one was verified.
    if (credential.id !== creation.id) throw new Error('Credential ID differs from the one in the authenticator data');
    const credentialId = new Uint8Array(Buffer.from(credential.id, 'base64url'));
    if (credentialId.length > MAX_CREDENTIAL_ID_BYTES) throw new Error('Credential ID is too long');
    if (credential.publicKey.length > MAX_PUBLIC_KEY_BYTES) throw new Error('Public key is too long');
    const transports = TRANSPORTS.filter((transport) => creation.response.transports.includes(transport));
    return {
      credentialId,
      publicKey: credential.publicKey,
      counter: BigInt(credential.counter),
      transports,
      isBackedUp,
    };
  });

/**
 * Returns a response without its attestation, the statement about the model of the authenticator. None is requested, and every
 * model is accepted. The library would verify the certificates of a statement, and fetch revocation lists from URLs in them.
 */
async function withoutAttestation({ id, rawId, type, response }: Creation) {
  const { decodeAttestationObject, isoCBOR } = await import('@simplewebauthn/server/helpers');
  const { clientDataJSON } = response;
  const given = decodeAttestationObject(new Uint8Array(Buffer.from(response.attestationObject, 'base64url')));
  const plain = new Map<string, string | Uint8Array | Map<string, never>>([
    ['fmt', 'none'],
    ['attStmt', new Map<string, never>()],
    ['authData', given.get('authData')],
  ]);
  const attestationObject = textOf(isoCBOR.encode(plain));
  return { id, rawId, type, response: { clientDataJSON, attestationObject }, clientExtensionResults: {} };
}

/** Values of a passkey after a use. The signature covers them. */
export type PasskeyUse = Pick<Passkey, 'counter' | 'isBackedUp' | 'signsInAlone'>;

/**
 * Verifies the response of a browser that used a passkey.
 *
 * @param isAlone Whether the passkey replaces the password: the authenticator must then have verified the user, and named them.
 * @returns Undefined if the response is not valid for the site and the challenge, or the counter did not increase.
 */
export const verifyAssertion = (
  app: Runtime,
  party: RelyingParty,
  passkey: Passkey,
  assertion: Assertion,
  { challenge, isAlone }: { readonly challenge: string; readonly isAlone: boolean },
): Promise<PasskeyUse | undefined> =>
  verifying(app, assertion, challenge, async () => {
    const { id, rawId, type, response } = assertion;
    const { userHandle, clientDataJSON, authenticatorData, signature } = response;
    const isUnnamed = userHandle === null || userHandle === undefined || userHandle === '';
    if (isUnnamed ? isAlone : userHandle !== handleOf({ id: passkey.userId }))
      throw new Error('Unexpected user handle');
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        id,
        rawId,
        type,
        response: { clientDataJSON, authenticatorData, signature },
        clientExtensionResults: {},
      },
      ...{ expectedChallenge: challenge, expectedOrigin: party.origin, expectedRPID: party.id },
      credential: {
        ...{ id: credentialIdOf(passkey), counter: Number(passkey.counter) },
        publicKey: new Uint8Array(passkey.publicKey),
      },
      requireUserVerification: isAlone,
    });
    if (!verified) throw new Error('Wrong signature');
    const { newCounter, credentialBackedUp: isBackedUp } = authenticationInfo;
    return { counter: BigInt(newCounter), isBackedUp, signsInAlone: passkey.signsInAlone || isAlone };
  });
