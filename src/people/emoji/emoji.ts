import type { CustomEmoji } from '../../generated/prisma/client.ts';
import { CUSTOM_EMOJI_NAME, EXTRA_EMOJI, emojiNamed, emojiWithCode, normalEmojiCode } from '../../markdown/emoji.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { shortValue } from '../../platform/validation.ts';

/** Namespaces of emoji codes. */
export const REACTION_TYPES = ['unicode_emoji', 'realm_emoji', 'service_extra_emoji'] as const;
export type ReactionType = (typeof REACTION_TYPES)[number];

/** An emoji as it is stored with an object, for example with a reaction or a status. */
export interface Emoji {
  readonly name: string;
  /** Identifier within the namespace of `type`. */
  readonly code: string;
  readonly type: ReactionType;
}

/** An emoji in a client's request: name, or code and type, or all of them. */
export interface EmojiReference {
  readonly name?: string | undefined;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
}

/** An emoji in a client's request, with name, code and type. Not validated yet, so the emoji may not exist. */
export interface NamedEmoji {
  readonly name: string;
  readonly code: string;
  readonly type: string;
}

/** An emoji by code and type. It may not exist. */
export type EmojiCode = Pick<NamedEmoji, 'code' | 'type'>;

type EmojiDb = Pick<Tx, 'customEmoji'>;

/**
 * Validates the emoji in a client's request and returns it with name, code and type.
 *
 * @param db The database client, or the transaction of a change.
 * @throws NotFoundError if no emoji has the name, or the custom emoji does not exist.
 * @throws ConflictError if the custom emoji is deactivated.
 * @throws ValidationError if no emoji has the code or the type, if name, code and type do not match, or the code contains a
 *   null byte.
 */
export async function requireEmoji(db: EmojiDb, organizationId: number, reference: EmojiReference): Promise<Emoji> {
  return requireWhole(db, organizationId, await completeEmoji(db, organizationId, reference));
}

/**
 * Fills in the values that a client left out. Code and type are those of the emoji with the given name. Without a name, the
 * name is that of the emoji with the given code.
 *
 * @throws ValidationError if the code contains a null byte, or the name is missing and no emoji has the code.
 * @throws NotFoundError if code or type is missing and no emoji has the name, or no custom emoji has the code.
 */
export async function completeEmoji(
  db: EmojiDb,
  organizationId: number,
  reference: EmojiReference,
): Promise<NamedEmoji> {
  const { name, code, type } = reference;
  if (name === undefined) return withName(db, organizationId, codeOf(reference));
  refuseNullBytes('emoji_code', code ?? '');
  if (code !== undefined && type !== undefined) return { name, code: normalCode(code, type), type };
  const found = await findEmoji(db, organizationId, name);
  const whole = { name, code: code ?? found.code, type: type ?? found.type };
  return { ...whole, code: normalCode(whole.code, whole.type) };
}

/**
 * Returns code and type of an emoji that is given by code, as they are stored. The default type is Unicode.
 *
 * @throws ValidationError if the code contains a null byte.
 */
export function codeOf({ code = '', type = 'unicode_emoji' }: EmojiReference): EmojiCode {
  refuseNullBytes('emoji_code', code);
  return { code: normalCode(code, type), type };
}

async function withName(db: EmojiDb, organizationId: number, { code, type }: EmojiCode): Promise<NamedEmoji> {
  if (type === 'realm_emoji') return { name: (await accessCustom(db, organizationId, code)).name, code, type };
  const name = type === 'unicode_emoji' ? emojiWithCode(code)?.names[0] : code;
  if (name === undefined) throw invalidCode(code);
  return { name, code, type };
}

/** Returns an emoji's code in the form in which it is stored: without U+FE0F in the code of a Unicode emoji. */
export const normalCode = (code: string, type: string): string =>
  type === 'unicode_emoji' ? normalEmojiCode(code) : code;

/**
 * Checks that name, code and type match, and that the emoji can be used.
 *
 * @throws NotFoundError if the custom emoji does not exist.
 * @throws ConflictError if the custom emoji is deactivated.
 * @throws ValidationError if no emoji has the code or the type, or name, code and type do not match.
 */
export async function requireWhole(
  db: EmojiDb,
  organizationId: number,
  { name, code, type }: NamedEmoji,
): Promise<Emoji> {
  switch (type) {
    case 'unicode_emoji':
      if (emojiWithCode(code) === undefined) throw invalidCode(code);
      if (emojiNamed(name)?.code !== code) throw invalidName('Invalid emoji name.', name);
      return { name, code, type };
    case 'service_extra_emoji':
      if (code !== EXTRA_EMOJI) throw invalidCode(code);
      if (name !== code) throw invalidName('Invalid emoji name.', name);
      return { name, code, type };
    case 'realm_emoji':
      await requireCustom(db, organizationId, { name, code });
      return { name, code, type };
    default:
      throw new ValidationError('Invalid emoji type.', { parameter: 'reaction_type', value: shortValue(type) });
  }
}

const invalidCode = (code: string) =>
  new ValidationError('Invalid emoji code.', { parameter: 'emoji_code', value: shortValue(code) });

/** Returns the error for a name that does not belong to the emoji's code. */
const invalidName = (message: string, name: string) =>
  new ValidationError(message, { parameter: 'emoji_name', value: shortValue(name) });

/**
 * Finds an emoji by name: first among the organization's custom emoji, then the service's own, then the Unicode table.
 *
 * @throws NotFoundError if no emoji has the name.
 */
async function findEmoji(db: EmojiDb, organizationId: number, name: string): Promise<Emoji> {
  const custom = CUSTOM_EMOJI_NAME.test(name)
    ? await db.customEmoji.findFirst({ where: { organizationId, name, deactivatedAt: null }, select: { id: true } })
    : null;
  if (custom !== null) return { name, code: String(custom.id), type: 'realm_emoji' };
  if (name === EXTRA_EMOJI) return { name, code: name, type: 'service_extra_emoji' };
  const found = emojiNamed(name);
  if (found === undefined) throw new NotFoundError(`Emoji '${name}' does not exist`, { parameter: 'emoji_name' });
  return { name, code: found.code, type: 'unicode_emoji' };
}

const MAX_ID = 2_147_483_647;

/** Returns the custom emoji with a code, active or not. @throws NotFoundError if there is none. */
async function accessCustom(db: EmojiDb, organizationId: number, code: string): Promise<CustomEmoji> {
  const id = /^[1-9]\d{0,9}$/.test(code) ? Number(code) : 0;
  const custom = id >= 1 && id <= MAX_ID ? await db.customEmoji.findFirst({ where: { organizationId, id } }) : null;
  if (custom !== null) return custom;
  throw new NotFoundError('Invalid custom emoji.', { type: 'CustomEmoji', parameter: 'emoji_code' });
}

async function requireCustom(
  db: EmojiDb,
  organizationId: number,
  { name, code }: { name: string; code: string },
): Promise<void> {
  const custom = await accessCustom(db, organizationId, code);
  if (custom.name !== name) throw invalidName('Invalid custom emoji name.', name);
  if (custom.deactivatedAt === null) return;
  throw new ConflictError('This custom emoji has been deactivated.', { parameter: 'emoji_code' });
}
