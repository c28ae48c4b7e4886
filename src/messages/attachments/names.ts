import { randomBytes } from 'node:crypto';
import type { Attachment } from '../../generated/prisma/client.ts';

/** Maximum length of the name of a file, in code points. The middle of longer names is removed, so that the extension stays. */
const MAX_NAME_LENGTH = 100;
/** Number of characters that stay at the end of a name that is too long. */
const KEPT_AT_END = 20;
/** Name of a file whose own name has no usable character. */
const UNNAMED = 'file';

/** Matches characters that are not part of a name: control characters, and characters that change the direction of the text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/**
 * Returns the name of an uploaded file without folders, invisible characters, and white space at its ends. A name that consists
 * of dots, or is empty, becomes "file".
 */
export function cleanName(given: string): string {
  const base = given.toWellFormed().split(/[/\\]/).at(-1) ?? '';
  const name = base.normalize('NFC').replace(INVISIBLE, '').replace(/\s+/g, ' ').trim();
  if (/^\.*$/.test(name)) return UNNAMED;
  const letters = [...name];
  if (letters.length <= MAX_NAME_LENGTH) return name;
  return [...letters.slice(0, MAX_NAME_LENGTH - KEPT_AT_END - 1), '…', ...letters.slice(-KEPT_AT_END)].join('');
}

/**
 * Returns the last segment of the address of a file: letters, digits, dots, dashes and underscores. It needs no escape in an
 * address or in a link of a message, except that letters other than A to Z are percent-encoded in HTTP.
 */
export function pathNameOf(name: string): string {
  const path = name
    .normalize('NFKC')
    .replace(/\s+/g, '-')
    .replace(/[^\p{L}\p{M}\p{N}._-]/gu, '')
    .replace(/^\.+/, '');
  return path === '' ? UNNAMED : path;
}

/** Returns a token of 144 random bits, which cannot be guessed: 24 characters of [A-Za-z0-9_-]. */
export const newToken = (): string => randomBytes(18).toString('base64url');

/** The columns of which an address consists. */
export type Addressed = Pick<Attachment, 'organizationId' | 'token' | 'pathName'>;

/** Returns the path of a file below `/user_uploads/`: organization, two characters, token and name. */
export const pathIdOf = ({ organizationId, token, pathName }: Addressed): string =>
  `${organizationId}/${token.slice(0, 2)}/${token}/${pathName}`;

/** Returns the address of a file on the organization's host. */
export const attachmentUrl = (attachment: Addressed): string => `/user_uploads/${pathIdOf(attachment)}`;

/** Returns the address of a thumbnail on the organization's host. @param format A name of `THUMBNAILS`. */
export const thumbnailUrl = (attachment: Addressed, format: string): string =>
  `/user_uploads/thumbnail/${pathIdOf(attachment)}/${format}`;

/** Pattern of a token, in an address. */
export const TOKEN = '[A-Za-z0-9_-]{24}';
/** Matches addresses of files in a text, with the token as first group. */
const ADDRESS = new RegExp(`user_uploads/\\d{1,10}/[A-Za-z0-9_-]{2}/(${TOKEN})/`, 'g');

/** Returns the tokens in the addresses of files in a text, each once, in the order of the text. */
export const tokensIn = (text: string): string[] => [
  ...new Set(text.matchAll(ADDRESS).map(([, token]) => token as string)),
];

/** Returns a link in Markdown. Characters of the name that have a meaning in a link are replaced. */
export const linkOf = (name: string, url: string): string => `[${name.replace(/[[\]\\`*<>]/g, '_')}](${url})`;
