import type { z } from 'zod';
import type { Ctx, RequestCtx } from '../../access/context.ts';
import type { Budget } from '../../platform/budget.ts';
import type { JsonBytes } from '../../platform/json-bytes.ts';
import type { Wire } from '../../platform/wire.ts';
import type { Browser } from '../cookies.ts';
import { isInPath, type Params, type Values } from './params.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** Callers of an endpoint: authenticated users, or any client. */
export type Auth = 'basic' | 'none';

/** A complete response body that is already JSON: an object with at least one field. */
export class RawJson {
  readonly text: string | JsonBytes;

  /** @param text A string, or UTF-8 in the chunks in which it is sent. */
  constructor(text: string | JsonBytes) {
    this.text = text;
  }
}

/** A redirect of a browser to another address. */
export class Redirect {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }
}

/** The transport of a request, as far as handlers need it. */
export interface Http extends Browser {
  /** Aborted if the client disconnects before it has received the response. */
  readonly signal: AbortSignal;
  /** Budget left after the request was counted; undefined if requests are not limited. */
  readonly budget?: Budget | undefined;
}

/** The result of a handler: fields for the success envelope, a complete body, a redirect, or nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: the usual handler of a write returns nothing.
export type HandlerResult = Readonly<Record<string, unknown>> | RawJson | Redirect | void;

/** The fields that an endpoint adds to the success envelope. */
export type ReplyShape = Readonly<Record<string, z.ZodType>>;

/** The result of a handler whose endpoint declares such a response. */
type AnswerOf<R extends ReplyShape> = FieldsOf<R> | RawJson | Redirect;
// biome-ignore lint/suspicious/noConfusingVoidType: the usual handler of a write returns nothing.
type FieldsOf<R extends ReplyShape> = keyof R extends never ? void : Wire<z.ZodObject<R>>;

interface Description {
  readonly method: Method;
  /** Path below /api/v1, with path parameters in braces: `/drafts/{draft_id}`. */
  readonly path: string;
  /**
   * GraphQL equivalents, for the documentation: a root field (`sendMessage`) or a field of a type (`Channel.topics`). An
   * argument or input field is added if it selects the behavior (`user(by:)`).
   */
  readonly equivalents: readonly string[];
  readonly summary: string;
  /** Details beyond the summary, for the documentation. */
  readonly description?: string;
  /** Users who can call the endpoint, as a plural noun. Absent: all authenticated users. */
  readonly permission?: string;
  /**
   * True for endpoints that have a short-lived effect, take long, call another service or return an API key. A stored response
   * would be useless, or too sensitive to keep.
   */
  readonly ignoresIdempotencyKey?: true;
  /** True for endpoints that make one change, by `app.replyFirst` if it is set. */
  readonly repliesFirst?: true;
  /**
   * True for endpoints that mostly wait for an event. They bypass the fair limiter: an account can have any number in
   * progress.
   */
  readonly waits?: true;
  /** Whether a successful response is a redirect. */
  readonly redirects?: 'always' | 'sometimes';
  /** The fields added to the success envelope. */
  readonly reply: ReplyShape;
  /** True if the response has further fields, which depend on the request. */
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
 * Declares an endpoint, with everything that is needed to parse, serve and document it.
 *
 * @throws Error if the parameters in the path differ from those declared with `inPath`.
 */
export function endpoint<const A extends Auth, P extends Params, R extends ReplyShape>(
  definition: Definition<A, P, R>,
): Endpoint {
  const inPath = Object.keys(definition.params).filter((name) => isInPath(definition.params[name] as Params[string]));
  const slots = slotsOf(definition.path);
  if (slots.toSorted().join() !== inPath.toSorted().join()) {
    throw new Error(`${definition.method} ${definition.path} has the path parameters ${slots}, but declares ${inPath}`);
  }
  // The cast is safe: the reader made from `params` is the only source of `values`, and the router checks `auth` first.
  return definition as unknown as Endpoint;
}

/** Whether requests can be repeated under an idempotency key. @see src/events/README.md#idempotency-keys */
export const takesIdempotencyKey = ({ method, auth, ignoresIdempotencyKey }: Endpoint): boolean =>
  method !== 'GET' && auth === 'basic' && ignoresIdempotencyKey !== true;

/** Returns the names of the parameters in a path, in order. */
export function slotsOf(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}
