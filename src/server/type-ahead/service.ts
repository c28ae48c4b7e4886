import type { Ctx } from '../../access/context.ts';
import { visibleTo as visibleGroups } from '../../administration/user-groups/access.ts';
import { readableChannelIds, visibleTo as visibleChannels } from '../../channels/access.ts';
import type { Channel, User, UserGroup } from '../../generated/prisma/client.ts';
import type { Topic } from '../../messages/topics/topic-pages.ts';
import { newestTopics } from '../../messages/topics/topics.ts';
import { visibleTo as visibleUsers } from '../../people/users.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isGuest } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';

/** What somebody who begins to write a name can mean. */
export const KINDS = ['User', 'Channel', 'UserGroup', 'Topic'] as const;
export type Kind = (typeof KINDS)[number];

/** Our choice: no name is longer, and more of each kind nobody looks through. */
const MAX_TEXT_LENGTH = 100;
export const MAX_OF_EACH = 20;
/** Our choice: of a channel, those last written to, among which a topic is looked for. */
const TOPICS_LOOKED_THROUGH = 1_000;

export interface Beginning {
  /** What stands there by now, in whatever case; "" begins every name. */
  readonly text: string;
  readonly kinds: readonly Kind[];
  /** Of which topics are meant. */
  readonly channelId: number | undefined;
  /** Of each kind. */
  readonly limit: number;
}

export type Suggestion =
  | { readonly kind: 'User'; readonly found: User }
  | { readonly kind: 'Channel'; readonly found: Channel }
  | { readonly kind: 'UserGroup'; readonly found: UserGroup }
  | { readonly kind: 'Topic'; readonly found: Topic & { readonly channelId: number } };

/**
 * What the viewer may mean who begins a name so: of each kind those whose name begins with it, then those in whose name a
 * later word does, each by name; topics the one last written to first. Nobody who is deactivated, and nothing archived.
 *
 * @throws BadRequestError for a text that is too long or holds a null byte, and a limit that is no number from 1 to 20.
 */
export async function suggest(ctx: Ctx, { kinds, channelId, limit, ...given }: Beginning): Promise<Suggestion[]> {
  const text = requireText('text', given.text, { max: MAX_TEXT_LENGTH, strip: true });
  if (limit < 1 || limit > MAX_OF_EACH) throw new BadRequestError(`"first" must be between 1 and ${MAX_OF_EACH}`);
  const { db } = ctx.app;
  const byKind: Readonly<Record<Kind, () => Promise<Suggestion[]>>> = {
    User: async () => {
      const where = { ...visibleUsers(ctx.viewer), isActive: true, isSystem: false };
      const found = await named(text, limit, (fullName, take) =>
        db.user.findMany({
          where: { AND: [where, { fullName }] },
          orderBy: [{ fullName: 'asc' }, { id: 'asc' }],
          take,
        }),
      );
      return found.map((user) => ({ kind: 'User', found: user }));
    },
    Channel: async () => {
      const where = { AND: [await visibleChannels(ctx), { isArchived: false }] };
      const found = await named(text, limit, (name, take) =>
        db.channel.findMany({ where: { AND: [where, { name }] }, orderBy: [{ name: 'asc' }, { id: 'asc' }], take }),
      );
      return found.map((channel) => ({ kind: 'Channel', found: channel }));
    },
    UserGroup: async () => {
      // Guests see none.
      if (isGuest(ctx.viewer.role)) return [];
      const where = { AND: [visibleGroups(ctx), { deactivatedAt: null }] };
      const found = await named(text, limit, (name, take) =>
        db.userGroup.findMany({ where: { AND: [where, { name }] }, orderBy: [{ name: 'asc' }, { id: 'asc' }], take }),
      );
      return found.map((group) => ({ kind: 'UserGroup', found: group }));
    },
    Topic: async () => {
      if (channelId === undefined || !(await readableChannelIds(ctx, [channelId])).has(channelId)) return [];
      const topics = await newestTopics(ctx, channelId, TOPICS_LOOKED_THROUGH);
      const key = text.toLowerCase();
      const begins = ({ name }: Topic) => name.toLowerCase().startsWith(key);
      const goesOn = ({ name }: Topic) => !begins({ name, maxId: 0 }) && name.toLowerCase().includes(` ${key}`);
      const found = [...topics.filter(begins), ...topics.filter(goesOn)].slice(0, limit);
      return found.map((topic) => ({ kind: 'Topic', found: { ...topic, channelId } }));
    },
  };
  return (await Promise.all(kinds.map((kind) => byKind[kind]()))).flat();
}

interface NameFilter {
  readonly startsWith?: string;
  readonly contains?: string;
  readonly not?: { readonly startsWith: string };
  readonly mode: 'insensitive';
}

/** Rows by a name: those that begin with the text, then those in which another word does. */
async function named<Row>(
  text: string,
  limit: number,
  find: (name: NameFilter, take: number) => Promise<Row[]>,
): Promise<Row[]> {
  // The ORM hands these to LIKE as they are.
  const plain = text.replace(/[\\%_]/g, '\\$&');
  const begins = await find({ startsWith: plain, mode: 'insensitive' }, limit);
  if (begins.length === limit) return begins;
  const later = { contains: ` ${plain}`, not: { startsWith: plain }, mode: 'insensitive' } as const;
  return [...begins, ...(await find(later, limit - begins.length))];
}
