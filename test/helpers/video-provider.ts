import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Json } from './http.ts';
import { startHttpServer } from './http-server.ts';

const CLIENT = { id: 'chat & co', secret: 'not: very secret' };

/** A function that answers a request to an endpoint of the provider. */
type ResponseHandler = (response: ServerResponse) => void;

/** A provider of video calls with OAuth 2 and PKCE: `await using` it. */
export interface VideoProvider extends AsyncDisposable {
  /** Environment variables for the service. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Simulates a user's consent.
   *
   * @returns The redirect address, with a code.
   * @throws {Error} If the parameters are wrong.
   */
  agree(authorizeUrl: string): string;
  /** Number of requests to each endpoint. */
  readonly asked: { token: number; calls: number };
  /** Fields that the next token responses add or replace. */
  grants: Json;
  /** Functions that replace the provider's normal answers, by endpoint. */
  instead: { token?: ResponseHandler; calls?: ResponseHandler };
  /** The current valid refresh token. */
  refreshToken: string;
  /** Invalidates all access tokens issued so far. */
  revoke(): void;
}

export async function startVideoProvider(): Promise<VideoProvider> {
  const codes = new Map<string, { challenge: string; redirectUri: string }>();
  let tokens = new Set<string>();
  const state = {
    asked: { token: 0, calls: 0 },
    grants: { expires_in: 3600 } as Json,
    instead: {} as VideoProvider['instead'],
    refreshToken: '',
  };
  const { url, ...rest } = await startHttpServer((request, response) => {
    void (request.url === '/token' ? token(request, response) : calls(request, response));
  });

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    state.asked.token += 1;
    const form = new URLSearchParams(await text(request));
    if (state.instead.token !== undefined) return state.instead.token(response);
    const login = Buffer.from(request.headers.authorization?.slice('Basic '.length) ?? '', 'base64').toString();
    if (login !== `${encodeURIComponent(CLIENT.id)}:${encodeURIComponent(CLIENT.secret)}`) {
      return json(response, 401, { error: 'invalid_client' });
    }
    if (!isGood(form)) return json(response, 400, { error: 'invalid_grant' });
    const access_token = randomBytes(12).toString('hex');
    tokens.add(access_token);
    state.refreshToken = `refresh ${access_token}`;
    json(response, 200, { access_token, token_type: 'Bearer', refresh_token: state.refreshToken, ...state.grants });
    if (state.grants.refresh_token !== undefined) state.refreshToken = state.grants.refresh_token;
  }

  function isGood(form: URLSearchParams): boolean {
    if (form.get('grant_type') === 'refresh_token') return form.get('refresh_token') === state.refreshToken;
    const code = codes.get(form.get('code') ?? '');
    // Each code is valid once.
    codes.delete(form.get('code') ?? '');
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    return code !== undefined && verifier === code.challenge && form.get('redirect_uri') === code.redirectUri;
  }

  async function calls(request: IncomingMessage, response: ServerResponse): Promise<void> {
    state.asked.calls += 1;
    await text(request);
    if (state.instead.calls !== undefined) return state.instead.calls(response);
    const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
    if (!tokens.has(token)) return json(response, 401, { message: 'no' });
    json(response, 201, { join_url: `https://video.example/join/${token}` });
  }

  return Object.assign(state, {
    ...rest,
    env: {
      VIDEO_PROVIDER_CLIENT_ID: CLIENT.id,
      VIDEO_PROVIDER_CLIENT_SECRET: CLIENT.secret,
      VIDEO_PROVIDER_AUTHORIZE_URL: `${url}/authorize?prompt=consent`,
      VIDEO_PROVIDER_TOKEN_URL: `${url}/token`,
      VIDEO_PROVIDER_CREATE_URL: `${url}/calls`,
    },
    agree(authorizeUrl: string) {
      const { origin, searchParams: asked } = new URL(authorizeUrl);
      const given = Object.fromEntries(asked);
      const expected = {
        response_type: 'code',
        client_id: CLIENT.id,
        code_challenge_method: 'S256',
        prompt: 'consent',
      };
      for (const [name, value] of Object.entries(expected)) {
        if (given[name] !== value) throw new Error(`${name} is ${given[name]}`);
      }
      if (origin !== url) throw new Error(`The user was sent to ${origin}`);
      const code = randomBytes(8).toString('hex');
      const { code_challenge: challenge = '', redirect_uri: redirectUri = '', state = '' } = given;
      codes.set(code, { challenge, redirectUri });
      return `${redirectUri}?${new URLSearchParams({ code, state })}`;
    },
    revoke() {
      tokens = new Set();
    },
  });
}

export function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
