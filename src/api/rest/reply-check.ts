import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Endpoint, type HandlerResult, RawJson, Redirect } from './endpoint.ts';

/** A function that throws if a response does not match the declaration of its endpoint. */
export type ReplyCheck = (answer: HandlerResult) => void;

/**
 * Returns a check for the responses of an endpoint, in the form that clients receive. The check fails if a field is missing,
 * has another type, or is not declared.
 *
 * @returns A function that throws Error with a description of the difference.
 */
export function replyCheckOf({ reply, replyIsOpen, redirects }: Endpoint): ReplyCheck {
  const declared = replyIsOpen === true ? z.looseObject(reply) : z.object(reply);
  return (answer) => {
    if (answer instanceof Redirect) {
      if (redirects === undefined) throw new Error('the reply is a redirect, which is not declared');
      return;
    }
    const sent = asSent(answer);
    const parsed = declared.safeParse(sent);
    if (!parsed.success) throw new Error(`the reply does not match its declaration: ${z.prettifyError(parsed.error)}`);
    // Parsing removes undeclared fields at any depth, so if the result differs from the response, the response has such fields.
    if (!isDeepStrictEqual(parsed.data, sent)) {
      throw new Error(
        `the reply has undeclared fields: ${JSON.stringify(sent)} instead of ${JSON.stringify(parsed.data)}`,
      );
    }
  };
}

/** Returns a response as a client receives it, without `result` and `msg` of the success envelope. */
function asSent(answer: HandlerResult): unknown {
  if (!(answer instanceof RawJson)) return JSON.parse(JSON.stringify(answer ?? {}));
  const { result: _result, msg: _msg, ...fields } = JSON.parse(textOf(answer)) as Record<string, unknown>;
  return fields;
}

const textOf = ({ text }: RawJson): string => (typeof text === 'string' ? text : String(Buffer.concat(text.pieces)));
