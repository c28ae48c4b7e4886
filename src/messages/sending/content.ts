import type { App } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { userSetting } from '../../access/user-settings.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import { referencesIn } from '../../markdown/references.ts';
import { renderMessage, UnrenderableError } from '../../markdown/render.ts';
import type { RenderedMessage } from '../../markdown/types.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { MAX_MESSAGE_LENGTH } from '../../platform/limits.ts';
import { cutText, refuseNullBytes } from '../../platform/text.ts';
import { loadDirectory } from './directory.ts';

/** Whose words are rendered: what they may refer to is what they see. */
export interface Author {
  readonly id: number;
  readonly role: number;
  readonly realm: Realm;
  readonly user: User;
}

/** Content, rendered, and what is in it. */
export interface RenderedContent extends RenderedMessage {
  readonly source: string;
}

/** What the service itself says mentions nobody, whomever it quotes. */
const MENTIONING_NOBODY = {
  mentionedUserIds: [],
  mentionedGroupIds: [],
  channelWildcard: false,
  topicWildcard: false,
} satisfies Partial<RenderedMessage>;

/**
 * Content as it is stored: without leading newlines and trailing white space, cut to 10,000 code points.
 *
 * @throws BadRequestError when nothing is left, or it holds a null byte.
 */
export function normalContent(content: string): string {
  const text = content.replace(/^[\r\n]+/, '').trimEnd();
  if (text === '') throw new BadRequestError('Message must not be empty');
  refuseNullBytes('Message', text);
  return cutText(text, MAX_MESSAGE_LENGTH, '\n[message truncated]');
}

/**
 * Renders content as its author sees the organisation: whom and what it names is looked up, and only that.
 *
 * @param source As `normalContent` made it.
 * @throws BadRequestError when it cannot be rendered within bounds.
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
    return { source, ...rendered, ...(user.isSystem && MENTIONING_NOBODY) };
  } catch (error) {
    if (error instanceof UnrenderableError) throw new BadRequestError('Unable to render message');
    throw error;
  }
}
