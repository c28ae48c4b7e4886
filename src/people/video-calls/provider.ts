import { z } from 'zod';
import type { VideoProvider } from '../../platform/config.ts';
import { tracedFetch } from '../../platform/tracing.ts';

/** Timeout in ms of a request to the provider. Providers respond within seconds, and clients wait longer than this timeout. */
export const PROVIDER_TIMEOUT_MS = 10_000;
/**
 * Maximum size of a response of the provider, in bytes. A longer response is an error of the provider (`ProviderError`).
 * Responses with a token or the URL of a call have one or two kilobytes.
 */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Error for a provider of video calls that cannot be reached or sends an invalid response. The error does not mean that the
 * user's token is invalid.
 */
export class ProviderError extends Error {
  override name = 'ProviderError';
}

/** Text that can be sent in an HTTP header without changes. */
const headerText = z.string().regex(/^[\x21-\x7e]+$/);

const TokenAnswer = z.object({
  access_token: headerText,
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .optional(),
  /** Lifetime of the access token, in seconds. */
  expires_in: z.coerce.number().positive().optional(),
  refresh_token: z.string().min(1).optional(),
});
export type TokenAnswer = z.output<typeof TokenAnswer>;

/** A request for a token: with the authorization code that follows the user's consent, or with a refresh token. */
export type Grant =
  | {
      readonly grant_type: 'authorization_code';
      readonly code: string;
      readonly code_verifier: string;
      readonly redirect_uri: string;
    }
  | { readonly grant_type: 'refresh_token'; readonly refresh_token: string };

/**
 * Errors of the token endpoint that do not concern the code or token sent: the configuration is wrong, or the provider is
 * unavailable.
 */
const NOT_OF_THE_GRANT = new Set(['invalid_client', 'server_error', 'temporarily_unavailable']);

/**
 * Requests a token from the provider.
 *
 * @returns The token. "refused" if the code or token sent is not, or no longer, valid.
 * @throws ProviderError if the provider cannot be reached, or responds with invalid data or another error.
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
  throw new ProviderError(`Token endpoint of the provider returned status ${status} ${refusal?.error ?? ''}`);
}

const CallAnswer = z.object({ join_url: z.url({ protocol: /^https?$/, hostname: /./ }).max(2048) });

/**
 * Creates a call in the name of the token's owner.
 *
 * @returns URL to join the call, over http or https. "refused" if the token is not, or no longer, valid.
 * @throws ProviderError if the provider cannot be reached, or responds with invalid data or another error.
 */
export async function requestCall({ createUrl }: VideoProvider, accessToken: string): Promise<string | 'refused'> {
  const { status, body } = await post(createUrl, {
    authorization: `Bearer ${accessToken}`,
    type: 'application/json',
    content: '{}',
  });
  if (status === 401) return 'refused';
  if (status !== 200 && status !== 201)
    throw new ProviderError(`Call endpoint of the provider returned status ${status}`);
  return understood(CallAnswer, body).join_url;
}

interface Sent {
  readonly authorization: string;
  readonly type: string;
  readonly content: string;
}

/** Sends a POST request. A redirect is an error, because it would forward the secrets to a URL that is not configured. */
async function post(url: string, { authorization, type, content }: Sent): Promise<{ status: number; body: unknown }> {
  try {
    const response = await tracedFetch(url, {
      method: 'POST',
      headers: { Authorization: authorization, 'Content-Type': type, Accept: 'application/json' },
      body: content,
      redirect: 'error',
      signal: AbortSignal.timeout(PROVIDER_TIMEOUT_MS),
    });
    return { status: response.status, body: parsed(await readBounded(response)) };
  } catch (error) {
    throw new ProviderError('The provider did not respond', { cause: error });
  }
}

async function readBounded({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('The response is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Parses JSON. Returns undefined for other text, because the body of an error response can be any text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function understood<S extends z.ZodType>(type: S, body: unknown): z.output<S> {
  const { data, error } = type.safeParse(body);
  if (error !== undefined) throw new ProviderError('The response of the provider is invalid', { cause: error });
  return data as z.output<S>;
}
