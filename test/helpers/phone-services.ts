import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, verify } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import sodium from 'libsodium-wrappers';
import type { Json } from './http.ts';
import { startHttpServer } from './http-server.ts';
import type { Person } from './person.ts';

/** A message for a device, as its push service received it. */
export interface PhonePush {
  readonly body: Json;
  readonly headers: IncomingHttpHeaders;
}

/** The reply of a push service to a message. Only status 200 delivers it. */
export interface PhoneReply {
  readonly status: number;
  readonly body?: Json;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A device with a token. */
export interface Phone {
  readonly token: string;
  /** Messages that arrived and were accepted, in order. */
  readonly received: readonly PhonePush[];
  /** Number of messages that arrived, accepted or not. */
  attempts: number;
  /** Reply of the push service from now on. Default: status 200. "hang": none. */
  reply: PhoneReply | 'hang';
  /** Called before the service replies. The message has arrived already. */
  before: ((stream: ServerHttp2Stream) => Promise<void> | void) | undefined;
}

/** A push service of phones on this machine. It checks the signature of each request that it accepts. */
export interface PhoneService {
  readonly url: string;
  /** Number of connections so far. */
  connections(): number;
  /** Number of connections that are open now. */
  openConnections(): number;
  /** Creates a device with a token. */
  phone(): Phone;
  /** Breaks all connections. */
  cut(): void;
  /** Sends GOAWAY on all connections, and closes each when its requests are answered. Further ones need another connection. */
  goAway(): void;
}

/** The push services of Google and Apple, and the environment with which a service uses them: `await using` it. */
export interface PhoneServices extends AsyncDisposable {
  readonly fcm: PhoneService;
  readonly apns: PhoneService;
  /** Number of access tokens that were granted. */
  grants(): number;
  /** Makes all access tokens so far invalid. */
  revoke(): void;
  readonly env: Readonly<Record<string, string>>;
  /** Public key for encrypted registrations, in base64. */
  readonly registrationKey: string;
}

export const TOPIC = 'org.example.chat';
const PROJECT = 'chat-of-tests';
const [KEY_ID, TEAM_ID] = ['ABCDE12345', 'TEAM567890'];
const ACCOUNT = 'sender@chat-of-tests.example';

/**
 * Starts both services.
 *
 * @param knowsAll Whether devices that `phone` has not created exist too. Default: no, so the service deletes their registrations.
 */
export async function startPhoneServices({ knowsAll = false } = {}): Promise<PhoneServices> {
  await sodium.ready;
  const unknown = (reply: PhoneReply): PhoneReply => (knowsAll ? { status: 200 } : reply);
  const apnsKeys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const fcmKeys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const granted = new Set<string>();
  let grants = 0;
  const tokens = await startHttpServer(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    const claims = claimsIn(form.get('assertion') ?? '', fcmKeys.publicKey, 'RS256');
    const isValid =
      form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
      claims?.['iss'] === ACCOUNT &&
      claims['aud'] === `${tokens.url}/token` &&
      claims['scope'] === 'https://www.googleapis.com/auth/firebase.messaging' &&
      claims['exp'] > Date.now() / 1000;
    if (!isValid) return void response.writeHead(400).end('{"error":"invalid_grant"}');
    const accessToken = randomBytes(24).toString('base64url');
    granted.add(accessToken);
    grants++;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ access_token: accessToken, expires_in: 3600, token_type: 'Bearer' }));
  });
  const fcm = await startService(() => randomBytes(60).toString('base64url'), {
    tokenIn: (path, body) =>
      path === `/v1/projects/${PROJECT}/messages:send` ? (body.message?.token as string | undefined) : undefined,
    unknown: unknown({
      status: 404,
      body: { error: { code: 404, status: 'NOT_FOUND', details: [{ errorCode: 'UNREGISTERED' }] } },
    }),
    refusal: ({ authorization = '' }) =>
      granted.has(authorization.replace(/^Bearer /, ''))
        ? undefined
        : { status: 401, body: { error: { code: 401, status: 'UNAUTHENTICATED' } } },
  });
  const apns = await startService(() => randomBytes(32).toString('hex'), {
    tokenIn: (path) => /^\/3\/device\/([0-9a-f]+)$/.exec(path)?.[1],
    unknown: unknown({ status: 400, body: { reason: 'BadDeviceToken' } }),
    refusal: (headers) => {
      const token = (headers.authorization ?? '').replace(/^bearer /, '');
      const claims = claimsIn(token, apnsKeys.publicKey, 'ES256', KEY_ID);
      if (claims === undefined || claims['iss'] !== TEAM_ID)
        return { status: 403, body: { reason: 'InvalidProviderToken' } };
      if (Math.abs(Date.now() / 1000 - claims['iat']) > 3600)
        return { status: 403, body: { reason: 'ExpiredProviderToken' } };
      if (headers['apns-topic'] !== TOPIC) return { status: 400, body: { reason: 'DeviceTokenNotForTopic' } };
      return undefined;
    },
  });
  const registration = sodium.crypto_box_keypair();
  const privatePem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
  return {
    fcm,
    apns,
    grants: () => grants,
    revoke: () => granted.clear(),
    env: {
      APNS_KEY: privatePem(apnsKeys.privateKey),
      ...{ APNS_KEY_ID: KEY_ID, APNS_TEAM_ID: TEAM_ID, APNS_TOPIC: TOPIC, APNS_URL: apns.url, FCM_URL: fcm.url },
      FCM_SERVICE_ACCOUNT: JSON.stringify({
        ...{ project_id: PROJECT, client_email: ACCOUNT, token_uri: `${tokens.url}/token` },
        private_key: privatePem(fcmKeys.privateKey),
      }),
      PUSH_REGISTRATION_KEYS: Buffer.from(registration.privateKey).toString('base64'),
    },
    registrationKey: Buffer.from(registration.publicKey).toString('base64'),
    async [Symbol.asyncDispose]() {
      await Promise.all([fcm, apns, tokens].map((one) => one[Symbol.asyncDispose]()));
    },
  };
}

/** Returns the claims of a token. Undefined if its signature is invalid. */
function claimsIn(token: string, key: KeyObject, algorithm: 'ES256' | 'RS256', keyId?: string): Json | undefined {
  const [header = '', claims = '', signature = ''] = token.split('.');
  const { alg, kid } = parsed(header);
  const isValid =
    alg === algorithm &&
    kid === keyId &&
    verify(
      'sha256',
      Buffer.from(`${header}.${claims}`),
      { key: createPublicKey(key.export({ type: 'spki', format: 'pem' })), dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
  return isValid ? parsed(claims) : undefined;
}

function parsed(part: string): Json {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString());
  } catch {
    return {};
  }
}

interface Rules {
  /** Returns the token of the device for which a request is. */
  readonly tokenIn: (path: string, body: Json) => string | undefined;
  /** Reply to messages for devices that do not exist. */
  readonly unknown: PhoneReply;
  /** Returns the reply to a request that is not authorized. */
  readonly refusal: (headers: IncomingHttpHeaders) => PhoneReply | undefined;
}

interface KnownPhone extends Phone {
  readonly received: PhonePush[];
}

async function startService(
  newToken: () => string,
  { tokenIn, unknown, refusal }: Rules,
): Promise<PhoneService & AsyncDisposable> {
  const phones = new Map<string, KnownPhone>();
  const sessions = new Set<ServerHttp2Session>();
  let connections = 0;
  const server: Http2Server = createServer();
  server.on('session', (session) => {
    connections++;
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => undefined);
  });
  const answer = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const body: Json = JSON.parse(await text(stream));
    const token = tokenIn(headers[':path'] ?? '', body);
    const phone = phones.get(token ?? '');
    const isGivenRefusal = phone !== undefined && phone.reply !== 'hang' && phone.reply.status !== 200;
    const refused = isGivenRefusal ? undefined : refusal(headers);
    const reply = refused ?? phone?.reply ?? unknown;
    if (phone !== undefined) phone.attempts++;
    if (phone !== undefined && refused === undefined && reply !== 'hang' && reply.status === 200) {
      phone.received.push({ body, headers });
    }
    await phone?.before?.(stream);
    if (stream.destroyed || reply === 'hang') return;
    stream.respond({ ':status': reply.status, ...reply.headers });
    stream.end(reply.body === undefined ? '' : JSON.stringify(reply.body));
  };
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    answer(stream, headers).catch(() => stream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    openConnections: () => sessions.size,
    phone() {
      const token = newToken();
      const phone: KnownPhone = { token, received: [], attempts: 0, reply: { status: 200 }, before: undefined };
      phones.set(token, phone);
      return phone;
    },
    cut: () => {
      for (const session of sessions) session.destroy();
    },
    goAway: () => {
      for (const session of sessions) session.close();
    },
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An app with a key for encrypted notifications. */
export interface EncryptedApp {
  readonly deviceId: number;
  /** Parameters of the registration of its key and a token. */
  registration(kind: 'fcm' | 'apns', token: string, changes?: Json): Json;
  /** Decrypts the messages that a phone has received. */
  decrypted(phone: Phone): Json[];
}

/** Registers an app, without its key and token. */
export async function registerApp(
  person: Pick<Person, 'ok'>,
  { registrationKey }: PhoneServices,
): Promise<EncryptedApp> {
  const { device_id: deviceId } = await person.ok('POST', '/register_client_device');
  const key = randomBytes(32);
  const pushKeyId = randomBytes(4).readUInt32BE();
  return {
    deviceId,
    registration(kind, token, changes = {}) {
      const plain = {
        ...{ token, token_kind: kind, timestamp: Math.floor(Date.now() / 1000) },
        ...(kind === 'apns' && { ios_app_id: TOPIC }),
        ...changes,
      };
      const sealed = sodium.crypto_box_seal(JSON.stringify(plain), Buffer.from(registrationKey, 'base64'));
      return {
        ...{ device_id: deviceId, push_key_id: pushKeyId, token_kind: kind, bouncer_public_key: registrationKey },
        push_key: Buffer.concat([Buffer.from([0x31]), key]).toString('base64'),
        token_id: createHash('sha256').update(token).digest().subarray(0, 8).toString('base64'),
        encrypted_push_registration: Buffer.from(sealed).toString('base64'),
      };
    },
    decrypted: ({ received }) =>
      received.map(({ body }) => {
        const { push_key_id: id, encrypted_data: data } = body.message?.data ?? body;
        if (Number(id) !== pushKeyId) throw new Error('The message is encrypted with another key');
        const bytes = Buffer.from(data, 'base64');
        const plain = sodium.crypto_secretbox_open_easy(bytes.subarray(24), bytes.subarray(0, 24), key);
        return JSON.parse(Buffer.from(plain).toString());
      }),
  };
}
