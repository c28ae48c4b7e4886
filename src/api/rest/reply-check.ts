import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Answer, type Endpoint, RawJson, Redirect } from './endpoint.ts';

/** Throws when an answer is not what its endpoint declares. */
export type ReplyCheck = (answer: Answer) => void;

/**
 * Prepares the checking of an endpoint's answers: as they go out, with nothing missing, nothing of another type, and
 * nothing besides.
 *
 * @returns A check, which throws Error with what is wrong.
 */
export function replyCheckOf({ reply, replyIsOpen, redirects }: Endpoint): ReplyCheck {
  const declared = replyIsOpen === true ? z.looseObject(reply) : z.object(reply);
  return (answer) => {
    if (answer instanceof Redirect) {
      if (redirects === undefined) throw new Error('the reply is another address, which is not declared');
      return;
    }
    const sent = asSent(answer);
    const parsed = declared.safeParse(sent);
    if (!parsed.success) throw new Error(`the reply is not as declared: ${z.prettifyError(parsed.error)}`);
    // Parsing drops the keys that no object declares, however deep.
    if (!isDeepStrictEqual(parsed.data, sent)) {
      throw new Error(
        `the reply has more than is declared: ${JSON.stringify(sent)} and not ${JSON.stringify(parsed.data)}`,
      );
    }
  };
}

/** What a client reads, without the envelope. */
function asSent(answer: Answer): unknown {
  if (!(answer instanceof RawJson)) return JSON.parse(JSON.stringify(answer ?? {}));
  const { result: _result, msg: _msg, ...fields } = JSON.parse(textOf(answer)) as Record<string, unknown>;
  return fields;
}

const textOf = ({ text }: RawJson): string => (typeof text === 'string' ? text : String(Buffer.concat(text.pieces)));
