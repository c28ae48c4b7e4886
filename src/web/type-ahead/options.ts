import type { Client } from 'urql';
import { emojiNamed, emojiTable, loadEmoji } from '../emoji/emoji-table.ts';
import { SidebarDocument, SuggestionsDocument, type SuggestionsQuery } from '../generated/graphql.ts';
import { channelIcon } from '../ui/channel-icon.ts';
import type { IconName } from '../ui/icons.tsx';
import { fitOf } from '../ui/name-words.ts';
import type { Face } from '../ui/person.tsx';
import { channelLink, topicLink } from './link-syntax.ts';
import type { Token } from './token.ts';

/** A suggestion in the list below a text field. */
export interface Option {
  readonly key: string;
  readonly label: string;
  readonly detail?: string;
  /** Text that replaces the typed text. In the jump dialog, the path to open. */
  readonly insert: string;
  /**
   * Picture of the suggestion: `glyph` is a character, `imageUrl` the URL of an image, `person` a user with their picture,
   * `icon` an icon.
   */
  readonly glyph?: string;
  readonly imageUrl?: string;
  readonly person?: Face;
  readonly icon?: IconName;
}

const LIMIT = 8;

/** Returns suggestions for a token, best match first. Empty if the request fails. */
export async function optionsFor(
  client: Client,
  token: Token,
  place: { readonly isChannel: boolean },
): Promise<readonly Option[]> {
  switch (token.kind) {
    case 'emoji':
      await loadEmoji(client);
      return emojiNamed(emojiTable.get(), token.text, LIMIT).map(({ name, emoji: { glyph, imageUrl } }) => ({
        key: name,
        label: `:${name}:`,
        insert: `:${name}: `,
        ...(glyph !== undefined && { glyph }),
        ...(imageUrl !== undefined && { imageUrl }),
      }));
    case 'person': {
      const found = await suggest(client, token.text, ['USER', 'USER_GROUP']);
      return [...peopleAndGroups(found, token.isSilent === true), ...(place.isChannel ? wildcards(token) : [])];
    }
    case 'channel':
      return (await suggest(client, token.text, ['CHANNEL'])).flatMap((one) =>
        one.__typename === 'Channel'
          ? [
              {
                key: one.id,
                label: one.name,
                icon: channelIcon(one.privacy),
                insert: `${channelLink(one)} `,
              } as const,
            ]
          : [],
      );
    case 'topic': {
      const channel = channelNamed(client, token.channelName ?? '');
      if (channel === undefined) return [];
      const topics = await suggestTopics(client, channel.id, token.text);
      return topics.map((name) => ({
        key: name,
        label: name,
        detail: `in #${token.channelName}`,
        insert: `${topicLink(channel, name)} `,
      }));
    }
  }
}

/**
 * Returns the names of topics of a channel that match a text. A name matches if it, or one of its later words, begins with the
 * text.
 */
export async function suggestTopics(client: Client, channelId: string, text: string): Promise<readonly string[]> {
  const found = await suggest(client, text, ['TOPIC'], channelId);
  return found.flatMap((one) => (one.__typename === 'Topic' && one.name !== '' ? [one.name] : []));
}

type Suggested = NonNullable<SuggestionsQuery['suggestions']>;

async function suggest(
  client: Client,
  text: string,
  kinds: readonly ('USER' | 'USER_GROUP' | 'CHANNEL' | 'TOPIC')[],
  channelId?: string,
): Promise<Suggested> {
  const variables = { text: text.trim(), kinds: [...kinds], ...(channelId !== undefined && { channelId }) };
  const { data } = await client.query(SuggestionsDocument, variables, { requestPolicy: 'network-only' }).toPromise();
  return data?.suggestions ?? [];
}

function peopleAndGroups(found: Suggested, isSilent: boolean): Option[] {
  const sign = isSilent ? '@_' : '@';
  return found.flatMap((one): Option[] => {
    if (one.__typename === 'User') {
      const isOneOfSeveral = one.mentionName !== one.fullName;
      const detail = one.isBot ? 'bot' : isOneOfSeveral ? `ID ${one.databaseId}` : undefined;
      const insert = `${sign}**${one.mentionName}** `;
      const shown = { key: one.id, label: one.fullName, person: one, insert };
      return [{ ...shown, ...(detail !== undefined && { detail }) }];
    }
    if (one.__typename !== 'UserGroup' || !one.viewerCanMention) return [];
    return [{ key: one.id, label: one.name, detail: one.description, icon: 'at', insert: `${sign}*${one.name}* ` }];
  });
}

const WILDCARDS = [
  ['all', 'all subscribers of the channel'],
  ['topic', 'all participants of the topic'],
] as const;

const wildcards = ({ text, isSilent }: Token): Option[] =>
  WILDCARDS.filter(([name]) => isSilent !== true && text !== '' && fitOf(name, text) !== undefined).map(
    ([name, detail]) => ({ key: name, label: name, detail, icon: 'at', insert: `@**${name}** ` }),
  );

/** Returns the subscribed channel with a name, ignoring case. The data of the first screen contains all subscribed channels. */
function channelNamed(client: Client, name: string) {
  const channels = client.readQuery(SidebarDocument, {})?.data?.subscriptions?.nodes ?? [];
  return channels.find(({ channel }) => channel.name.toLowerCase() === name.toLowerCase())?.channel;
}
