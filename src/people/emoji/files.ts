import { readFileSync } from 'node:fs';
import type { Web } from '../../api/rest/router.ts';
import { fileAnswer, type SharedFile, sharedFile } from '../../api/shared-file.ts';
import { EXTRA_EMOJI_URL, emojiTable } from '../../markdown/emoji.ts';
import { FOR_EVER, FOR_NOW, imageAnswer } from '../avatars/image-reply.ts';

const TABLE_PATH = '/static/generated/emoji/emoji_api.json';

let made: SharedFile | undefined;

/**
 * Returns the table of Unicode emoji, which is built on first use. All processes of one version build the same table, so its
 * URL is the same on all nodes.
 */
function tableFile(): SharedFile {
  made ??= sharedFile(JSON.stringify(emojiTable()));
  return made;
}

/** Returns the path and query of the URL of the Unicode emoji table. The query changes with the content of the table. */
export const emojiDataUrl = (): string => `${TABLE_PATH}?v=${tableFile().tag.slice(1, -1)}`;

/** Adds the public routes of the Unicode emoji table and of the image of the service's own emoji. */
export function addEmojiFiles(web: Web): void {
  web.get(TABLE_PATH, ({ req, env }) => {
    const table = tableFile();
    return fileAnswer(table, env.incoming.headers, {
      'Content-Type': 'application/json',
      'Cache-Control': `"${req.query('v')}"` === table.tag ? FOR_EVER : FOR_NOW,
      // The table is public, and front ends on other origins read it.
      'Access-Control-Allow-Origin': '*',
    });
  });
  const image = new Uint8Array(readFileSync(new URL('team_chat.png', import.meta.url)));
  web.get(EXTRA_EMOJI_URL, () => imageAnswer({ mediaType: 'image/png', bytes: image }, FOR_NOW));
}
