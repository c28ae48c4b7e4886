import type { FeatureTests } from '../helpers/feature.ts';

const challenge = 'no challenge';
const code = '123456';
const currentPassword = 'not looked at';
const EXPIRED = 'This sign-in has expired. Enter your password again.';
const NONE = 'You have no second factor.';
const credentialId = 'cGFzc2tleQ';
const response = '{"id":"cGFzc2tleQ"}';
const REFUSED = 'The passkey was not accepted. Try again.';
const UNKNOWN = 'No such passkey.';

export const secondFactor: FeatureTests = {
  rest: {
    'POST /sessions/second_factor': () => [
      { parameters: { challenge, code }, refusal: EXPIRED },
      { parameters: { challenge, passkey: response }, refusal: EXPIRED },
    ],
  },
  queries: { ownSecondFactor: () => [{}] },
  mutations: {
    confirmSecondFactor: () => [{ code }],
    beginSecondFactorAtSignIn: () => [{ challenge }],
    completeSignIn: () => [
      { challenge, proof: { code } },
      { challenge, proof: { passkey: response } },
    ],
    continueInApp: () => [{ kind: 'MOBILE', secret: 'ab'.repeat(32) }],
    replaceRecoveryCodes: () => [
      { proof: { code }, currentPassword },
      { proof: { passkey: response }, currentPassword },
    ],
    removeSecondFactor: () => [
      { proof: { code }, currentPassword },
      { proof: { passkey: response }, currentPassword },
    ],
    beginPasskey: () => [
      { proof: { code }, currentPassword },
      { proof: { passkey: response }, currentPassword },
    ],
    beginPasskeyAtSignIn: () => [{ challenge }],
    beginPasskeyProof: () => [{}],
    beginPasskeySignIn: () => [{}],
    completePasskeySignIn: () => [{ response }],
    addPasskey: () => [{ name: 'Phone', response }],
    renamePasskey: () => [{ credentialId, name: 'Tablet' }],
    removePasskey: () => [
      { credentialId, proof: { code }, currentPassword },
      { credentialId, proof: { passkey: response }, currentPassword },
    ],
    resetSecondFactor: ({ userId }) => [{ userId, currentPassword }],
    beginSecondFactor: () => [
      { proof: { code }, currentPassword },
      { proof: { passkey: response }, currentPassword },
    ],
  },
  refusals: {
    beginPasskey: NONE,
    beginSecondFactor: NONE,
    confirmSecondFactor: 'There is no authenticator app to confirm. Begin again.',
    beginSecondFactorAtSignIn: EXPIRED,
    completeSignIn: EXPIRED,
    continueInApp: 'Only a browser can continue a sign-in in an app.',
    replaceRecoveryCodes: NONE,
    removeSecondFactor: 'You have no authenticator app.',
    beginPasskeyAtSignIn: EXPIRED,
    beginPasskeyProof: 'You have no passkey.',
    completePasskeySignIn: REFUSED,
    addPasskey: REFUSED,
    renamePasskey: UNKNOWN,
    removePasskey: UNKNOWN,
    resetSecondFactor: 'The user has no second factor.',
  },
  rules: { second_factor_changed: () => {} },
};
