import { CUSTOM_EMOJI_NAME, EXTRA_EMOJI, emojiNamed, emojiWithCode, normalEmojiCode } from '../../markdown/emoji.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';

/** Namespaces of emoji codes. */
export const REACTION_TYPES = ['unicode_emoji', 'realm_emoji', 'service_extra_emoji'] as const;
export type ReactionType = (typeof REACTION_TYPES)[number];

/** An emoji as stored with the object that it is set on. */
export interface Emoji {
  readonly name: string;
  /** Identifier within the namespace of `type`. */
  readonly code: string;
  readonly type: ReactionType;
}

/** An emoji in a client's request: the name, optionally with code and type. */
export interface EmojiReference {
  readonly name: string;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
}

/** An emoji in a client's request with name, code and type. It need not exist. */
export interface NamedEmoji {
  readonly name: string;
  readonly code: string;
  readonly type: string;
}

type EmojiDb = Pick<Tx, 'customEmoji'>;

/**
 * Returns the emoji that a client named.
 *
 * @param db The database client, or the transaction of a change.
 * @throws BadRequestError if no emoji has the name, or name, code and type do not match.
 */
export async function requireEmoji(db: EmojiDb, realmId: number, reference: EmojiReference): Promise<Emoji> {
  return requireWhole(db, realmId, await completeEmoji(db, realmId, reference));
}

/**
 * Fills in the code and the type that a client left out, from the emoji with the name.
 *
 * @throws BadRequestError if code or type is missing and no emoji has the name.
 */
export async function completeEmoji(db: EmojiDb, realmId: number, reference: EmojiReference): Promise<NamedEmoji> {
  const { name, code, type } = reference;
  if (code !== undefined && type !== undefined) return { name, code: normalCode(code, type), type };
  const found = await findEmoji(db, realmId, name);
  const whole = { name, code: code ?? found.code, type: type ?? found.type };
  return { ...whole, code: normalCode(whole.code, whole.type) };
}

/** Returns an emoji's code as it is stored. A Unicode sequence has one code, whether or not it contains U+FE0F. */
export const normalCode = (code: string, type: string): string =>
  type === 'unicode_emoji' ? normalEmojiCode(code) : code;

/**
 * Checks that name, code and type match, and that the emoji can be used.
 *
 * @throws BadRequestError if not.
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

/**
 * Finds an emoji by name: first among the organization's custom emoji, then the service's own, then the Unicode table.
 *
 * @throws BadRequestError if no emoji has the name.
 */
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
