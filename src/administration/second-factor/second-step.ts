import type { RequestCtx } from '../../access/context.ts';
import type { FactorProof } from '../sign-in/factor-proof.ts';
import { factorsOf } from '../sign-in/factors.ts';
import { requireAssertion, usePasskey } from '../sign-in/passkeys.ts';
import { completeChallenge, type FirstStep, isFactorRequired, useCode } from '../sign-in/second-step.ts';
import type { Change } from './changes.ts';
import { addPasskeyAtSignIn } from './passkeys.ts';
import { confirmAtSignIn, notBegun } from './service.ts';

/**
 * Checks the second step of a sign-in, and uses its proof up.
 *
 * @returns A function that completes the challenge and adds the second factor of a person without one. It runs in the transaction
 *   in which the session begins, and returns the new recovery codes if it adds a second factor, otherwise null.
 */
export async function completeSecondStep(
  request: RequestCtx,
  first: FirstStep,
  proof: FactorProof,
): Promise<Change<string[] | null>> {
  const { account, step } = first;
  // The person can have added the second factor in another tab since the first step.
  if ((await factorsOf(request.work.db, account.user)).count === 0) {
    if (step === 'enrollment') return enrollAtSignIn(request, first, proof);
    if (isFactorRequired(account)) throw notBegun();
  } else if ('code' in proof) {
    await useCode(request, account, proof.code);
  } else {
    await usePasskey(request, account, requireAssertion(proof.passkey), first.text);
  }
  return async (tx) => {
    await completeChallenge(request.app, tx, first);
    return null;
  };
}

function enrollAtSignIn(request: RequestCtx, first: FirstStep, proof: FactorProof): Promise<Change<string[] | null>> {
  if ('code' in proof) return confirmAtSignIn(request, first, proof.code);
  return addPasskeyAtSignIn(request, first, proof.passkey);
}
