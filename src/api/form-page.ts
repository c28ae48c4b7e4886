import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App, RequestCtx } from '../access/context.ts';
import { MIN_PASSWORD_LENGTH } from '../access/passwords.ts';
import { anonymous } from '../access/sign-in.ts';
import { Caller } from '../platform/caller.ts';
import { expectedError } from '../platform/db/errors.ts';
import { type ChatError, ConflictError, ValidationError } from '../platform/errors.ts';
import { retryAfterHeader } from './bare-answer.ts';
import type { Browser } from './cookies.ts';
import { requireOwnPage } from './cross-site.ts';
import { type Html, html, page, pageHeaders } from './html.ts';
import { readForm } from './rest/form.ts';
import { headersOf } from './sessions.ts';

// Parts of the pages to which links in emails lead, and of those on which people join an organization.

/** Returns the context of a request without credentials, with the caller for rate limits. */
export async function requestOf(
  app: App,
  incoming: IncomingMessage,
): Promise<RequestCtx & { readonly caller: Caller }> {
  const { host, 'user-agent': userAgent } = incoming.headers;
  return { ...(await anonymous(app, { host, userAgent })), caller: new Caller(incoming, app.config.trustedProxies) };
}

/** A form that a browser sent: its fields, and the context of the request. */
export interface SentForm {
  readonly request: RequestCtx;
  readonly fields: ReadonlyMap<string, string>;
}

/**
 * Reads a form that a page of this site sent.
 *
 * @throws CsrfFailedError if a page of another site sent it.
 */
export async function readSentForm(app: App, incoming: IncomingMessage): Promise<SentForm> {
  requireOwnPage(app.config, headersOf(incoming.headers));
  const { fields } = await readForm(incoming, false);
  return { request: await requestOf(app, incoming), fields };
}

/**
 * Returns the password that a form with `passwordFields` contains.
 *
 * @throws ValidationError if the two fields differ.
 */
export function passwordIn(fields: SentForm['fields']): string {
  const password = fields.get('password') ?? '';
  if (password !== (fields.get('repeated') ?? '')) throw new ValidationError('The passwords differ.');
  return password;
}

/**
 * Returns the response of `act`. If it throws an error that the person can correct in the form, returns the response of `form`,
 * which shows the error.
 */
export async function orForm(act: () => Promise<Response>, form: (error: ChatError) => Response): Promise<Response> {
  try {
    return await act();
  } catch (thrown) {
    const error = expectedError(thrown);
    if (!isAboutField(error)) throw thrown;
    return form(error);
  }
}

/** Returns the browser that sent a request, for the cookie of its new session. */
export const browserOf = (incoming: IncomingMessage, outgoing: object): Browser => ({
  header: headersOf(incoming.headers),
  setCookie: (cookie) => void (outgoing as ServerResponse).appendHeader('set-cookie', cookie),
});

/** Returns the response that redirects a browser to the chat. */
export const toChat = (): Response =>
  new Response(null, { status: 303, headers: { Location: '/', 'Cache-Control': 'private, no-store' } });

/** Returns whether a person can correct the error in the form, such as a name that is in use. */
const isAboutField = (error: ChatError | undefined): error is ValidationError | ConflictError =>
  error instanceof ValidationError || (error instanceof ConflictError && FIELDS.has(error.parameter ?? ''));

/** Parameters whose values people enter in forms. */
const FIELDS: ReadonlySet<string> = new Set(['full_name', 'email', 'subdomain', 'name']);

/** Returns the fields for name and password of a new account. @param name Name that the person has entered before. */
export const accountFields = (
  name: string | undefined,
): Html => html`<label>Full name<input name="name" autocomplete="name" maxlength="100" value="${name ?? ''}" required></label>
${passwordFields('Password')}`;

/** Returns the fields for a new password and its repetition. */
export const passwordFields = (
  label: string,
): Html => html`<label>${label}<input name="password" type="password" autocomplete="new-password" minlength="${MIN_PASSWORD_LENGTH}" required></label>
<label>Repeat the password<input name="repeated" type="password" autocomplete="new-password" required></label>`;

/** Returns the field for an email address. @param email Address that the person has entered before. */
export const addressField = (email: string | undefined): Html =>
  html`<label>Email<input name="email" type="email" autocomplete="email" value="${email ?? ''}" required></label>`;

/** Returns the message about an error in a form. Undefined without an error. */
export const refusalIn = (error: ChatError | undefined): Html | undefined =>
  error && html`<p role="alert"><strong>${error.message}</strong></p>`;

/**
 * Returns the page that `show` renders, or a page with the error that it throws.
 *
 * @param heading Heading of the page with an error.
 */
export async function shown(title: string, heading: string, show: () => Promise<Response>): Promise<Response> {
  try {
    return await show();
  } catch (thrown) {
    const error = expectedError(thrown);
    if (error === undefined) throw thrown;
    const wait = error.data['retry-after'];
    const headers = typeof wait === 'number' ? { 'Retry-After': retryAfterHeader(wait) } : {};
    return refused(title, heading, error, headers);
  }
}

/** Returns a page that says why the request was refused. @param heading Heading of the page. */
export const refused = (
  title: string,
  heading: string,
  { status, message }: Pick<ChatError, 'status' | 'message'>,
  headers: Readonly<Record<string, string>> = {},
): Response =>
  respond(
    title,
    status,
    html`<h1>${heading}</h1>
<p role="alert">${message}</p>
<p><a href="/">Go to the sign-in page</a></p>`,
    headers,
  );

/**
 * Returns a response with a page. Page and URL may contain a secret, so caches do not store the page, and other sites do not
 * receive the URL.
 */
export function respond(
  title: string,
  status: number,
  content: Html,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body = page(title, html`<main class="one-form"><div class="card">${content}</div></main>`);
  return new Response(body, { status, headers: { ...pageHeaders({ hasForm: true, hasSecret: true }), ...headers } });
}
