import type { z } from 'zod';
import type { Ctx, RequestCtx } from '../../access/context.ts';
import type { Budget } from '../../platform/budget.ts';
import type { JsonBytes } from '../../platform/json-bytes.ts';
import type { KeyScope, RequiredScopes } from '../../platform/key-scopes.ts';
import type { Wire } from '../../platform/wire.ts';
import type { Browser } from '../cookies.ts';
import { isInPath, type Params, type Values } from './params.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** Required authentication of an endpoint: `basic` accepts only authenticated users, `none` any client. */
export type Auth = 'basic' | 'none';

/** A complete response body that is already JSON: an object with at least one field. */
export class RawJson {
  readonly text: string | JsonBytes;

  /** @param text The JSON as a string, or as UTF-8 in chunks that are sent one by one. */
  constructor(text: string | JsonBytes) {
    this.text = text;
  }
}

/** A redirect of a browser to another URL. */
export class Redirect {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }
}

/** The parts of an HTTP request and its response that handlers use. */
export interface Http extends Browser {
  /** Signal that is aborted if the client disconnects before it has received the response. */
  readonly signal: AbortSignal;
  /** Budget of requests left after this request was counted; undefined if requests are not limited. */
  readonly budget?: Budget | undefined;
}

/** The result of a handler: fields that are added to the success envelope, a complete body, a redirect, or nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: the usual handler of a write returns nothing.
export type HandlerResult = Readonly<Record<string, unknown>> | RawJson | Redirect | void;

/** The fields that an endpoint adds to the success envelope (`result` and `msg`), by name. */
export type ReplyShape = Readonly<Record<string, z.ZodType>>;

/** The result of the handler of an endpoint that declares the response fields `R`. */
type AnswerOf<R extends ReplyShape> = FieldsOf<R> | RawJson | Redirect;
// biome-ignore lint/suspicious/noConfusingVoidType: the usual handler of a write returns nothing.
type FieldsOf<R extends ReplyShape> = keyof R extends never ? void : Wire<z.ZodObject<R>>;

interface Description {
  readonly method: Method;
  /** Path below /api/v1, with path parameters in braces: `/drafts/{draft_id}`. */
  readonly path: string;
  /**
   * GraphQL equivalents, for the documentation: a root field (`sendMessage`) or a field of a type (`Channel.topics`). The name
   * of an argument or input field is added if it selects the equivalent behavior (`user(by:)`).
   */
  readonly equivalents: readonly string[];
  readonly summary: string;
  /** Details beyond the summary, for the documentation. */
  readonly description?: string;
  /**
   * Users who can call the endpoint, as a plural noun for the documentation. If absent, all authenticated users can call it.
   */
  readonly permission?: string;
  /**
   * Scopes that the API key of a request needs. Absent: `read` for GET, `write` for other methods. Changes that the audit log
   * records also need `administration`, even if the endpoint does not always make one.
   */
  readonly scope?: RequiredScopes;
  /**
   * True for endpoints that ignore the Idempotency-Key header: their effect is short-lived, they take long, they call another
   * service, or they return an API key. A stored response would be useless, or too sensitive to store.
   */
  readonly ignoresIdempotencyKey?: true;
  /**
   * True for endpoints that make a single change, and whose response needs no further read. The response is rendered only from
   * the input and from the data that the change stores with the idempotency key. If `work.keyedChange` is set, the handler must
   * use it to make the change.
   */
  readonly rendersStoredData?: true;
  /**
   * True for endpoints that spend most of their time waiting for an event. They bypass the fair limiter, so that an account can
   * have any number of such requests in progress.
   */
  readonly waits?: true;
  /** Whether a successful response is always or sometimes a redirect. Absent if it is never a redirect. */
  readonly redirects?: 'always' | 'sometimes';
  /** Fields of a successful response, in addition to those of the success envelope. */
  readonly reply: ReplyShape;
  /** True if the response has fields besides `reply`, whose names depend on the request. */
  readonly replyIsOpen?: true;
}

/** An endpoint as a feature declares it. */
interface Definition<A extends Auth, P extends Params, R extends ReplyShape> extends Description {
  readonly auth: A;
  readonly params: P;
  readonly reply: R;
  handle(ctx: A extends 'basic' ? Ctx : RequestCtx, values: Values<P>, http: Http): Promise<AnswerOf<R>>;
}

/** An endpoint as the router and the documentation use it. */
export interface Endpoint extends Description {
  readonly auth: Auth;
  readonly params: Params;
  handle(ctx: Ctx | RequestCtx, values: Record<string, unknown>, http: Http): Promise<HandlerResult>;
}

/**
 * Declares an endpoint. The result is used to parse requests, to serve them and to document the endpoint.
 *
 * @throws Error if the parameters in the path differ from those declared with `inPath` or `inPathTail`.
 */
export function endpoint<const A extends Auth, P extends Params, R extends ReplyShape>(
  definition: Definition<A, P, R>,
): Endpoint {
  const inPath = Object.keys(definition.params).filter((name) => isInPath(definition.params[name] as Params[string]));
  const slots = slotsOf(definition.path);
  if (slots.toSorted().join() !== inPath.toSorted().join()) {
    throw new Error(`${definition.method} ${definition.path} has the path parameters ${slots}, but declares ${inPath}`);
  }
  // The cast is safe: `values` always come from the reader for `params`, and the router checks `auth` before it calls `handle`.
  return definition as unknown as Endpoint;
}

/**
 * Returns whether the endpoint accepts an idempotency key, with which a client can safely repeat a request.
 *
 * @see src/events/README.md#idempotency-keys
 */
export const takesIdempotencyKey = ({ method, auth, ignoresIdempotencyKey }: Endpoint): boolean =>
  method !== 'GET' && auth === 'basic' && ignoresIdempotencyKey !== true;

/** Returns the scopes that the API key of a request to an endpoint needs. None if the endpoint requires no authentication. */
export function scopesOf({ method, auth, scope }: Endpoint): readonly KeyScope[] {
  if (auth === 'none') return [];
  return [scope ?? (method === 'GET' ? 'read' : 'write')].flat();
}

/** Returns the names of the parameters in a path, in the order of the path. */
export function slotsOf(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}
