import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { App, Ctx, RequestCtx } from '../app.ts';
import { urlOf } from '../auth/host.ts';
import { requireActive } from '../auth/service.ts';
import { BadRequestError, RequestVariableMissingError } from '../errors.ts';
import { type Grant, ProviderError, requestToken } from './provider.ts';
import { requireProvider } from './service.ts';
import { keepToken } from './tokens.ts';

/** Our choice: time enough to sign in at the provider and agree. */
const STATE_MS = 600_000;
const PURPOSE = 'video call registration';

/** What comes back from the provider as it was sent: who asked, sealed under SECRET_KEY, so that no session is needed. */
const State = z.object({
  purpose: z.literal(PURPOSE),
  realmId: z.int(),
  userId: z.int(),
  /** Of the code challenge. @see RFC 7636 4.1 */
  verifier: z.string(),
  /** Milliseconds since 1970. */
  expiresAt: z.number(),
});
type State = z.output<typeof State>;

/**
 * Where the viewer's browser goes, to allow calls to be made in their name. From there the provider sends it to GET
 * /calls/videoprovider/complete. Whoever follows the address within ten minutes lends their account at the provider to
 * the viewer.
 *
 * @throws BadRequestError when there is no provider.
 * @see endpoints companion 4.21; RFC 6749 4.1.1; RFC 7636
 */
export function beginRegistration({ app, realmId, viewer }: Ctx): string {
  const { clientId, authorizeUrl } = requireProvider(app);
  const verifier = randomBytes(32).toString('base64url');
  const expiresAt = app.now().getTime() + STATE_MS;
  const state: State = { purpose: PURPOSE, realmId, userId: viewer.id, verifier, expiresAt };
  const url = new URL(authorizeUrl);
  const query = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri(app),
    state: Buffer.from(app.keys.seal(JSON.stringify(state))).toString('base64url'),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

/** One for all organisations, because providers want to know each address: at the server's own domain. */
const redirectUri = ({ config }: App) => `${urlOf(config, '')}/api/v1/calls/videoprovider/complete`;

/** What the provider sends along. */
export interface Consent {
  /** Absent when the user did not agree. */
  readonly code?: string | undefined;
  readonly state: string;
  /** Why there is no code. */
  readonly error?: string | undefined;
}

/**
 * Takes what the provider sends when the user has agreed, and keeps the token. The state says who the user is, so that no
 * credentials are needed.
 *
 * @throws BadRequestError when the state is not one of ours, is too old, or is of another organisation; when the user did
 *   not agree, or the provider gives no token for the code.
 * @throws RequestVariableMissingError without a code.
 * @throws RealmDeactivatedError, UserDeactivatedError when the user may not sign in any more.
 * @see endpoints companion 4.21
 */
export async function completeRegistration({ app, realm }: RequestCtx, consent: Consent): Promise<void> {
  const provider = requireProvider(app);
  const { realmId, userId, verifier } = openState(app, consent.state);
  const user = await app.db.user.findFirst({ where: { realmId, id: userId }, include: { realm: true } });
  const isElsewhere = realm !== null && realm.subdomain !== '' && realm.id !== realmId;
  if (user === null || isElsewhere) throw badState();
  requireActive({ user, realm: user.realm });
  const { code, error } = consent;
  if (error !== undefined) throw new BadRequestError('The video provider did not give its permission');
  if (code === undefined) throw new RequestVariableMissingError('code');
  const answer = await exchange(app, {
    ...{ grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri(app) },
  });
  if (answer === 'refused') throw new BadRequestError('Invalid video provider credentials');
  await keepToken({ app, realmId }, userId, answer);

  function exchange(app: App, grant: Grant) {
    return requestToken(provider, grant).catch((error: unknown) => {
      if (!(error instanceof ProviderError)) throw error;
      app.log.warn({ err: error }, 'a video provider gave no token');
      throw new BadRequestError('Failed to reach the video provider');
    });
  }
}

const badState = () => new BadRequestError('Invalid video provider session identifier');

function openState({ keys, now }: App, text: string): State {
  try {
    const state = State.parse(JSON.parse(keys.open(Buffer.from(text, 'base64url'))));
    if (state.expiresAt > now().getTime()) return state;
  } catch {
    // Whatever is wrong with it, it is none of ours.
  }
  throw badState();
}
