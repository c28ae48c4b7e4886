import type { z } from 'zod';
import type { Ctx, RequestCtx } from '../../access/context.ts';
import type { JsonBytes } from '../../platform/json-bytes.ts';
import type { Wire } from '../../platform/wire.ts';
import type { Browser } from '../cookies.ts';
import { isInPath, type Params, type Values } from './params.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** Who may call: a signed-in user, or anybody. */
export type Auth = 'basic' | 'none';

/** A whole response body, already JSON: an object with at least one field. */
export class RawJson {
  readonly text: string | JsonBytes;

  /** @param text As a string, or its UTF-8 in the pieces in which it goes out. */
  constructor(text: string | JsonBytes) {
    this.text = text;
  }
}

/** Another address, for a browser to go to. */
export class Redirect {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }
}

/** What a handler may want to know of the transport. */
export interface Http extends Browser {
  /** Aborted when the client goes away before it has the answer. */
  readonly signal: AbortSignal;
}

/** The fields added to the success envelope, a whole body, another address, or nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: the usual handler of a write returns nothing.
export type Answer = Readonly<Record<string, unknown>> | RawJson | Redirect | void;

/** The fields that an endpoint adds to the success envelope. */
export type ReplyShape = Readonly<Record<string, z.ZodType>>;

/** What the handler of an endpoint with such a reply returns. */
type AnswerOf<R extends ReplyShape> = FieldsOf<R> | RawJson | Redirect;
// biome-ignore lint/suspicious/noConfusingVoidType: the usual handler of a write returns nothing.
type FieldsOf<R extends ReplyShape> = keyof R extends never ? void : Wire<z.ZodObject<R>>;

interface Description {
  readonly method: Method;
  /** Below /api/v1, with its slots in braces: `/drafts/{draft_id}`. */
  readonly path: string;
  /**
   * The GraphQL that does the same, for the documentation: a field of the root (`sendMessage`) or of a type
   * (`Channel.topics`), with the argument or field of its input that makes it so (`user(by:)`).
   */
  readonly twins: readonly string[];
  readonly summary: string;
  /** More than the summary says, for the documentation. */
  readonly description?: string;
  /** Who may call it, when not every signed-in user may: a noun in the plural. */
  readonly permission?: string;
  /**
   * True for endpoints that are only of the moment, take long, call another service or answer with an API key: a stored
   * reply would be useless, or too sensitive to keep.
   */
  readonly ignoresIdempotencyKey?: true;
  /** True for what makes one change by `app.replyFirst`, where there is such. */
  readonly repliesFirst?: true;
  /** True for what mostly waits for something to happen: an account may have any number of these under way. */
  readonly waits?: true;
  /** Whether success is another address, for a browser to go to. */
  readonly redirects?: 'always' | 'sometimes';
  /** The fields added to the success envelope. */
  readonly reply: ReplyShape;
  /** True when the reply has further fields, which hang on what was asked for. */
  readonly replyIsOpen?: true;
}

/** One endpoint as its feature writes it. */
interface Definition<A extends Auth, P extends Params, R extends ReplyShape> extends Description {
  readonly auth: A;
  readonly params: P;
  readonly reply: R;
  handle(ctx: A extends 'basic' ? Ctx : RequestCtx, values: Values<P>, http: Http): Promise<AnswerOf<R>>;
}

/** One endpoint as the kit sees it. */
export interface Endpoint extends Description {
  readonly auth: Auth;
  readonly params: Params;
  handle(ctx: Ctx | RequestCtx, values: Record<string, unknown>, http: Http): Promise<Answer>;
}

/**
 * Declares an endpoint: everything the kit needs to parse, serve and document it.
 *
 * @throws Error when the path's slots and the parameters declared `inPath` differ.
 */
export function endpoint<const A extends Auth, P extends Params, R extends ReplyShape>(
  definition: Definition<A, P, R>,
): Endpoint {
  const inPath = Object.keys(definition.params).filter((name) => isInPath(definition.params[name] as Params[string]));
  const slots = slotsOf(definition.path);
  if (slots.toSorted().join() !== inPath.toSorted().join()) {
    throw new Error(`${definition.method} ${definition.path} has the slots ${slots}, but declares ${inPath}`);
  }
  // Sound, because the reader made from `params` is the only source of `values`, and the router checks `auth` first.
  return definition as unknown as Endpoint;
}

/** Whether a request may be sent again under an idempotency key. @see src/events/README.md#idempotency-keys */
export const takesIdempotencyKey = ({ method, auth, ignoresIdempotencyKey }: Endpoint): boolean =>
  method !== 'GET' && auth === 'basic' && ignoresIdempotencyKey !== true;

/** The names of a path's slots, in their order. */
export function slotsOf(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}
