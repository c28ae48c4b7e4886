import { builder } from '../../api/graphql/schema/builder.ts';

/** Description of the response of a browser that used a passkey. */
export const USED_PASSKEY =
  'Response of the browser that used a passkey (`navigator.credentials.get`), as JSON text of its `toJSON`. At most 40,000 ' +
  'characters.';
/** Description of the options with which a browser uses a passkey. */
export const REQUEST_OPTIONS =
  'Options of `navigator.credentials.get`, as JSON text for `PublicKeyCredential.parseRequestOptionsFromJSON`.';

/** GraphQL input for a proof with a second factor. */
export const FactorProof = builder.inputType('FactorProofInput', {
  isOneOf: true,
  description: 'Proof with a second factor.',
  fields: (t) => ({
    code: t.string({ required: false, description: 'Code of the authenticator app, six digits, or a recovery code.' }),
    passkey: t.string({
      required: false,
      description: `${USED_PASSKEY} If the person adds a passkey in \`completeSignIn\`, the response of \`navigator.credentials.create\`.`,
    }),
  }),
});
