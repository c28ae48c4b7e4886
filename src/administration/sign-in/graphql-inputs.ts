import type { Types } from '../../api/graphql/schema/builder.ts';

/** Description of the response of a browser that used a passkey. */
export const USED_PASSKEY =
  'Response of the browser that used a passkey (`navigator.credentials.get`), as JSON text of its `toJSON`. At most 40,000 ' +
  'characters.';
/** Description of the options with which a browser uses a passkey. */
export const REQUEST_OPTIONS =
  'Options of `navigator.credentials.get`, as JSON text for `PublicKeyCredential.parseRequestOptionsFromJSON`.';

/** Returns the inputs for a proof with a second factor, of which a client sets one. */
export const factorProof = (t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>, passkey = USED_PASSKEY) => ({
  code: t.string({
    required: false,
    description: 'Code of the authenticator app, six digits, or a recovery code. Instead of `passkey`.',
  }),
  passkey: t.string({ required: false, description: passkey }),
});
