import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Web } from '../../api/rest/router.ts';
import { EXTRA_EMOJI_URL, emojiTable } from '../../markdown/emoji.ts';
import { FOR_EVER, FOR_NOW, imageAnswer } from '../avatars/image-reply.ts';

const TABLE_PATH = '/static/generated/emoji/emoji_api.json';

/** The table of Unicode emoji as it is sent: the same in every process of one version. */
interface TableFile {
  /** Shared by all answers: text would be copied for each, which may be many that nobody reads. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** A strong entity tag. */
  readonly tag: string;
}

let made: TableFile | undefined;

/** Made once, when somebody first wants it. */
function tableFile(): TableFile {
  if (made === undefined) {
    const bytes = Buffer.from(JSON.stringify(emojiTable()));
    made = { bytes, tag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
  }
  return made;
}

/** Where clients read the table: an address that changes with it. */
export const emojiDataUrl = (): string => `${TABLE_PATH}?v=${tableFile().tag.slice(1, -1)}`;

/** Adds the table of Unicode emoji and the image of the service's own, for everybody. */
export function addEmojiFiles(web: Web): void {
  web.get(TABLE_PATH, ({ req }) => {
    const { bytes, tag } = tableFile();
    const headers = {
      'Content-Type': 'application/json',
      'Cache-Control': `"${req.query('v')}"` === tag ? FOR_EVER : FOR_NOW,
      ETag: tag,
      'X-Content-Type-Options': 'nosniff',
      // It is the same for everybody, and front ends of other origins read it.
      'Access-Control-Allow-Origin': '*',
    };
    return hasTag(req.header('if-none-match'), tag)
      ? new Response(null, { status: 304, headers })
      : new Response(bytes, { headers });
  });
  const image = new Uint8Array(readFileSync(new URL('team_chat.png', import.meta.url)));
  web.get(EXTRA_EMOJI_URL, () => imageAnswer({ mediaType: 'image/png', bytes: image }, FOR_NOW));
}

/** Whether the client has this version, or one it takes for the same. */
function hasTag(known = '', tag: string): boolean {
  return known.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag);
}
