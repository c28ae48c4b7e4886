import { BadRequestError } from '../errors.ts';
import { emojiNamed, emojiWithCode } from '../markdown/emoji.ts';

/** The namespaces of emoji codes. @see interface document 2.4 */
export const REACTION_TYPES = ['unicode_emoji', 'realm_emoji', 'service_extra_emoji'] as const;
export type ReactionType = (typeof REACTION_TYPES)[number];

/** An emoji as it is stored with whatever it is set on. */
export interface Emoji {
  readonly name: string;
  /** The identifier within the namespace of `type`. */
  readonly code: string;
  readonly type: ReactionType;
}

/** An emoji as a client names it: the name alone, or with what it stands for. */
export interface EmojiReference {
  readonly name: string;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
}

/** The one emoji of the service's own. Our choice of name: the document's is a brand. */
export const EXTRA_EMOJI = 'team_chat';

/**
 * The emoji a client named.
 *
 * @throws BadRequestError when there is none of the name, or name, code and type do not belong together.
 * @see endpoints companion 4.6 items 5 to 7
 */
export function requireEmoji({ name, code, type }: EmojiReference): Emoji {
  if (code === undefined || type === undefined) {
    const found = findEmoji(name);
    if (code === undefined && type === undefined) return found;
    return requireEmoji({ name, code: code ?? found.code, type: type ?? found.type });
  }
  switch (type) {
    case 'unicode_emoji':
      if (emojiWithCode(code) === undefined) throw new BadRequestError('Invalid emoji code.');
      if (emojiNamed(name)?.code !== code) throw new BadRequestError('Invalid emoji name.');
      return { name, code, type };
    case 'service_extra_emoji':
      if (code !== EXTRA_EMOJI) throw new BadRequestError('Invalid emoji code.');
      if (name !== code) throw new BadRequestError('Invalid emoji name.');
      return { name, code, type };
    case 'realm_emoji':
      throw new BadRequestError('Invalid custom emoji.');
    default:
      throw new BadRequestError('Invalid emoji type.');
  }
}

/** By name alone: the service's own, then the Unicode table. */
function findEmoji(name: string): Emoji {
  if (name === EXTRA_EMOJI) return { name, code: name, type: 'service_extra_emoji' };
  const found = emojiNamed(name);
  if (found === undefined) throw new BadRequestError(`Emoji '${name}' does not exist`);
  return { name, code: found.code, type: 'unicode_emoji' };
}
