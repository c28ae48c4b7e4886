import { z } from 'zod';
import type { VideoProvider } from '../../platform/config.ts';

/** Our choice: a provider answers within seconds, and the client that waits has not left yet. */
export const PROVIDER_TIMEOUT_MS = 10_000;
/** Our choice: tokens and addresses take a kilobyte or two. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** The provider could not be asked, or its answer makes no sense: nothing is known of the token. */
export class ProviderError extends Error {
  override name = 'ProviderError';
}

/** Goes into a header as it is. */
const headerText = z.string().regex(/^[\x21-\x7e]+$/);

const TokenAnswer = z.object({
  access_token: headerText,
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .optional(),
  /** Seconds. */
  expires_in: z.coerce.number().positive().optional(),
  refresh_token: z.string().min(1).optional(),
});
export type TokenAnswer = z.output<typeof TokenAnswer>;

/** How a token is asked for: with the code of a consent, or with the token that renews another. */
export type Grant =
  | {
      readonly grant_type: 'authorization_code';
      readonly code: string;
      readonly code_verifier: string;
      readonly redirect_uri: string;
    }
  | { readonly grant_type: 'refresh_token'; readonly refresh_token: string };

/** Errors that say nothing of the code or token shown: the operator's settings are wrong, or the provider is busy. */
const NOT_OF_THE_GRANT = new Set(['invalid_client', 'server_error', 'temporarily_unavailable']);

/**
 * Asks the provider for a token.
 *
 * @returns "refused" when the code or token shown is not, or no longer, good.
 * @throws ProviderError
 * @see RFC 6749 4.1.3, 5.2, 6; RFC 7636 4.5
 */
export async function requestToken(provider: VideoProvider, grant: Grant): Promise<TokenAnswer | 'refused'> {
  const { clientId, clientSecret, tokenUrl } = provider;
  const login = [clientId, clientSecret].map(encodeURIComponent).join(':');
  const { status, body } = await post(tokenUrl, {
    authorization: `Basic ${Buffer.from(login).toString('base64')}`,
    type: 'application/x-www-form-urlencoded',
    content: new URLSearchParams(grant).toString(),
  });
  if (status === 200) return understood(TokenAnswer, body);
  const { data: refusal } = z.object({ error: z.string() }).safeParse(body);
  if (refusal !== undefined && status < 500 && !NOT_OF_THE_GRANT.has(refusal.error)) return 'refused';
  throw new ProviderError(`The token address answered ${status} ${refusal?.error ?? ''}`);
}

const CallAnswer = z.object({ join_url: z.url({ protocol: /^https?$/, hostname: /./ }).max(2048) });

/**
 * Makes a call in the name of the token's owner.
 *
 * @returns Where to join it, over http or https; "refused" when the token is not, or no longer, good.
 * @throws ProviderError
 */
export async function requestCall({ createUrl }: VideoProvider, accessToken: string): Promise<string | 'refused'> {
  const { status, body } = await post(createUrl, {
    authorization: `Bearer ${accessToken}`,
    type: 'application/json',
    content: '{}',
  });
  if (status === 401) return 'refused';
  if (status !== 200 && status !== 201) throw new ProviderError(`The address for calls answered ${status}`);
  return understood(CallAnswer, body).join_url;
}

interface Sent {
  readonly authorization: string;
  readonly type: string;
  readonly content: string;
}

/** Only ever to the configured addresses: a redirect, which would take the secrets along, is an error. */
async function post(url: string, { authorization, type, content }: Sent): Promise<{ status: number; body: unknown }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { Authorization: authorization, 'Content-Type': type, Accept: 'application/json' },
      body: content,
      redirect: 'error',
      signal: AbortSignal.timeout(PROVIDER_TIMEOUT_MS),
    });
    return { status: response.status, body: parsed(await readBounded(response)) };
  } catch (error) {
    throw new ProviderError('The provider did not answer', { cause: error });
  }
}

async function readBounded({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('The answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** An error's body may be anything. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function understood<S extends z.ZodType>(type: S, body: unknown): z.output<S> {
  const { data, error } = type.safeParse(body);
  if (error !== undefined) throw new ProviderError('The answer is not understood', { cause: error });
  return data as z.output<S>;
}
