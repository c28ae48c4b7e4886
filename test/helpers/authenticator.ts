import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const BACKUP_ELIGIBLE = 0x08;
const BACKED_UP = 0x10;
const CREDENTIAL_INCLUDED = 0x40;

/** Deviations from a correct response. */
export interface Forgery {
  readonly origin?: string;
  readonly rpId?: string;
  /** Type in the client data. Default: the one of the operation. */
  readonly type?: 'webauthn.create' | 'webauthn.get';
  /** Challenge in base64url. Default: the one of the options. */
  readonly challenge?: string;
  readonly crossOrigin?: boolean;
  readonly isPresent?: boolean;
  readonly isVerified?: boolean;
  readonly counter?: number;
  /** Credential id in base64url outside of the signed data. */
  readonly id?: string;
  readonly userHandle?: string | null;
  /** Transports in the response to a creation. */
  readonly transports?: readonly string[];
  /** Attestation in the response to a creation. Default: none. */
  readonly attestation?: { readonly fmt: string; readonly attStmt: Map<string, string | Uint8Array> };
}

/** Options with which a page creates or uses a passkey. */
interface Options {
  readonly challenge: string;
  readonly rpId?: string;
  readonly rp?: { readonly id: string };
  readonly user?: { readonly id: string };
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** A passkey in software, with a key of ECDSA P-256, and the browser that uses it. */
export class Authenticator {
  readonly #origin: string;
  readonly #key: KeyObject;
  readonly #publicKey: KeyObject;
  readonly id = randomBytes(32).toString('base64url');
  #userHandle: string | undefined;
  /** Counter of the signatures. Stays 0 unless `counts`. */
  counter = 0;
  readonly #counts: boolean;

  /** @param origin Origin of the page. @param counts Whether the authenticator counts signatures, as security keys do. */
  constructor(origin: string, counts = true) {
    this.#origin = origin;
    this.#counts = counts;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    this.#publicKey = publicKey;
  }

  /** Returns the response to the options of a creation. Both are JSON text. */
  create(options: string, forgery: Forgery = {}): string {
    const { challenge, rp, user } = JSON.parse(options) as Options;
    this.#userHandle = user?.id;
    const id = Buffer.from(this.id, 'base64url');
    const { x, y } = this.#publicKey.export({ format: 'jwk' });
    const cose = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        ...([
          [1, 2],
          [3, -7],
          [-1, 1],
        ] as const),
        [-2, new Uint8Array(Buffer.from(String(x), 'base64url'))],
        [-3, new Uint8Array(Buffer.from(String(y), 'base64url'))],
      ]),
    );
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const authData = Buffer.concat([
      this.#data(rp?.id ?? '', forgery, CREDENTIAL_INCLUDED),
      Buffer.alloc(16),
      length,
      id,
      cose,
    ]);
    const { fmt = 'none', attStmt = new Map<string, string | Uint8Array>() } = forgery.attestation ?? {};
    const attestation = new Map<string, string | Uint8Array | Map<string, string | Uint8Array>>([
      ['fmt', fmt],
      ['attStmt', attStmt],
      ['authData', new Uint8Array(authData)],
    ]);
    return this.#response(forgery, {
      clientDataJSON: this.#clientData('webauthn.create', challenge, forgery).toString('base64url'),
      attestationObject: Buffer.from(isoCBOR.encode(attestation)).toString('base64url'),
      transports: forgery.transports ?? ['internal', 'hybrid'],
    });
  }

  /** Returns the response to the options of a use. Both are JSON text. */
  use(options: string, forgery: Forgery = {}): string {
    const { challenge, rpId = '' } = JSON.parse(options) as Options;
    if (this.#counts) this.counter += 1;
    const data = this.#data(rpId, forgery, 0);
    const clientData = this.#clientData('webauthn.get', challenge, forgery);
    const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), this.#key);
    const { userHandle = this.#userHandle } = forgery;
    return this.#response(forgery, {
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle,
    });
  }

  #response({ id = this.id }: Forgery, response: object): string {
    return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response });
  }

  #clientData(type: string, challenge: string, forgery: Forgery): Buffer {
    const { origin = this.#origin, crossOrigin = false } = forgery;
    const given = { type: forgery.type ?? type, challenge: forgery.challenge ?? challenge };
    return Buffer.from(JSON.stringify({ ...given, origin, crossOrigin }));
  }

  #data(rpId: string, forgery: Forgery, more: number): Buffer {
    const { isPresent = true, isVerified = true, counter = this.counter } = forgery;
    const flags =
      (isPresent ? USER_PRESENT : 0) | (isVerified ? USER_VERIFIED : 0) | BACKUP_ELIGIBLE | BACKED_UP | more;
    const rest = Buffer.alloc(5);
    rest.writeUInt8(flags, 0);
    rest.writeUInt32BE(counter, 1);
    return Buffer.concat([sha256(forgery.rpId ?? rpId), rest]);
  }
}
