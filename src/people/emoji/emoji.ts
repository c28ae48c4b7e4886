import { CUSTOM_EMOJI_NAME, EXTRA_EMOJI, emojiNamed, emojiWithCode, normalEmojiCode } from '../../markdown/emoji.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';

/** The namespaces of emoji codes. */
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

/** An emoji as a client names it in full; whether there is one is another question. */
export interface NamedEmoji {
  readonly name: string;
  readonly code: string;
  readonly type: string;
}

type EmojiDb = Pick<Tx, 'customEmoji'>;

/**
 * The emoji a client named.
 *
 * @param db The client, or inside a change its transaction.
 * @throws BadRequestError when there is none of the name, or name, code and type do not belong together.
 */
export async function requireEmoji(db: EmojiDb, realmId: number, reference: EmojiReference): Promise<Emoji> {
  return requireWhole(db, realmId, await completeEmoji(db, realmId, reference));
}

/**
 * What a client left out of an emoji, filled in by the name.
 *
 * @throws BadRequestError when something is left out and there is no emoji of the name.
 */
export async function completeEmoji(db: EmojiDb, realmId: number, reference: EmojiReference): Promise<NamedEmoji> {
  const { name, code, type } = reference;
  if (code !== undefined && type !== undefined) return { name, code: normalCode(code, type), type };
  const found = await findEmoji(db, realmId, name);
  const whole = { name, code: code ?? found.code, type: type ?? found.type };
  return { ...whole, code: normalCode(whole.code, whole.type) };
}

/** An emoji's code as it is stored: sequences of Unicode with and without U+FE0F are one. */
export const normalCode = (code: string, type: string): string =>
  type === 'unicode_emoji' ? normalEmojiCode(code) : code;

/**
 * Checks that name, code and type belong together, and that the emoji may be used.
 *
 * @throws BadRequestError when not.
 */
export async function requireWhole(db: EmojiDb, realmId: number, { name, code, type }: NamedEmoji): Promise<Emoji> {
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
      await requireCustom(db, realmId, { name, code });
      return { name, code, type };
    default:
      throw new BadRequestError('Invalid emoji type.');
  }
}

/** By name alone: the organisation's own, the service's, then the Unicode table. */
async function findEmoji(db: EmojiDb, realmId: number, name: string): Promise<Emoji> {
  const custom = CUSTOM_EMOJI_NAME.test(name)
    ? await db.customEmoji.findFirst({ where: { realmId, name, deactivatedAt: null }, select: { id: true } })
    : null;
  if (custom !== null) return { name, code: String(custom.id), type: 'realm_emoji' };
  if (name === EXTRA_EMOJI) return { name, code: name, type: 'service_extra_emoji' };
  const found = emojiNamed(name);
  if (found === undefined) throw new BadRequestError(`Emoji '${name}' does not exist`);
  return { name, code: found.code, type: 'unicode_emoji' };
}

const MAX_ID = 2_147_483_647;

async function requireCustom(
  db: EmojiDb,
  realmId: number,
  { name, code }: { name: string; code: string },
): Promise<void> {
  const id = /^[1-9]\d{0,9}$/.test(code) ? Number(code) : 0;
  const custom = id >= 1 && id <= MAX_ID ? await db.customEmoji.findFirst({ where: { realmId, id } }) : null;
  if (custom === null) throw new BadRequestError('Invalid custom emoji.');
  if (custom.name !== name) throw new BadRequestError('Invalid custom emoji name.');
  if (custom.deactivatedAt !== null) throw new BadRequestError('This custom emoji has been deactivated.');
}
