import type { Ctx } from '../../access/context.ts';
import { ValidationError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { MAX_RESPONSE_LENGTH, provePasskeyOf, requireAssertion } from './passkeys.ts';
import { requireCode, useCode } from './second-step.ts';

/** Proof with a second factor, as a client sends it: one of the two. */
export interface GivenFactorProof {
  /** Code of the authenticator app, or a recovery code. */
  readonly code?: string | null | undefined;
  /** Response of a browser that used a passkey, as JSON text. */
  readonly passkey?: string | null | undefined;
}

/** Proof with a second factor whose form was checked. */
export type FactorProof = { readonly code: string } | { readonly passkey: string };

/**
 * Checks the form of a proof. Called before the state of the account is read, so that a malformed proof always has the same error.
 *
 * @throws ValidationError if there is not exactly one proof, or it is blank, contains a null byte or is too long.
 */
export function requireFactorProof({ code, passkey }: GivenFactorProof): FactorProof {
  if (typeof code === 'string' && typeof passkey !== 'string') return { code: requireCode(code) };
  if (typeof passkey === 'string' && typeof code !== 'string') {
    return { passkey: requireText('passkey', passkey, { strip: true, min: 1, max: MAX_RESPONSE_LENGTH }) };
  }
  throw new ValidationError('Exactly one of `code` and `passkey` is required.', { parameter: 'code' });
}

/**
 * Accepts a proof with a second factor for a change of the viewer's second factors, and uses it up.
 *
 * @throws ValidationError if the code or the response is wrong, or was used before.
 * @throws RateLimitHitError after 5 wrong codes within 30 minutes.
 */
export const proveFactor = (ctx: Ctx, proof: FactorProof): Promise<void> =>
  'code' in proof ? useCode(ctx, ctx.viewer, proof.code) : provePasskeyOf(ctx, requireAssertion(proof.passkey));
