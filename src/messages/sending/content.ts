import type { App } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { userSetting } from '../../access/user-settings.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import { referencesIn } from '../../markdown/references.ts';
import { renderMessage, UnrenderableError } from '../../markdown/render.ts';
import type { RenderedMessage } from '../../markdown/types.ts';
import { showsNothing } from '../../markdown/visible.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { MAX_MESSAGE_LENGTH } from '../../platform/limits.ts';
import { showsNothing as areInvisible } from '../../platform/names.ts';
import { cutText, refuseNullBytes } from '../../platform/text.ts';
import { loadDirectory } from './directory.ts';

/** User whose content is rendered. The content can refer only to channels, users and groups that the author can see. */
export interface Author {
  readonly id: number;
  readonly role: number;
  readonly realm: Realm;
  readonly user: User;
}

/** Rendered content of a message, with the Markdown from which it was rendered. */
export interface RenderedContent extends RenderedMessage {
  readonly source: string;
}

const EMPTY = 'Message must not be empty';

/** Mentions of a message by a system bot. Such a message notifies no user, even if it quotes a mention. */
const MENTIONING_NOBODY = {
  mentionedUserIds: [],
  mentionedGroupIds: [],
  channelWildcard: false,
  topicWildcard: false,
} satisfies Partial<RenderedMessage>;

/**
 * Normalizes content for storage: removes leading newlines and trailing white space, and truncates to 10,000 code points.
 *
 * @throws BadRequestError if the result has no visible character or has a null byte.
 */
export function normalContent(content: string): string {
  const text = content.replace(/^[\r\n]+/, '').trimEnd();
  refuseNullBytes('Message', text);
  if (areInvisible(text)) throw new BadRequestError(EMPTY);
  return cutText(text, MAX_MESSAGE_LENGTH, '\n[message truncated]');
}

/**
 * Renders content with the permissions of its author. Loads only the channels, users and groups to which the content refers.
 *
 * @param source The result of `normalContent`.
 * @throws BadRequestError if the content exceeds the limits of rendering. Also if its HTML has nothing visible, for example for
 * `**` around a zero-width space.
 */
export async function renderContent(
  db: Pick<Tx, 'userGroup' | '$queryRaw'>,
  app: App,
  author: Author,
  source: string,
): Promise<RenderedContent> {
  const { realm, user } = author;
  const translateEmoticons = userSetting(user, 'translate_emoticons');
  const directory = await loadDirectory(db, app, author, referencesIn(source, { translateEmoticons }));
  const codeLanguage = realmSetting(realm, 'default_code_block_language');
  try {
    const rendered = renderMessage(source, directory, {
      translateEmoticons,
      imagePreviews: realmSetting(realm, 'inline_image_preview'),
      ...(codeLanguage !== '' && { defaultCodeLanguage: codeLanguage }),
    });
    if (showsNothing(rendered.html)) throw new BadRequestError(EMPTY);
    return { source, ...rendered, ...(user.isSystem && MENTIONING_NOBODY) };
  } catch (error) {
    if (error instanceof UnrenderableError) throw new BadRequestError('Unable to render message');
    throw error;
  }
}
