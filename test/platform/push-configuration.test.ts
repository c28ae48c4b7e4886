import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';

const pem = ({ privateKey }: { readonly privateKey: KeyObject }): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const EC = pem(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
const OTHER_CURVE = pem(generateKeyPairSync('ec', { namedCurve: 'secp384r1' }));
const RSA = pem(generateKeyPairSync('rsa', { modulusLength: 2048 }));
const APNS = { APNS_KEY: EC, APNS_KEY_ID: 'ABCDE12345', APNS_TEAM_ID: 'TEAM567890', APNS_TOPIC: 'org.example.chat' };
const ACCOUNT = { project_id: 'chat', client_email: 'a@b.example', private_key: RSA };
const fcm = (changes = {}) => ({ FCM_SERVICE_ACCOUNT: JSON.stringify({ ...ACCOUNT, ...changes }) });
const KEY = Buffer.alloc(32, 7).toString('base64');

test('push services of phones are off unless they are configured', () => {
  expect(readConfig({})).toMatchObject({ apns: undefined, fcm: undefined, pushRegistrationKeys: [] });
});

test('a complete configuration uses the public services', () => {
  const {
    apns,
    fcm: account,
    pushRegistrationKeys,
  } = readConfig({ ...APNS, ...fcm(), PUSH_REGISTRATION_KEYS: `${KEY}, ${KEY}` });
  expect(apns).toMatchObject({ url: 'https://api.push.apple.com', keyId: 'ABCDE12345', topic: 'org.example.chat' });
  expect(account).toMatchObject({
    ...{ url: 'https://fcm.googleapis.com', projectId: 'chat', clientEmail: 'a@b.example' },
    tokenUrl: 'https://oauth2.googleapis.com/token',
  });
  expect(pushRegistrationKeys).toHaveLength(2);
});

test('a key can be written in one line, and servers can be in a local network', () => {
  const env = { ...APNS, APNS_KEY: EC.replaceAll('\n', '\\n'), APNS_URL: 'https://10.0.0.5:8443' };
  expect(readConfig(env).apns?.url).toBe('https://10.0.0.5:8443');
});

const NO_KEY = 'APNS_KEY: must be a private key of the curve P-256 in PEM, as in the file AuthKey_….p8';
const NO_ACCOUNT = 'FCM_SERVICE_ACCOUNT: must be the JSON of a service account';
const NO_KEYS =
  'PUSH_REGISTRATION_KEYS: must be private keys of X25519: 32 bytes each in base64, with commas between them';

test.for([
  [{ APNS_KEY: EC }, 'APNS_KEY_ID, APNS_TEAM_ID, APNS_TOPIC: required with the other APNS_ variables'],
  [{ ...APNS, APNS_TOPIC: '' }, 'APNS_TOPIC: required with the other APNS_ variables'],
  [{ ...APNS, APNS_KEY: 'a key' }, NO_KEY],
  [{ ...APNS, APNS_KEY: OTHER_CURVE }, NO_KEY],
  [{ ...APNS, APNS_KEY: RSA }, NO_KEY],
  [{ ...APNS, APNS_KEY_ID: 'short' }, 'APNS_KEY_ID: must be the id of the key: 10 letters and digits'],
  [{ ...APNS, APNS_TEAM_ID: 'short' }, 'APNS_TEAM_ID: must be the id of the team: 10 letters and digits'],
  [{ ...APNS, APNS_TOPIC: 'a b' }, 'APNS_TOPIC: must be the bundle id of the app, such as com.example.chat'],
  [{ ...APNS, APNS_URL: 'http://api.push.apple.com' }, 'APNS_URL: must be an https:// URL'],
  [{ ...APNS, APNS_URL: 'https://api.push.apple.com/3' }, 'APNS_URL: must be a URL without a path'],
  [{ FCM_SERVICE_ACCOUNT: '{' }, NO_ACCOUNT],
  [fcm({ project_id: undefined }), `${NO_ACCOUNT}: project_id: Invalid input: expected string, received undefined`],
  [fcm({ private_key: EC }), `${NO_ACCOUNT}: private_key: must be an RSA private key in PEM`],
  [fcm({ token_uri: 'http://tokens.example' }), `${NO_ACCOUNT}: token_uri: must be an https:// URL`],
  [{ ...fcm(), FCM_URL: 'ftp://x' }, 'FCM_URL: must be an https:// URL'],
  [{ PUSH_REGISTRATION_KEYS: 'abcd' }, NO_KEYS],
  [{ PUSH_REGISTRATION_KEYS: `${KEY},x` }, NO_KEYS],
] as const)('%j is refused at the start', ([env, message]) => {
  expect(() => readConfig(env as Record<string, string>)).toThrow(message);
});
