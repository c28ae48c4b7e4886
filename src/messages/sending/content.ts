import type { Runtime } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { userSetting } from '../../access/user-settings.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { referencesIn } from '../../markdown/references.ts';
import { renderMessage, renderPlain, UnrenderableError } from '../../markdown/render.ts';
import type { RenderedMessage } from '../../markdown/types.ts';
import { showsNothing } from '../../markdown/visible.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ValidationError } from '../../platform/errors.ts';
import { MAX_MESSAGE_LENGTH } from '../../platform/limits.ts';
import { showsNothing as areInvisible, cutText, refuseNullBytes } from '../../platform/text.ts';
import { loadUploads } from '../attachments/claims.ts';
import { imageAddress } from '../external-images/address.ts';
import { loadDirectory } from './directory.ts';

/**
 * User who wrote the content that is rendered. The content can refer only to channels, users and groups that this user can see.
 */
export interface Author {
  readonly id: number;
  readonly role: number;
  readonly organization: Organization;
  readonly user: User;
}

/** Rendered content of a message, with the Markdown from which it was rendered. */
export interface RenderedContent extends RenderedMessage {
  readonly source: string;
}

/** Returns the error for content with no visible character. */
const noContent = (): ValidationError =>
  new ValidationError('Message must not be empty', { parameter: 'content', minimum: 1 });

/** Mention fields of a message by a system bot: no mentions. So the message notifies no user, even if it quotes a mention. */
const MENTIONING_NOBODY = {
  mentionedUserIds: [],
  mentionedGroupIds: [],
  channelWildcard: false,
  topicWildcard: false,
} satisfies Partial<RenderedMessage>;

/**
 * Normalizes content for storage: removes leading newlines and trailing white space, and truncates to 10,000 code points.
 *
 * @throws ValidationError if the result has no visible character or has a null byte.
 */
export function normalContent(content: string): string {
  const text = content.replace(/^[\r\n]+/, '').trimEnd();
  refuseNullBytes('Message', text, 'content');
  if (areInvisible(text)) throw noContent();
  return cutText(text, MAX_MESSAGE_LENGTH, '\n[message truncated]');
}

/**
 * Renders content with the permissions of its author. Loads only the channels, users and groups to which the content refers.
 *
 * @param source The result of `normalContent`.
 * @throws ValidationError if the content exceeds the limits of rendering, or if its HTML shows nothing, for example for `**`
 *   around a zero-width space.
 */
export async function renderContent(
  db: Pick<Tx, 'userGroup' | '$queryRaw'>,
  app: Runtime,
  author: Author,
  source: string,
): Promise<RenderedContent> {
  const { organization, user } = author;
  const translateEmoticons = userSetting(user, 'translate_emoticons');
  const plain = renderPlain(source, { translateEmoticons });
  if (plain !== undefined) return { source, ...plain };
  const directory = await loadDirectory(db, app, author, referencesIn(source, { translateEmoticons }));
  // Most messages have no address of an uploaded file, and need no further read.
  const upload = source.includes('user_uploads/') ? await loadUploads(db, app, author, source) : undefined;
  const known = upload === undefined ? directory : { ...directory, upload };
  const codeLanguage = organizationSetting(organization, 'default_code_block_language');
  try {
    const rendered = renderMessage(source, known, {
      translateEmoticons,
      ...(organizationSetting(organization, 'inline_image_preview') && {
        imageAddress: (url: string) => imageAddress(app, organization, url),
      }),
      ...(codeLanguage !== '' && { defaultCodeLanguage: codeLanguage }),
    });
    if (showsNothing(rendered.html)) throw noContent();
    return { source, ...rendered, ...(user.isSystem && MENTIONING_NOBODY) };
  } catch (error) {
    if (error instanceof UnrenderableError) {
      throw new ValidationError('Unable to render message', { parameter: 'content' });
    }
    throw error;
  }
}
