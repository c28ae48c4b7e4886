import { createECDH, createPublicKey, randomBytes, verify } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import ece from 'http_ece';
import type { Json } from './http.ts';
import { startHttpServer } from './http-server.ts';
import type { Person } from './person.ts';

/** A push message as a device received it. */
export interface ReceivedPush {
  readonly message: Json;
  readonly headers: IncomingHttpHeaders;
}

/** A device with an endpoint at the push service. */
export interface Device {
  readonly endpoint: string;
  /** Id in GraphQL. */
  readonly id: string;
  /** Messages that arrived, decrypted, in order. */
  readonly received: readonly ReceivedPush[];
  /** Status with which the push service answers from now on. Default: 201. Other statuses than 201 deliver nothing. */
  status: number;
  /** Called before the service answers. The message has arrived already. */
  before: (() => Promise<void> | void) | undefined;
}

/** A push service on this machine: `await using` it. */
export interface PushService extends AsyncDisposable {
  /** Creates a device with keys of its own. @returns The device, and its subscription as browsers describe it. */
  reserve(): { readonly device: Device; readonly subscription: Json };
  /** Creates a device with keys of its own, and registers it for a user. */
  register(person: Person, name?: string): Promise<Device>;
}

export const REGISTER = 'pushDevice { id name endpoint createdAt lastSentAt }';

/** Returns the keys of a new device, and a function that decrypts its messages. */
export function newDeviceKeys() {
  const keys = createECDH('prime256v1');
  const publicKey = keys.generateKeys('base64url');
  const authSecret = randomBytes(16).toString('base64url');
  const decrypt = (body: Buffer) => ece.decrypt(body, { version: 'aes128gcm', privateKey: keys, authSecret });
  return { publicKey, authSecret, decrypt };
}

interface KnownDevice extends Device {
  readonly decrypt: (body: Buffer) => Buffer;
  readonly received: ReceivedPush[];
}

export async function startPushService(): Promise<PushService> {
  const devices = new Map<string, KnownDevice>();
  const { url, ...rest } = await startHttpServer(async (request, response) => {
    const device = devices.get(request.url ?? '');
    if (device === undefined) return void response.writeHead(404).end();
    const body = await buffer(request);
    if (device.status === 201) {
      requireSignature(request.headers);
      device.received.push({ message: JSON.parse(device.decrypt(body).toString()), headers: request.headers });
    }
    await device.before?.();
    response.writeHead(device.status).end();
  });
  const service: PushService = {
    ...rest,
    reserve() {
      const path = `/push/${randomBytes(16).toString('base64url')}`;
      const { decrypt, ...keys } = newDeviceKeys();
      const endpoint = `${url}${path}`;
      const device: KnownDevice = { endpoint, id: '', decrypt, received: [], status: 201, before: undefined };
      devices.set(path, device);
      return { device, subscription: { endpoint, keys: { p256dh: keys.publicKey, auth: keys.authSecret } } };
    },
    async register(person, name = 'A browser') {
      const { device, subscription } = service.reserve();
      const { endpoint, keys } = subscription;
      const input = { endpoint, publicKey: keys.p256dh, authSecret: keys.auth, name };
      const { pushDevice } = await person.mutate('registerPushDevice', input, REGISTER);
      return Object.assign(device, { id: pushDevice.id });
    },
  };
  return service;
}

/** Checks the signature of a request. @see RFC 8292 */
function requireSignature({ authorization = '' }: IncomingHttpHeaders): void {
  const [, token = '', key = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(authorization) ?? [];
  const [header = '', claims = '', signature = ''] = token.split('.');
  const point = Buffer.from(key, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
  const publicKey = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y } as never, format: 'jwk' });
  const isValid = verify(
    'sha256',
    Buffer.from(`${header}.${claims}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  const { exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Json;
  if (!isValid || exp * 1000 < Date.now() || !/^(mailto:|https:)/.test(sub))
    throw new Error('The signature is invalid');
}
